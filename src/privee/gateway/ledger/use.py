"""Who asked, when and with what outcome: requests counted over time, by key, and one by one.

A request asks about one entity or many and is answered or refused whole; an answered one gives a release for each.
What is asked here is read from the indexes on `releases` alone, which is the table of requests.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import sqlalchemy as sa

from privee.gateway.ledger.schema import api_keys, releases

Outcome = Literal["released", "refused", "refused-variants"]
"""A request that was refused for another variant is also one that was refused."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
FEW_KEYS = 300
_ANSWERED = releases.c.outcome == "released"
_VARIANTS = releases.c.outcome == "refused-variants"


class Use(NamedTuple):
    """What some requests came to.

    Attributes:
        answered, refused: requests.
        releases: given in those that were answered, one for each entity of each.
        charged: of these; fewer where draws are repeatable.
        refused_variants: of those refused, for another variant.
    """

    answered: int = 0
    refused: int = 0
    releases: int = 0
    charged: int = 0
    refused_variants: int = 0

    @property
    def requests(self) -> int:
        """Answered or not."""
        return self.answered + self.refused


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Which requests are meant: from `since` until before `until` (seconds since 1970), of a key, with an outcome."""

    since: int
    until: int
    key_id: str | None = None
    outcome: Outcome | None = None

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """The same as SQL."""
        wanted = [releases.c.at >= self.since, releases.c.at < self.until]
        if self.key_id is not None:
            wanted.append(releases.c.key_id == self.key_id)
        if self.outcome is not None:
            wanted.append(~_ANSWERED if self.outcome == "refused" else releases.c.outcome == self.outcome)
        return wanted


class AskedRow(NamedTuple):
    """One request as the ledger has it; `name` is the key's, None if the key is not in the list of keys."""

    at: int
    id: str
    key_id: str
    name: str | None
    entities: int
    charged: int
    outcome: str

    @property
    def releases(self) -> int:
        """One for each entity, unless it was refused."""
        return self.entities if self.outcome == "released" else 0


def over_time(connection: sa.Connection, chosen: Chosen, starts: Sequence[int]) -> list[Use]:
    """The use from each of these times until the next, or the end; quicker one by one than sorted into groups."""
    edges = itertools.pairwise([*starts, chosen.until])
    parts = (dataclasses.replace(chosen, since=start, until=end) for start, end in edges)
    return [_use(connection.execute(sa.select(*_SUMS).where(*part.conditions())).one()) for part in parts]


def by_key(connection: sa.Connection, chosen: Chosen) -> dict[str, Use]:
    """The use of every key that asked. Key by key unless they are many: SQLite would sort all requests first."""
    keys = [chosen.key_id] if chosen.key_id else _askers(connection, FEW_KEYS + 1)
    if len(keys) > FEW_KEYS:
        query = sa.select(releases.c.key_id, *_SUMS).where(*chosen.conditions()).group_by(releases.c.key_id)
        return {key_id: _use(sums) for key_id, *sums in connection.execute(query)}
    parts = {key_id: dataclasses.replace(chosen, key_id=key_id) for key_id in keys}
    found = {
        key_id: _use(connection.execute(sa.select(*_SUMS).where(*part.conditions())).one())
        for key_id, part in parts.items()
    }
    return {key_id: use for key_id, use in found.items() if use.requests}


def in_total(connection: sa.Connection) -> Use:
    """The use by everybody, ever."""
    return _use(connection.execute(sa.select(*_SUMS)).one())


def last_asked(connection: sa.Connection, key_ids: Iterable[str]) -> dict[str, int]:
    """When these keys last asked, whatever the outcome; those that never did are left out."""
    query = sa.select(sa.func.max(releases.c.at)).where(releases.c.key_id == sa.bindparam("key"))
    found = {key_id: connection.execute(query, {"key": key_id}).scalar() for key_id in key_ids}
    return {key_id: at for key_id, at in found.items() if at is not None}


def latest(
    connection: sa.Connection, chosen: Chosen, count: int, before: tuple[int, str] | None = None
) -> list[AskedRow]:
    """The newest of these requests; `before` is time and id of the last one that is known already."""
    at, key = releases.c.at, releases.c.id
    columns = (at, key, releases.c.key_id, api_keys.c.name, releases.c.entities, releases.c.charged, releases.c.outcome)
    query = sa.select(*columns).outerjoin_from(releases, api_keys, api_keys.c.id == releases.c.key_id)
    query = query.where(*chosen.conditions()).order_by(at.desc(), key.desc()).limit(count)
    if before is not None:
        query = query.where(at <= before[0], sa.or_(at < before[0], key < before[1]))
    return [AskedRow(*row) for row in connection.execute(query)]


def _askers(connection: sa.Connection, most: int) -> list[str]:
    """The keys that ever asked, `most` of them; each is the next one in an index."""
    following = sa.select(sa.func.min(releases.c.key_id)).where(releases.c.key_id > sa.bindparam("last"))
    found: list[str] = []
    while len(found) < most:
        key_id = connection.execute(following, {"last": found[-1] if found else ""}).scalar()
        if key_id is None:
            break
        found.append(key_id)
    return found


def _count(condition: sa.ColumnElement[bool], value: Any = 1) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, value), else_=0)), 0)


_SUMS = (
    _count(_ANSWERED),
    _count(~_ANSWERED),
    _count(_ANSWERED, releases.c.entities),
    sa.func.coalesce(sa.func.sum(releases.c.charged), 0),
    _count(_VARIANTS),
)


def _use(sums: Iterable[Any]) -> Use:
    return Use(*map(int, sums))
