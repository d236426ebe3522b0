"""Indexes from which the use of a span of time, or of one key, can be read without looking at every request."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COUNTED = ["outcome", "entities", "charged"]


def upgrade() -> None:
    """Take the step."""
    op.drop_index("releases_by_time", "releases")
    op.create_index("releases_by_time", "releases", ["at", "key_id", *_COUNTED])
    op.create_index("releases_by_key", "releases", ["key_id", "at", *_COUNTED])


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")
