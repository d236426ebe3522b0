"""What the gateway called each call to a party that keeps a ledger of its own, so that the two can be compared."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step. Calls of before are not known."""
    op.create_table(
        "party_calls",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("party", sa.String(256), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("entities", sa.Integer, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        comment="calls to parties that keep a ledger of their own, by the names they were given",
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")
