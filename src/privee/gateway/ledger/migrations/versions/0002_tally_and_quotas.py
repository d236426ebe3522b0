"""A count of what is committed, to notice when some of it is lost, and quotas of keys."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step. Keys that are there have no quota."""
    tally = op.create_table(
        "tally",
        sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("commits", sa.BigInteger, nullable=False),
        sa.Column("charged", sa.BigInteger, nullable=False),
        sa.Column("marked", sa.Integer, nullable=False),
        comment="SQLite: one row that grows with every charge and act; marked is 1 once a mark is kept beside the file",
    )
    op.execute(sa.insert(tally).values(one=1, commits=0, charged=0, marked=0))


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")
