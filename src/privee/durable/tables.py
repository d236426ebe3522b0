"""The tables that every ledger has."""

from __future__ import annotations

import sqlalchemy as sa

_metadata = sa.MetaData()

about = sa.Table(
    "about",
    _metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.String(256), nullable=False),
    comment="one value per name: the check of the secret key",
)

tally = sa.Table(
    "tally",
    _metadata,
    sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("commits", sa.BigInteger, nullable=False),
    sa.Column("charged", sa.BigInteger, nullable=False),
    sa.Column("marked", sa.Integer, nullable=False),
    comment="SQLite: one row that grows with every charge and act; marked is 1 once a mark is kept beside the file",
)

audit_log = sa.Table(
    "audit_log",
    _metadata,
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

SHARED = (about, tally, audit_log)
