"""The parts of a row: how often and with which columns an attacker asks, and by which registered attacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from privee.attacks import Attack, known_attacks
from privee.attacks import attack as make_attack
from privee.audit.grid import CHOSEN

ONCE, TEN, FIVE = 1, 10, 5
WORTH, SENT = "worth", "sent"


@dataclasses.dataclass(frozen=True)
class Part:
    """What is tried together.

    Attributes:
        name: for files.
        takes: does an attack belong here?
        queries: how many releases of each record there are.
        sent: given all that the parties send, embeddings or codes; no release matters then.
    """

    name: str
    takes: Callable[[Attack], bool]
    queries: int = ONCE
    sent: bool = False


def _honest(attack: Attack) -> bool:
    """Asks with the columns that the record has, and sees releases alone."""
    return not attack.needs.oracle and not _sees_sent(attack)


def _sees_sent(attack: Attack) -> bool:
    """Given what the parties send: a sealed one's code, or embeddings as a curious coordinator has them."""
    return attack.needs.codes or getattr(attack.needs, "embeddings", False)


def sees_embeddings(spec: str) -> bool:
    """Whether an attack is a curious coordinator's, who sees embeddings."""
    return bool(getattr(make_attack(spec).needs, "embeddings", False))


def _strong(attack: Attack) -> bool:
    """Tried first; strong ones that take long come with the others."""
    return _honest(attack) and attack.quick and not attack.slow


def _other(attack: Attack) -> bool:
    return _honest(attack) and not _strong(attack) and attack.needs.queries == ONCE


def questions_of(attack: Attack) -> int:
    """How often it asks about a record with columns of its choice; 0 for those that do not choose."""
    return int(getattr(attack, "questions", 1)) if attack.needs.oracle else 0


PARTS = (
    Part("once", lambda a: _strong(a) and a.needs.queries == ONCE),
    Part("chosen", lambda a: 0 < questions_of(a) <= FIVE and not a.slow),
    Part("ten", lambda a: _strong(a) or (_honest(a) and a.needs.queries > ONCE), queries=TEN),
    Part(SENT, _sees_sent, sent=True),
    Part("once-others", lambda a: _other(a) and not a.slow),
    Part("once-slow", lambda a: _other(a) and a.slow),
    Part("chosen-slow", lambda a: 0 < questions_of(a) <= FIVE and a.slow),
)
"""In the order in which they matter."""


def later(part: Part | None) -> bool:
    """Whether a part is tried after the others of all models."""
    return part is not None and "-" in part.name


def registered_attacks() -> tuple[str, ...]:
    """The specs of every attack that the leaderboard can try: those of an audit, its own, and five chosen questions."""
    known = [spec for cls in known_attacks().values() for spec in (*cls.audited, *cls.benched)]
    return tuple(dict.fromkeys([*known, CHOSEN.format(FIVE)]))


def attacks_for(part: Part, specs: Iterable[str], *, slow: bool) -> tuple[str, ...]:
    """Those of these attacks that belong to a part."""
    made = {spec: make_attack(spec) for spec in specs}
    return tuple(spec for spec, one in made.items() if part.takes(one) and (slow or not one.slow))


def left_out(specs: Iterable[str], tried: Iterable[str]) -> tuple[str, ...]:
    """Named attacks that are not tried, and registered ones that no audit tries by itself."""
    done = set(tried)
    named = {spec.partition(":")[0] for spec in done}
    silent = (n for n, cls in known_attacks().items() if not (cls.audited or cls.benched) and n not in named)
    return (*(spec for spec in specs if spec not in done), *silent)
