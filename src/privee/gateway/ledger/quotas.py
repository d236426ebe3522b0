"""What one key may use up, so that whoever has it cannot spend what others' questions need."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import limits as rates

from privee.errors import SettingError
from privee.gateway.budget.price import CAP, UNIT

NONE = "none"
_RATES = ("releases", "entities")
_NAMES = {1: "second", 60: "minute", 3600: "hour", 86_400: "day", 2_592_000: "month", 31_104_000: "year"}


class Per(NamedTuple):
    """So many per so many seconds, counted from the first one on."""

    amount: int
    seconds: int

    @classmethod
    def parse(cls, text: str, what: str) -> Per:
        """`1000/day`, as rates are written."""
        try:
            (item,) = rates.parse_many(text)
            found = cls(item.amount, item.get_expiry())
        except (ValueError, TypeError):
            found = cls(0, 0)
        if not (0 < found.amount < CAP and 0 < found.seconds < CAP):
            raise SettingError(f'a quota of {what} must be like "1000/day", and at least 1, or "{NONE}"')
        return found

    def __str__(self) -> str:
        unit = max(size for size in _NAMES if self.seconds % size == 0)
        count = self.seconds // unit
        return f"{self.amount}/{_NAMES[unit]}" if count == 1 else f"{self.amount}/{count} {_NAMES[unit]}s"


class Quotas(NamedTuple):
    """Of one key; None is no quota.

    Attributes:
        releases: entities charged; one that is charged twice counts twice.
        entities: different entities charged.
        share: of what any entity may give away, in trillionths.

    Example:
        >>> str(Quotas.parse("1000/day", None, 0.5))
        '1000/day releases, a share of 0.5'
    """

    releases: Per | None = None
    entities: Per | None = None
    share: int | None = None

    @classmethod
    def parse(
        cls, releases: str | None = None, entities: str | None = None, share: float | str | None = None
    ) -> Quotas:
        """From text as people write it; what is left out has no quota."""
        return cls().changed(releases, entities, share)

    def changed(
        self, releases: str | None = None, entities: str | None = None, share: float | str | None = None
    ) -> Quotas:
        """With other quotas; None leaves one as it is, "none" takes it away."""
        wishes = {"releases": releases, "entities": entities, "share": share}
        return self._replace(**{what: _parsed(what, wish) for what, wish in wishes.items() if wish is not None})

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Quotas:
        """From the columns of the table."""
        releases, entities = (per_or_none(row[f"quota_{what}"], row[f"quota_{what}_seconds"]) for what in _RATES)
        return cls(releases, entities, row["quota_share"])

    def columns(self) -> dict[str, int | None]:
        """The quotas as the table of keys holds them."""
        pairs = {"releases": self.releases, "entities": self.entities}
        amounts = {what: per and per.amount for what, per in pairs.items()}
        return amounts | {f"{what}_seconds": per and per.seconds for what, per in pairs.items()} | {"share": self.share}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        pairs = {"releases": self.releases, "entities": self.entities}
        texts = {what: None if per is None else str(per) for what, per in pairs.items()}
        return texts | {"share": None if self.share is None else self.share / UNIT}

    def __str__(self) -> str:
        shown = self.as_dict()
        parts = [f"{shown[what]} {what}" for what in ("releases", "entities") if shown[what]]
        return ", ".join(parts + ([f"a share of {shown['share']:g}"] if self.share else [])) or NONE


def per_or_none(amount: int | None, seconds: int) -> Per | None:
    """From two columns of the table."""
    return None if amount is None else Per(amount, seconds)


UNLIMITED = Quotas()
FOR_CONSUMERS = Quotas(releases=Per(1000, 86_400))
"""Of a new consumer's key, unless another is asked for."""


def _parsed(what: str, wish: float | str) -> Any:
    if wish == NONE:
        return None
    return _share(wish) if what == "share" else Per.parse(str(wish), what)


def _share(given: float | str) -> int:
    """Rounded down."""
    try:
        found = math.floor(Fraction(repr(float(given))) * UNIT)
    except (ValueError, OverflowError):
        found = 0
    if isinstance(given, bool) or not 0 < found <= UNIT:
        raise SettingError(f'a share must be a number above 0 and at most 1, or "{NONE}"')
    return found
