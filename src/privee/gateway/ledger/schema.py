"""The ledger's tables. Whole numbers only: what is spent is rounded up, what is allowed is rounded down."""

from __future__ import annotations

import sqlalchemy as sa

from privee.durable.tables import SHARED

metadata = sa.MetaData()
about, tally, audit_log = (table.to_metadata(metadata) for table in SHARED)

spending = sa.Table(
    "spending",
    metadata,
    sa.Column("entity", sa.LargeBinary(32), primary_key=True),
    sa.Column("releases", sa.BigInteger, nullable=False),
    sa.Column("epsilon", sa.BigInteger, nullable=False),
    sa.Column("drift", sa.BigInteger, nullable=False),
    sa.Column("squares", sa.BigInteger, nullable=False),
    sa.Column("window_started", sa.BigInteger, nullable=False),
    sa.Column("lifetime_releases", sa.BigInteger, nullable=False),
    sa.Column("lifetime_epsilon", sa.BigInteger, nullable=False),
    sa.Column("variants", sa.BigInteger, nullable=False, server_default="0"),
    comment="what an entity has given away; epsilon, drift and squares in trillionths",
    sqlite_with_rowid=False,  # one tree instead of two: a charge writes half as much
)
# For `views.nearest`. Not in SQLite: an index there holds the hash of every entity once more, in another order, so that
# a charge of many writes several times as many pages; PostgreSQL keeps one value once for all who have it. Without
# epsilons the second index is empty and costs nothing. Both are measured: benchmarks/growth.py --only ledger.
by_use = (
    sa.Index("spending_by_releases", spending.c.releases),
    sa.Index("spending_by_epsilon", spending.c.epsilon, postgresql_where=sa.text("epsilon > 0")),
)
for _index in by_use:
    _index.ddl_if(dialect="postgresql")

answered = sa.Table(
    "answered",
    metadata,
    sa.Column("entity", sa.LargeBinary(32), primary_key=True),
    sa.Column("fingerprint", sa.LargeBinary(32), primary_key=True),
    comment="releases with repeatable draws that were charged already; the same one again costs nothing",
    sqlite_with_rowid=False,
)

questions = sa.Table(
    "questions",
    metadata,
    sa.Column("entity", sa.LargeBinary(32), primary_key=True),
    sa.Column("question", sa.LargeBinary(32), primary_key=True),
    comment="keyed digests of what the active party put in for an entity; spending.variants is how many differ",
    sqlite_with_rowid=False,
)

party_calls = sa.Table(
    "party_calls",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("party", sa.String(256), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("entities", sa.Integer, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    comment="calls to parties that keep a ledger of their own, by the names they were given",
    sqlite_with_rowid=False,
)

releases = sa.Table(
    "releases",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("key_id", sa.String(64), nullable=False),
    sa.Column("entities", sa.Integer, nullable=False),
    sa.Column("charged", sa.Integer, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    comment="one row per request that was released or refused; times in whole seconds since 1970",
    sqlite_with_rowid=False,
)
_COUNTED = (releases.c.outcome, releases.c.entities, releases.c.charged)
sa.Index("releases_by_time", releases.c.at, releases.c.key_id, *_COUNTED)  # whole: sums need no look at the table
sa.Index("releases_by_key", releases.c.key_id, releases.c.at, *_COUNTED)

api_keys = sa.Table(
    "api_keys",
    metadata,
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

quotas = sa.Table(
    "quotas",
    metadata,
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

key_entities = sa.Table(
    "key_entities",
    metadata,
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
