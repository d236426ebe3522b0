"""What a result of the paper looks like once measured: plain records, ready for JSON, tables and the report."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy import stats

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
    half = float(stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / math.sqrt(count))
    return Value(value=mean, low=mean - half, high=mean + half, count=count)


def quartiles(values: Iterable[float]) -> Value:
    """The median, with the middle half of the measurements as its band."""
    found = np.fromiter(values, dtype=np.float64)
    low, middle, high = np.quantile(found, (0.25, 0.5, 0.75))
    return Value(value=float(middle), low=float(low), high=float(high), count=len(found))
