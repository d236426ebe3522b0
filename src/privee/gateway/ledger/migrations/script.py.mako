"""${message}."""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Take the step."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")
