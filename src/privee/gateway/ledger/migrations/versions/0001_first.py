"""The first tables, and an audit log that can only grow."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_REFUSAL = "audit_log is append only"


def upgrade() -> None:
    """Take the step."""
    _counts()
    _administration()
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Not offered: a ledger never forgets."""
    raise NotImplementedError("a ledger is not taken back to older tables")


def _counts() -> None:
    op.create_table(
        "about",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(256), nullable=False),
        comment="one value per name: the check of the secret key",
    )
    op.create_table(
        "spending",
        sa.Column("entity", sa.LargeBinary(32), primary_key=True),
        sa.Column("releases", sa.BigInteger, nullable=False),
        sa.Column("epsilon", sa.BigInteger, nullable=False),
        sa.Column("drift", sa.BigInteger, nullable=False),
        sa.Column("squares", sa.BigInteger, nullable=False),
        sa.Column("window_started", sa.BigInteger, nullable=False),
        sa.Column("lifetime_releases", sa.BigInteger, nullable=False),
        sa.Column("lifetime_epsilon", sa.BigInteger, nullable=False),
        comment="what an entity has given away; epsilon, drift and squares in trillionths",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "answered",
        sa.Column("entity", sa.LargeBinary(32), primary_key=True),
        sa.Column("fingerprint", sa.LargeBinary(32), primary_key=True),
        comment="releases with repeatable draws that were charged already; the same one again costs nothing",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "releases",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("entities", sa.Integer, nullable=False),
        sa.Column("charged", sa.Integer, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        comment="one row per request that was released or refused; times in whole seconds since 1970",
        sqlite_with_rowid=False,
    )
    op.create_index("releases_by_time", "releases", ["at"])


def _administration() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("rate", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        comment="the secret itself is shown once and not stored",
    )
    op.create_table(
        "audit_log",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("act", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(128), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("previous", sa.LargeBinary(32), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        comment="append only: each row's hash covers the one before; triggers refuse changes",
    )


_TAKEN = "EXISTS (SELECT 1 FROM audit_log WHERE seq = NEW.seq)"
_REFUSE = f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
_SQLITE = (
    f"CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log {_REFUSE}",
    f"CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log {_REFUSE}",
    # INSERT OR REPLACE removes the old row without asking the trigger above.
    f"CREATE TRIGGER audit_log_replace BEFORE INSERT ON audit_log WHEN {_TAKEN} {_REFUSE}",
)
_POSTGRESQL = (
    "CREATE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$",
    "CREATE TRIGGER audit_log_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuses()",
)
