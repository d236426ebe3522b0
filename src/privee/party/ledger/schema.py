"""The tables of a party's ledger, beside those that every ledger has. Whole numbers only.

There is one version of them so far, so there is nothing to upgrade; `opening.py` refuses any other and leaves it alone.
A party runs without Alembic, so another version will come with its own step.
"""

from __future__ import annotations

import sqlalchemy as sa

from privee.durable.tables import SHARED

VERSION = "party 1"

metadata = sa.MetaData()
about, tally, audit_log = (table.to_metadata(metadata) for table in SHARED)

seals = sa.Table(
    "seals",
    metadata,
    sa.Column("seal", sa.LargeBinary(32), primary_key=True),
    sa.Column("codes", sa.Integer, nullable=False),
    sa.Column("bits", sa.BigInteger, nullable=False),
    sa.Column("epsilon", sa.BigInteger, nullable=False),
    comment="seals that codes were drawn with, and what one code costs, in trillionths",
    sqlite_with_rowid=False,
)

codes = sa.Table(
    "codes",
    metadata,
    sa.Column("entity", sa.LargeBinary(32), primary_key=True),
    sa.Column("seal", sa.LargeBinary(32), primary_key=True),
    sa.Column("code", sa.SmallInteger, nullable=False),
    comment="the one code that an entity has with a seal",
    sqlite_with_rowid=False,
)

variants = sa.Table(
    "variants",
    metadata,
    sa.Column("entity", sa.LargeBinary(32), primary_key=True),
    sa.Column("digest", sa.LargeBinary(32), primary_key=True),
    comment="keyed digests of unsealed answers; spent.variants is how many differ",
    sqlite_with_rowid=False,
)

spent = sa.Table(
    "spent",
    metadata,
    sa.Column("entity", sa.LargeBinary(32), primary_key=True),
    sa.Column("bits", sa.BigInteger, nullable=False),
    sa.Column("epsilon", sa.BigInteger, nullable=False),
    sa.Column("answers", sa.BigInteger, nullable=False),
    sa.Column("variants", sa.BigInteger, nullable=False),
    comment="what an entity has spent in its life; bits and epsilon of codes in trillionths. It never falls",
    sqlite_with_rowid=False,
)

_REFUSAL = "audit_log is append only"
_REFUSE = f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
_TAKEN = "EXISTS (SELECT 1 FROM audit_log WHERE seq = NEW.seq)"
APPEND_ONLY = {
    "sqlite": (
        f"CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log {_REFUSE}",
        f"CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log {_REFUSE}",
        f"CREATE TRIGGER audit_log_replace BEFORE INSERT ON audit_log WHEN {_TAKEN} {_REFUSE}",
    ),
    "postgresql": (
        "CREATE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$",
        "CREATE TRIGGER audit_log_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuses()",
    ),
}
