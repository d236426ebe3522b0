"""What a release keeps and moves, what it is worth, and what it costs: one defense on one model, many records."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.audit.subject import Sample
from privee.audit.task import SLOW_ROWS, handout, simulated
from privee.bench.protections import proof_of
from privee.defenses import Defense
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.paper.results.calibrated_tasks import as_it_stands
from privee.scores import structure_kept, utility_of
from privee.theory import rows_in_order

Array = NDArray[np.float64]
TIMED_ROWS, TIMES = 1000, 3
DEFENSE = "defense"
"""Whose fault a reason is. Cells of before also had those of trainings that failed, and do not say which."""


class Asked(NamedTuple):
    """What is measured: a defense on records of a model; `before` are the scores of the model without protection."""

    defense: str
    protection: str
    sample: Sample
    before: Array
    seed: int


def worth_of(asked: Asked) -> dict[str, Any]:
    """All columns of a row that need no attack, ready for JSON; with `reason` alone where the defense cannot be used.

    Of a model with a protection, moved and kept are told against the scores of the model without it.
    """
    defense, sample = make_defense(asked.defense), asked.sample
    try:
        once = handout("", sample, asked.defense, asked.seed)
        (release,) = simulated(sample, defense, asked.seed, 1)
    except PriveeError as error:  # such as a defense that is not for so many classes
        return {"reason": str(error), "of": DEFENSE}
    moved = {
        "l1_moved": once.mean_l1_moved,
        "ranking_kept": once.ranking_kept,
        "top_kept": once.label_kept,
        "microseconds": once.seconds / once.rows * 1e6 if defense.slow else microseconds(defense, sample.scores),
    }
    return {
        **(_against(asked.before, release) if asked.protection else moved),
        "records": len(release),
        "released_records": once.rows,
        **_useful(sample, release),
        "structure": dataclasses.asdict(structure_kept(asked.before, release)),
        **_proven(asked, defense),
    }


def varies(spec: str, sample: Sample, seed: int) -> bool:
    """Does asking again bring another release? If not, ten are as good as one."""
    some = sample.scores[:SLOW_ROWS]
    defense = make_defense(spec).public_copy()
    first, second = (simulated(sample, defense, seed + k, 1)[0, : len(some)] for k in (0, 1))
    return not np.array_equal(first, second)


def microseconds(defense: Defense, scores: Array) -> float:
    """Processor time for each vector in a batch of a thousand, with secure draws; the quickest of three."""
    rows = np.resize(scores, (TIMED_ROWS, scores.shape[1]))
    found = []
    for _ in range(TIMES):
        start = time.process_time()
        defense.release(rows)
        found.append(time.process_time() - start)
    return min(found) / len(rows) * 1e6


def _against(before: Array, release: Array) -> dict[str, Any]:
    return {
        "l1_moved": float(np.abs(release - before).sum(axis=1).mean()),
        "ranking_kept": float(rows_in_order(before, release).mean()),
        "top_kept": float((release.argmax(axis=1) == before.argmax(axis=1)).mean()),
        "microseconds": None,
    }


def _useful(sample: Sample, release: Array) -> dict[str, Any]:
    """To whoever knows the labels; calibration of the release as it stands, made to sum to one."""
    if sample.labels is None:
        return {"accuracy": None, "auc": None, "calibration_error": None}
    found, read = utility_of(release, sample.labels), utility_of(as_it_stands(release), sample.labels)
    return {"accuracy": found.accuracy, "auc": found.auc, "calibration_error": read.calibration_error}


def _proven(asked: Asked, defense: Defense) -> dict[str, Any]:
    """The protection's proof where there is one: it stands whatever is released."""
    if asked.protection:
        epsilon, proven = proof_of(asked.protection)
        return {"epsilon": epsilon, "delta": None, "same": "", "proven": proven, "order_proven": None}
    guarantee = defense.guarantee(asked.sample.model.n_classes)
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "same": guarantee.same,
        "proven": guarantee.proven,
        "order_proven": defense.preserves_order,
    }
