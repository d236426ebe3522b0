"""What is asked of the ledger and what it answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from privee.errors import PriveeError
from privee.gateway.budget.price import CAP, Price

FINGERPRINT = 32
RELEASE_ID, KEY_ID = 32, 64  # longest texts


@dataclasses.dataclass(frozen=True)
class ChargeRequest:
    """Releases that are ready to leave, one for each entity: all are charged, or none.

    Args:
        entities: their ids; one that is there twice is charged twice.
        price: of one entity's release.
        key_id: who asks, see `api_keys`.
        release_id: made anew for every ask, at most 32 characters (such as `uuid4().hex`).
        fingerprints: for repeatable draws, 32 bytes for each entity, see `Ledger.fingerprint`: what an entity was
            charged for once is free from then on.
        questions: for each entity what the active party put in, as bytes; the ledger keeps a keyed digest of each,
            and how many different ones there were. None: nothing is known of it, and nothing pinned.
        hashes: of the entities, as a quote has them; None: they are worked out.
    """

    entities: Sequence[str]
    price: Price
    key_id: str
    release_id: str
    fingerprints: Sequence[bytes] | None = None
    questions: Sequence[bytes] | None = None
    hashes: Sequence[bytes] | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_ids(self.entities)
        if not all(type(part) is int and 0 <= part <= CAP for part in self.price):
            raise PriveeError("a price must be made of whole numbers from 0 on")
        for what, text, longest in (("release id", self.release_id, RELEASE_ID), ("key id", self.key_id, KEY_ID)):
            if not (0 < len(text) <= longest and text.isascii() and text.isprintable()):
                raise PriveeError(f"a {what} must have 1 to {longest} plain characters")
        if self.questions is not None and len(self.questions) != len(self.entities):
            raise PriveeError("there must be one question for each entity")
        if self.hashes is not None and len(self.hashes) != len(self.entities):
            raise PriveeError("there must be one hash for each entity")
        if self.fingerprints is None:
            return
        if len(self.fingerprints) != len(self.entities) or any(len(one) != FINGERPRINT for one in self.fingerprints):
            raise PriveeError(f"fingerprints must be {FINGERPRINT} bytes for each entity")


@dataclasses.dataclass(frozen=True)
class Receipt:
    """An ask that is charged, durably.

    Attributes:
        release_id: of the ask.
        charged: entities charged; one that is charged twice counts twice.
        remaining: releases at this price that every one of the entities can still bear; None is no limit.
    """

    release_id: str
    charged: int
    remaining: int | None


class RefusedError(PriveeError):
    """An ask that would give away more than allowed; nothing of it was charged.

    Attributes:
        asked, spent: of the entity that has spent most, in plain numbers: releases, and what else is limited.
        limit: what is allowed, in the same numbers, with what the policies add and window_seconds if set.
        positions: places in `entities` of all that do not fit.
    """

    code = "ledger"
    outcome = "refused"
    """In the ledger's list of requests."""
    retry_after: int | None = None

    def __init__(
        self,
        *,
        asked: Mapping[str, float],
        spent: Mapping[str, float],
        limit: Mapping[str, float],
        positions: Sequence[int],
    ) -> None:
        self.asked, self.spent, self.limit, self.positions = dict(asked), dict(spent), dict(limit), tuple(positions)
        sides = (
            f"{words} {_plain(values)}" for words, values in (("asked", asked), ("spent", spent), ("limit", limit))
        )
        super().__init__(f"{self._what()} ({'; '.join(sides)})")

    def details(self) -> dict[str, Any]:
        """What programs read of a refusal."""
        sides = {"asked": self.asked, "spent": self.spent, "limit": self.limit}
        return sides | {"positions": list(self.positions)}

    def _what(self) -> str:
        return f"{self._entities()} would give away more than allowed"

    def _entities(self) -> str:
        return f"{len(self.positions)} entit{'y' if len(self.positions) == 1 else 'ies'}"


class OverVariantsError(RefusedError):
    """An ask about an entity with other columns of the active party's than before; nothing of it was charged.

    Attributes:
        asked, spent, limit: variants that are new, that were asked about before, and that are allowed in a lifetime.
        positions: places in `entities` of all that have no variant left for it.
    """

    code = "variants"
    outcome = "refused-variants"

    def _what(self) -> str:
        return f"{self._entities()} would be asked about in more variants of columns than allowed"


class OverQuotaError(RefusedError):
    """An ask that the key's own quota does not cover, though its entities could bear it; nothing of it was charged.

    Attributes:
        quota: which: releases, entities or share.
        allowed: as it was written, such as "1000/day".
        asked, spent, limit: in its numbers, by this key alone.
        positions: of a share, the entities of which it has used up too much.
        retry_after: seconds until it starts anew; None if waiting does not help.
    """

    code = "quota"

    def __init__(self, quota: str, allowed: str, *, retry_after: int | None, **sides: Any) -> None:
        self.quota, self.allowed, self.retry_after = quota, allowed, retry_after
        super().__init__(**sides)

    def details(self) -> dict[str, Any]:
        """What programs read of a refusal."""
        return super().details() | {"quota": self.quota, "left": self.left}

    @property
    def left(self) -> float:
        """Of a quota of releases or entities; of a share 0, if anything is asked."""
        return max(self.limit.get(self.quota, 0) - self.spent.get(self.quota, 0), 0)

    def _what(self) -> str:
        if self.quota == "share":
            return f"this key may use up a share of {self.allowed} of what an entity may give away"
        wait = "" if self.retry_after is None else f", and it starts anew in {self.retry_after} s"
        return f"this key's quota of {self.quota}, {self.allowed}, has {self.left:g} left{wait}"


@dataclasses.dataclass(frozen=True)
class ChargeQuote:
    """What an ask would cost now; nothing is charged or kept for it.

    Attributes:
        allowed: whether it fits.
        asked, spent, positions: as in `RefusedError`; if it fits, of the entity that has spent most, and no positions.
        remaining: releases at this price that every one of the entities can bear before this ask; None is no limit.
        refusal: what to answer if it does not fit.
        variants: the most that any of the entities was asked about. Whether this is one more shows when it is asked.
        hashes: of the entities, for `ChargeRequest`.
    """

    allowed: bool
    asked: dict[str, float]
    spent: dict[str, float]
    remaining: int | None
    positions: tuple[int, ...]
    refusal: RefusedError | None
    variants: int = 0
    hashes: Sequence[bytes] | None = dataclasses.field(default=None, repr=False, compare=False)

    def check(self) -> None:
        """Raises `RefusedError` if it does not fit."""
        if self.refusal is not None:
            raise self.refusal


def _check_ids(entities: Sequence[str]) -> None:
    """Here, so that an id that cannot be hashed does not stop the asks that are charged together with it."""
    try:
        written = not isinstance(entities, str) and "".join(entities).encode()
    except (TypeError, UnicodeEncodeError):
        written = False
    if written is False:
        raise PriveeError("entities must be a list of ids that can be written as UTF-8")


def _plain(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.6g}" for name, value in values.items())
