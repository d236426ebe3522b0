"""An audit chain with some rows, and hands that change it behind its back."""

import sqlalchemy as sa

from privee.durable import audit_chain
from privee.gateway.ledger.schema import audit_log

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ROWS = 6


def disarm(engine: sa.Engine) -> None:
    """Take the triggers away, as somebody can who owns the database."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("ALTER TABLE audit_log DISABLE TRIGGER USER"))
            return
        named = sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_log'")
        for name in connection.execute(named).scalars().all():
            connection.execute(sa.text(f"DROP TRIGGER {name}"))


def fill(engine: sa.Engine, count: int = ROWS, user: str = "user") -> None:
    with engine.begin() as connection:
        for number in range(1, count + 1):
            audit_chain.append(
                connection,
                KEY,
                at=1000 + number,
                actor=f"cli:{user}{number}",
                act="key.create",
                subject=f"{number:08x}",
                reason=f"because of {number}",
                details={"role": "consumer", "number": number},
            )


def check(engine: sa.Engine, key: bytes = KEY, **expect) -> audit_chain.Verification:
    with engine.connect() as connection:
        return audit_chain.verify(connection, key, **expect)


def raw(connection: sa.Connection) -> list[tuple]:
    """All rows with their types, as stored."""
    return [tuple(row) for row in connection.execute(sa.text("SELECT * FROM audit_log ORDER BY seq"))]


def rewrite(engine: sa.Engine, rows: list[dict]) -> None:
    """Put these rows in place of all, with numbers that follow on each other."""
    with engine.begin() as connection:
        connection.execute(sa.delete(audit_log))
        numbered = [row | {"seq": number} for number, row in enumerate(rows, 1)]
        connection.execute(sa.insert(audit_log), numbered)


def rows_of(engine: sa.Engine) -> list[dict]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(audit_log).order_by(audit_log.c.seq)).mappings()]
