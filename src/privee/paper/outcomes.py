"""What a result of the paper looks like once measured: plain records, ready for JSON, tables and the report.

Figures and cells are written here as people write them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from privee.theory import half_width

Size = Literal["quick", "full"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Value:
    """A figure, the band around it and how many measurements it rests on; the result says what band it is."""

    value: float
    low: float | None = None
    high: float | None = None
    count: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table.

    Attributes:
        where: what the row is about, in the order of the table's columns (dataset, defense, classes ...).
        measured: our figures by name.
        printed: the paper's figures by the same names, where it prints any.
        note: what a reader must know of this row, such as "estimated, not run".
    """

    where: Mapping[str, Any]
    measured: Mapping[str, Value]
    printed: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Account:
    """Does it agree? Drawn from the rows, never written beforehand.

    Attributes:
        agrees: None where the paper prints nothing to compare with.
        printed, measured: both sides in a sentence each.
        reason: where they part, the most likely reason.
    """

    agrees: bool | None
    printed: str
    measured: str
    reason: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """One result of the paper, measured.

    Attributes:
        name, title: of the result.
        size: "quick" or "full".
        band: what `low` and `high` of the figures are.
        about: version, date, seconds, machine, settings and the command that gives it again.
    """

    name: str
    title: str
    size: Size
    band: str
    rows: tuple[Row, ...]
    account: Account
    about: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def outcome_from_dict(stored: Mapping[str, Any]) -> Outcome:
    """The outcome that `as_dict` was made from."""
    rows = tuple(
        Row(**{**row, **{side: {k: Value(**v) for k, v in row[side].items()} for side in ("measured", "printed")}})
        for row in stored["rows"]
    )
    return Outcome(**{**stored, "rows": rows, "account": Account(**stored["account"])})


def mean_interval(values: Sequence[float]) -> Value:
    """The mean with its 95 % t interval; no interval for a single value."""
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return Value(value=mean)
    half = float(half_width(values))
    return Value(value=mean, low=mean - half, high=mean + half, count=count)


def quartiles(values: Iterable[float]) -> Value:
    """The median, with the middle half of the measurements as its band."""
    found = np.fromiter(values, dtype=np.float64)
    low, middle, high = np.quantile(found, (0.25, 0.5, 0.75))
    return Value(value=float(middle), low=float(low), high=float(high), count=len(found))


ROUNDING = 1e-12
AGREES = {True: "yes", False: "no", None: "nothing printed"}


def number(value: Value | None) -> str:
    """Three digits; a dash where there is nothing.

    Example:
        >>> [number(Value(value=v)) for v in (0.0633, 18.224, 20543.0, 1.2e-7, 0.0)], number(None)
        (['0.0633', '18.2', '20,543', '1.2e-07', '0'], '-')
    """
    if value is None:
        return "-"
    return f"{value.value:,.0f}" if abs(value.value) >= 1000 else f"{value.value:.3g}"


def with_band(value: Value | None) -> str:
    """The figure and how far its band reaches: to both sides alike, or its two ends.

    Example:
        >>> with_band(Value(value=2.0, low=1.5, high=2.5)), with_band(Value(value=2.0, low=1.9, high=4.0))
        ('2 ± 0.5', '2 (1.9 to 4)')
    """
    if value is None or value.low is None or value.high is None:
        return number(value)
    above, below = value.high - value.value, value.value - value.low
    if max(above, below) <= ROUNDING * abs(value.value):
        return number(value)
    middle = Value(value=0.0 if abs(value.value) <= ROUNDING * above else value.value)
    if abs(above - below) <= 1e-6 * max(above, below):
        return f"{number(middle)} ± {f'{above:.2g}' if above < 100 else f'{above:,.0f}'}"
    return f"{number(middle)} ({value.low:.3g} to {value.high:.3g})"


def plain_value(value: Any) -> str:
    """What a row is about, as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def cell(text: str) -> str:
    """Text that cannot break a table."""
    return " ".join(str(text).replace("|", "\\|").split())


def listed(names: Iterable[str]) -> str:
    """With commas and an "and".

    Example:
        >>> listed(["mnist", "drive", "adult"])
        'mnist, drive and adult'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def verdict(account: Account | None) -> str:
    """Does it agree, in one or two words."""
    return "not run here" if account is None else AGREES[account.agrees]


def sentence(text: str) -> str:
    """With a full stop, if it has none."""
    return text if not text or text[-1] in ".!?" else f"{text}."
