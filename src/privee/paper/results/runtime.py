"""Run time by number of classes: what one protected prediction costs.

Short calls are made many times over, contenders in turn, so that a busy moment hits all of them. Encrypted top-k is
measured where it is done in time, and estimated where not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from privee.baselines.he.planning import rough_seconds
from privee.defenses import defense
from privee.errors import PriveeError
from privee.paper.base import Result, register
from privee.paper.measure.bench import Bench
from privee.paper.outcomes import Account, Outcome, Row, Size, Value, quartiles
from privee.paper.plots.panels import Panel, draw
from privee.paper.printed import printed
from privee.randomness import seeded

CLASSES = (10, 100, 1_000, 10_000)
REFERENCE = "privee-u:rho=0.1"
CONTENDERS = {
    REFERENCE: "privee",
    "privee-u+:rho_low=0.1,rho_high=0.9": "",
    "ordered-dp:epsilon=32": "",
    "gaussian:epsilon=0.5": "",
    "rounding:digits=2": "",
    "ope": "ope",
    "fh-ope": "ope",
}
"""What is timed, and under which name the paper prints it. It does not say which of the two OPE schemes it timed."""
DIFFERS = (
    "another machine, its processor alone, and implementations of our own",
    "score vectors drawn at random",
    "encrypted top-5 is run a few times where a run fits the time limit, once or not at all beyond it: see the notes",
)
SETTINGS: dict[Size, dict[str, Any]] = {
    "quick": {"rounds": 15},
    "full": {"rounds": 101},
}


@register
class Runtime(Result):
    """Seconds for one vector, in one run, beside the printed ones."""

    name: ClassVar[str] = "runtime"
    place: ClassVar[int] = 1
    title: ClassVar[str] = "Seconds to release one vector, by number of classes"
    source: ClassVar[str] = "table of defense run times"
    band: ClassVar[str] = "median and the middle half of the samples"

    def settings(self, size: Size) -> dict[str, Any]:
        return SETTINGS[size] | {"classes": CLASSES, "encrypted": EFFORT[size], "differs": DIFFERS}

    def rows(self, bench: Bench) -> list[Row]:
        chosen, found = SETTINGS[bench.size], []
        for k, classes in enumerate(CLASSES):
            bench.progress(k, len(CLASSES), f"timing {classes:,} classes")
            scores = random_scores(classes)
            calls = {spec: partial(defense(spec).release, scores) for spec in CONTENDERS}
            seconds = time_in_turn(calls, chosen["rounds"])
            found += [_row(classes, spec, seconds[spec], seconds[REFERENCE], key) for spec, key in CONTENDERS.items()]
            found.append(encrypted_row(classes, scores, quartiles(seconds[REFERENCE]), bench))
        bench.progress(len(CLASSES), len(CLASSES), "timed")
        return found

    def account(self, rows: Sequence[Row]) -> Account:
        ours = _ratios(rows, "measured")
        theirs = {case: ratio for case, ratio in _ratios(rows, "printed").items() if case in ours}
        guessed = sum(row.note == ESTIMATED for row in rows)
        same_order = all(ours[case] > 1 for case in theirs)
        return Account(
            agrees=same_order,
            printed=f"encryption takes {_range(theirs)} times as long as PRIVEE",
            measured=f"it takes {_range({case: ours[case] for case in theirs})} times as long as PRIVEE-U"
            + (f"; estimated, not run: {guessed} of {len(theirs)}" if guessed else ""),
            reason="What is compared is who is slower, not by how much: times differ by machine and implementation, "
            "ours handle all classes of a vector at once.",
        )

    def figure(self, outcome: Outcome) -> Figure | None:
        series = {
            spec: [
                (row.where["classes"], row.measured["seconds"])
                for row in outcome.rows
                if row.where["defense"] == spec and row.measured
            ]
            for spec in (*CONTENDERS, ENCRYPTED)
        }
        dashed = {
            f"{name}, printed": [(k, v) for k in CLASSES if (v := printed("runtime_by_classes", str(k), key))]
            for name, key in (("PRIVEE", "privee"), ("OPE", "ope"), ("top-5 HE", "he_top5"))
        }
        return draw(
            Panel(title="Time to release one vector", x="classes", y="seconds", measured=series, printed=dashed)
        )


def random_scores(classes: int) -> NDArray[np.float64]:
    """Softmax of normal logits: no ties, every class above zero."""
    logits = 2.0 * seeded(0, "runtime", classes).normal(classes)
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def _row(classes: int, spec: str, seconds: list[float], reference: list[float], key: str) -> Row:
    """Ratios are taken round by round: a busy moment slows both."""
    value = printed("runtime_by_classes", str(classes), key) if key else None
    ratios = [mine / other for mine, other in zip(seconds, reference, strict=True)]
    return Row(
        where={"classes": classes, "defense": spec},
        measured={"seconds": quartiles(seconds), "times_privee_u": quartiles(ratios)},
        printed={} if value is None else printed_times(classes, value),
    )


def _ratios(rows: Sequence[Row], side: str) -> dict[tuple[int, str], float]:
    """Times PRIVEE-U, of everything but PRIVEE-U itself."""
    return {
        (row.where["classes"], row.where["defense"]): getattr(row, side)["times_privee_u"].value
        for row in rows
        if row.where["defense"] != REFERENCE and "times_privee_u" in getattr(row, side)
    }


def _range(ratios: dict[tuple[int, str], float]) -> str:
    return f"{min(ratios.values()):,.3g} to {max(ratios.values()):,.3g}"


ENCRYPTED = "he-top-k:k=5"
ESTIMATED = "estimated, not run"
FEW = 100
"""Up to so many classes several runs are affordable."""
EFFORT: dict[Size, dict[str, Any]] = {
    "quick": {"rounds": 1, "limit_seconds": 20.0},
    "full": {"rounds": 3, "limit_seconds": 1800.0},
}


def encrypted_row(classes: int, scores: NDArray[np.float64], reference: Value, bench: Bench) -> Row:
    """Seconds for one vector with keys already made; an estimate, and a note, if that takes too long."""
    value = printed("runtime_by_classes", str(classes), "he_top5")
    theirs = {} if value is None else printed_times(classes, value)
    where = {"classes": classes, "defense": ENCRYPTED}
    if find_spec("tenseal") is None:
        return Row(where=where, measured={}, printed=theirs, note="not run: pip install 'privee[baselines]'")
    effort = EFFORT[bench.size]
    made = defense(f"{ENCRYPTED},time_limit={effort['limit_seconds']}")
    bench.progress(0, effort["rounds"], f"encrypted top-5 of {classes:,} classes")
    try:
        if classes <= FEW:
            made.release(scores)  # makes the keys, which serve any number of vectors
        seconds = quartiles(_timed(made, scores) for _ in range(effort["rounds"] if classes <= FEW else 1))
        note = "" if classes <= FEW else "one run, planning and keys included"
    except PriveeError:  # refused up front
        seconds, note = Value(value=rough_seconds(classes)), ESTIMATED
    ratio = Value(value=seconds.value / reference.value, count=seconds.count)
    return Row(
        where=where,
        measured={"seconds": seconds, "times_privee_u": ratio},
        printed=theirs,
        note=note,
    )


def _timed(made: Any, scores: NDArray[np.float64]) -> float:
    start = time.perf_counter()
    made.release(scores)
    return time.perf_counter() - start


def printed_times(classes: int, value: Value) -> dict[str, Value]:
    """A printed time, also as a multiple of PRIVEE's."""
    reference = printed("runtime_by_classes", str(classes), "privee")
    assert reference is not None  # noqa: S101 (printed for every number of classes)
    return {"seconds": value, "times_privee_u": Value(value=value.value / reference.value)}


Call = Callable[[], object]
SHORTEST_SAMPLE = 2e-3
"""Seconds: a sample repeats its call until it lasts about this long, or the clock would be measured too."""


def time_in_turn(
    calls: Mapping[str, Call], rounds: int, progress: Callable[[int, int], None] = lambda done, of: None
) -> dict[str, list[float]]:
    """Seconds per call, one sample of every contender per round; the first call of each is not counted."""
    repeats = {name: _repeats(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for done in range(rounds):
        progress(done, rounds)
        for name, call in calls.items():
            samples[name].append(_sample(call, repeats[name]))
    progress(rounds, rounds)
    return samples


def _repeats(call: Call) -> int:
    call()
    return max(1, round(SHORTEST_SAMPLE / max(_sample(call, 1), 1e-7)))


def _sample(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
