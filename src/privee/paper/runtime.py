"""Run time by number of classes: what one protected prediction costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from privee.defenses import defense
from privee.paper.base import Result, register
from privee.paper.bench import Bench
from privee.paper.plots import Panel, draw
from privee.paper.printed import printed
from privee.paper.results import Account, Outcome, Row, Size, quartiles
from privee.paper.runtime_encrypted import EFFORT, ENCRYPTED, encrypted_row, printed_times
from privee.paper.timing import time_in_turn
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
        return SETTINGS[size] | {"classes": CLASSES, "encrypted": EFFORT[size]}

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
        same_order = all(ours[case] > 1 for case in theirs)
        return Account(
            agrees=same_order,
            printed=f"encryption takes {_range(theirs)} times as long as PRIVEE",
            measured=f"it takes {_range({case: ours[case] for case in theirs})} times as long as PRIVEE-U",
            reason="Absolute times differ by machine and implementation: ours handle all classes of a vector at once.",
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
