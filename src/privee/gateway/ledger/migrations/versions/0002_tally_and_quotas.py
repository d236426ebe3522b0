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
    _quotas()


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")


def _quotas() -> None:
    op.create_table(
        "quotas",
        sa.Column("key_id", sa.String(64), primary_key=True),
        sa.Column("releases", sa.BigInteger),
        sa.Column("releases_seconds", sa.BigInteger),
        sa.Column("entities", sa.BigInteger),
        sa.Column("entities_seconds", sa.BigInteger),
        sa.Column("share", sa.BigInteger),
        sa.Column("used_releases", sa.BigInteger, nullable=False),
        sa.Column("releases_since", sa.BigInteger, nullable=False),
        sa.Column("used_entities", sa.BigInteger, nullable=False),
        sa.Column("entities_since", sa.BigInteger, nullable=False),
        comment="what a key may use up, and has; the share in trillionths. A key without a row may use all",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "key_entities",
        sa.Column("entity", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_id", sa.String(64), primary_key=True),
        sa.Column("releases", sa.BigInteger, nullable=False),
        sa.Column("epsilon", sa.BigInteger, nullable=False),
        sa.Column("drift", sa.BigInteger, nullable=False),
        sa.Column("squares", sa.BigInteger, nullable=False),
        sa.Column("window_started", sa.BigInteger, nullable=False),
        sa.Column("counted_since", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        comment="what an entity has given to a key, for keys with a quota of entities or a share",
        sqlite_with_rowid=False,
    )
