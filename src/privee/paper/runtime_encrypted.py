"""The run time of encrypted top-k: measured where it is done in time, estimated where not."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses import defense
from privee.defenses.encrypted.planning import rough_seconds
from privee.errors import PriveeError
from privee.paper.bench import Bench
from privee.paper.printed import printed
from privee.paper.results import Row, Size, Value, quartiles

ENCRYPTED = "he-top-k:k=5"
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
        seconds, note = Value(value=rough_seconds(classes)), "estimated, not run"
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
