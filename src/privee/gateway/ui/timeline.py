"""Releases and refusals over time: the whole range in equal steps, also where nothing happened."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import NamedTuple

HOUR, DAY = 3600, 86_400
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


class TimeStep(NamedTuple):
    """What happened from `start` (seconds since 1970) until the next step."""

    start: int
    label: str
    releases: int
    refusals: int


class Bar(NamedTuple):
    """A step as drawn, in a picture 100 high: releases stand on the axis, refusals hang from it."""

    step: TimeStep
    up: float
    down: float


class Timeline(NamedTuple):
    """What the page shows of a range."""

    range: Range
    steps: tuple[TimeStep, ...]
    bars: tuple[Bar, ...]
    axis: float

    @property
    def releases(self) -> int:
        """How many releases there were in the whole range."""
        return sum(step.releases for step in self.steps)

    @property
    def refusals(self) -> int:
        """How many refusals there were in the whole range."""
        return sum(step.refusals for step in self.steps)

    @property
    def most_releases(self) -> int:
        """The most releases in one step."""
        return max(step.releases for step in self.steps)

    @property
    def most_refusals(self) -> int:
        """The most refusals in one step."""
        return max(step.refusals for step in self.steps)

    @property
    def ticks(self) -> tuple[str, ...]:
        """Labels of the time axis, at equal distances."""
        places = [self.steps[len(self.steps) * part // TICKS] for part in range(TICKS)]
        return (*(_label(place.start, self.range.tick) for place in places), "now")

    @property
    def busiest(self) -> TimeStep:
        """The step with the most requests."""
        return max(self.steps, key=lambda step: step.releases + step.refusals)


def beginning(shown: Range, now: float) -> int:
    """When the range starts: its last step is the one under way."""
    return (int(now) // shown.step - shown.steps + 1) * shown.step


def timeline(shown: Range, now: float, activity: Iterable[tuple[int, int, int]]) -> Timeline:
    """Fill the gaps and work out the bars.

    Args:
        shown: the range.
        now: seconds since 1970.
        activity: (start, releases, refusals) of the steps in which something happened.
    """
    counts: dict[int, tuple[int, int]] = {}
    for start, releases, refusals in activity:
        place = int(start) // shown.step
        before = counts.get(place, (0, 0))
        counts[place] = (before[0] + releases, before[1] + refusals)
    first = beginning(shown, now) // shown.step
    steps = tuple(_step(shown, place, *counts.get(place, (0, 0))) for place in range(first, first + shown.steps))
    up, down = max(step.releases for step in steps), max(step.refusals for step in steps)
    scale = (HEIGHT - 2 * MARGIN) / max(1, up + down)  # the same for both, so that they can be compared
    bars = tuple(Bar(step, _length(step.releases, scale), _length(step.refusals, scale)) for step in steps)
    return Timeline(shown, steps, bars, MARGIN + up * scale)


def _step(shown: Range, place: int, releases: int, refusals: int) -> TimeStep:
    start = place * shown.step
    return TimeStep(start, _label(start, shown.label), releases, refusals)


def _label(start: int, pattern: str) -> str:
    return datetime.datetime.fromtimestamp(start, datetime.UTC).strftime(pattern)


def _length(count: int, scale: float) -> float:
    return max(SHORTEST, count * scale) if count else 0.0
