"""Consumers as auditors see them: what each key asked, what it has used of its quotas, and when it last asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from privee.gateway.ledger.api_keys import KeyRecord
from privee.gateway.ledger.charge_sql import is_over
from privee.gateway.ledger.limits import Limits
from privee.gateway.ledger.quota_use import used_by_now
from privee.gateway.ledger.quotas import Per, per_or_none
from privee.gateway.ledger.schema import api_keys, key_entities, quotas
from privee.gateway.ledger.secrets import tag
from privee.gateway.ledger.use import Chosen, Use, by_key, last_asked
from privee.gateway.ledger.views import has_tag


class QuotaPart(NamedTuple):
    """What a key has used of its quota of `what` (releases or entities), in the time that runs now."""

    what: str
    used: int
    per: Per

    @property
    def share(self) -> float:
        """Used up, 0 to 1; above 1 if the quota was made smaller since."""
        return self.used / self.per.amount


class Consumer(NamedTuple):
    """A key that may ask, or has asked.

    Attributes:
        key_id: its id.
        record: what is known about it; None if it is not in the list of keys.
        use: what it asked, of the requests that were chosen.
        quotas: those it has, the one nearest its end first.
        last_at: when it last asked, chosen or not; None if it never did.
    """

    key_id: str
    record: KeyRecord | None
    use: Use
    quotas: tuple[QuotaPart, ...]
    last_at: int | None


class GivenTo(NamedTuple):
    """What an entity gave to a key since its window began, as far as that is written down."""

    tag: str
    key_id: str
    name: str | None
    releases: int
    last_at: int


def consumers(
    connection: sa.Connection, keys: Sequence[KeyRecord], chosen: Chosen, now: int, most: int | None = None
) -> tuple[list[Consumer], int]:
    """Those with the most requests first, `most` of them; and how many there are.

    Args:
        connection: to read with.
        keys: all keys of the ledger. Auditors and administrators, who cannot ask, are left out.
        chosen: which requests count.
        now: the ledger's time.
        most: None for all.
    """
    used, records = by_key(connection, chosen), {key.id: key for key in keys}
    may_ask = {key.id for key in keys if key.role == "consumer" and chosen.key_id in {None, key.id}}
    asked = used.keys() | (last_asked(connection, [chosen.key_id]).keys() if chosen.key_id else set())
    order = sorted(may_ask | asked, key=lambda one: (-used.get(one, Use()).requests, _name(records, one), one))
    shown = order[:most]
    parts, last = quota_parts(connection, shown, now), last_asked(connection, shown)
    found = [
        Consumer(key_id, records.get(key_id), used.get(key_id, Use()), parts.get(key_id, ()), last.get(key_id))
        for key_id in shown
    ]
    return found, len(order)


def quota_parts(connection: sa.Connection, key_ids: Iterable[str], now: int) -> dict[str, tuple[QuotaPart, ...]]:
    """What these keys have used of their quotas; keys without any are left out."""
    wanted = set(key_ids)
    rows = connection.execute(sa.select(quotas)).mappings()
    found = {row["key_id"]: _parts(row, now) for row in rows if row["key_id"] in wanted}
    return {key_id: parts for key_id, parts in found.items() if parts}


def given_to(connection: sa.Connection, limits: Limits, wanted: str, now: int) -> list[GivenTo]:
    """The keys that an entity with this tag gave to: those with a quota of entities or a share, since they had it."""
    columns = [key_entities.c[name] for name in ("entity", "key_id", "releases", "window_started", "last_at")]
    query = sa.select(*columns, api_keys.c.name).outerjoin_from(
        key_entities, api_keys, api_keys.c.id == key_entities.c.key_id
    )
    query = query.where(*has_tag(key_entities.c.entity, wanted)).order_by(key_entities.c.last_at.desc())
    return [
        GivenTo(
            tag=tag(bytes(row["entity"])),
            key_id=row["key_id"],
            name=row["name"],
            releases=0 if is_over(limits, row["window_started"], now) else row["releases"],
            last_at=row["last_at"],
        )
        for row in connection.execute(query).mappings()
    ]


def _parts(row: Any, now: int) -> tuple[QuotaPart, ...]:
    parts = []
    for what in ("releases", "entities"):
        per = per_or_none(row[what], row[f"{what}_seconds"])
        if per is not None:
            used, _ = used_by_now(per, row[f"used_{what}"], row[f"{what}_since"], now)
            parts.append(QuotaPart(what, used, per))
    return tuple(sorted(parts, key=lambda part: -part.share))


def _name(records: dict[str, KeyRecord], key_id: str) -> str:
    return records[key_id].name if key_id in records else ""
