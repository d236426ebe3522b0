"""PostgreSQL: indexes from which the entities near their limit can be read without looking at every entity."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step. Not for SQLite, see `schema.by_use`."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.create_index("spending_by_releases", "spending", ["releases"])
    op.create_index("spending_by_epsilon", "spending", ["epsilon"], postgresql_where=sa.text("epsilon > 0"))


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")
