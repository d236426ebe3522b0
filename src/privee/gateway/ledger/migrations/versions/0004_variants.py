"""What was asked about each entity, as keyed digests, and how many different ones there were."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step. What was asked before is not known: of an older entity the next question is its first."""
    op.create_table(
        "questions",
        sa.Column("entity", sa.LargeBinary(32), primary_key=True),
        sa.Column("question", sa.LargeBinary(32), primary_key=True),
        comment="keyed digests of what the active party put in for an entity; spending.variants is how many differ",
        sqlite_with_rowid=False,
    )
    op.add_column("spending", sa.Column("variants", sa.BigInteger, nullable=False, server_default="0"))


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")
