"""Requests over time: a span of time in equal steps, also where nothing happened, and the bars it is drawn with."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

from privee.gateway.ledger.use import Use

HOUR, DAY = 3600, 86_400
MOST_STEPS = 48
TICKS = 4
HEIGHT, MARGIN = 100.0, 2.0
SHORTEST = 1.5
"""The least height of a bar that is not nothing."""


class Range(NamedTuple):
    """A stretch of time up to now, in steps; `label` and `tick` are patterns of a step's beginning."""

    name: str
    title: str
    step: int
    steps: int
    label: str
    tick: str


RANGES = {
    shown.name: shown
    for shown in (
        Range("24h", "24 hours", HOUR, 24, "%H:%M", "%H:%M"),
        Range("7d", "7 days", 6 * HOUR, 28, "%d %b, %H:%M", "%d %b"),
        Range("30d", "30 days", DAY, 30, "%d %b", "%d %b"),
    )
}
DEFAULT = RANGES["24h"]
STEPS = (
    (HOUR, "%d %b, %H:%M", "%d %b, %H:%M"),
    (6 * HOUR, "%d %b, %H:%M", "%d %b"),
    (DAY, "%d %b %Y", "%d %b"),
    (7 * DAY, "%d %b %Y", "%d %b %Y"),
    (30 * DAY, "%d %b %Y", "%d %b %Y"),
    (91 * DAY, "%d %b %Y", "%d %b %Y"),
)
MOST_DAYS = 10 * 366
"""In one span; the longest step is long enough for it."""


class Span(NamedTuple):
    """A stretch of time in steps, from `since` until before `until`, in seconds since 1970.

    Attributes:
        words: such as "in the last 24 hours".
        label, tick: patterns of a step's beginning, for tables and for the axis.
        end: what stands at the end of the axis.
    """

    words: str
    since: int
    until: int
    step: int
    label: str
    tick: str
    end: str

    @property
    def starts(self) -> range:
        """When its steps begin; the last one may be shorter."""
        return range(self.since, self.until, self.step)


def up_to_now(shown: Range, now: float) -> Span:
    """A range whose last step is the one under way."""
    since = (int(now) // shown.step - shown.steps + 1) * shown.step
    until = since + shown.steps * shown.step
    return Span(f"in the last {shown.title}", since, until, shown.step, shown.label, shown.tick, "now")


def of_days(first: datetime.date, last: datetime.date) -> Span:
    """Whole days in UTC, both included, in steps that are few enough.

    Example:
        >>> of_days(datetime.date(2026, 11, 1), datetime.date(2026, 11, 16)).words
        'from 2026-11-01 to 2026-11-16 (UTC)'
    """
    since, until = (int((day - datetime.date(1970, 1, 1)).total_seconds()) for day in (first, last))
    until += DAY
    step, label, tick = next(found for found in STEPS if found[0] * MOST_STEPS >= until - since)
    return Span(f"from {first} to {last} (UTC)", since, until, step, label, tick, _label(until, tick))


class TimeStep(NamedTuple):
    """What happened from `start` (seconds since 1970) until the next step."""

    start: int
    label: str
    use: Use


class Bar(NamedTuple):
    """A step as drawn, in a picture 100 high: answered requests stand on the axis, refused ones hang from it."""

    step: TimeStep
    up: float
    down: float


class Timeline(NamedTuple):
    """What the page shows of a span."""

    span: Span
    steps: tuple[TimeStep, ...]
    bars: tuple[Bar, ...]
    axis: float

    @property
    def total(self) -> Use:
        """The use in the whole span."""
        return Use(*map(sum, zip(*(step.use for step in self.steps), strict=True)))

    @property
    def most_answered(self) -> int:
        """The most answered requests in one step."""
        return max(step.use.answered for step in self.steps)

    @property
    def most_refused(self) -> int:
        """The most refused requests in one step."""
        return max(step.use.refused for step in self.steps)

    @property
    def ticks(self) -> tuple[str, ...]:
        """Labels of the time axis, at equal distances."""
        places = [self.steps[len(self.steps) * part // TICKS] for part in range(TICKS)]
        return (*(_label(place.start, self.span.tick) for place in places), self.span.end)

    @property
    def busiest(self) -> TimeStep:
        """The step with the most requests."""
        return max(self.steps, key=lambda step: step.use.requests)


def timeline(span: Span, uses: Sequence[Use]) -> Timeline:
    """Work out the bars from the use in each step of the span."""
    steps = tuple(TimeStep(start, _label(start, span.label), use) for start, use in zip(span.starts, uses, strict=True))
    up, down = max(use.answered for use in uses), max(use.refused for use in uses)
    scale = (HEIGHT - 2 * MARGIN) / max(1, up + down)  # the same for both, so that they can be compared
    bars = tuple(Bar(step, _length(step.use.answered, scale), _length(step.use.refused, scale)) for step in steps)
    return Timeline(span, steps, bars, MARGIN + up * scale)


def _label(start: int, pattern: str) -> str:
    return datetime.datetime.fromtimestamp(start, datetime.UTC).strftime(pattern)


def _length(count: int, scale: float) -> float:
    return max(SHORTEST, count * scale) if count else 0.0
