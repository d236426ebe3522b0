"""What a leaderboard measures side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from privee.bench.cells import Cell
from privee.bench.parts import later
from privee.bench.plan import Batch

Planned = tuple[Batch, list[Cell]]


def waves_of(planned: Sequence[Planned]) -> Iterator[list[Planned]]:
    """What is measured together: each part of a model by itself, but one part of all protections of a model.

    A protection has a single row, which would leave all cores but one idle.
    """
    wave: list[Planned] = []
    for one in planned:
        if wave and not (one[0].case.protection and _same_wave(wave[-1][0], one[0])):
            yield wave
            wave = []
        wave.append(one)
    if wave:
        yield wave


def _same_wave(one: Batch, other: Batch) -> bool:
    """Of one model and seed; later parts, which come after all models, by themselves."""
    alike = bool(one.case.protection) and (one.case.plain, one.seed) == (other.case.plain, other.seed)
    return alike and (later(one.part) == later(other.part)) and (not later(one.part) or one.part == other.part)
