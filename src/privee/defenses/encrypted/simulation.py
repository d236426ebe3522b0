"""A plan run in the clear, with the noise that encryption would add. No key, no secret: for planning and tests."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from privee.defenses.encrypted.circuit import compared, counted, leading
from privee.defenses.encrypted.clear import ClearArithmetic
from privee.defenses.encrypted.parameters import Plan


def simulate(plan: Plan, scores: NDArray[np.float64], noise: np.random.Generator | None) -> NDArray[np.float64]:
    """Results (records, classes) of the evaluation for (records, classes) scores, before the evaluator's flood."""
    do = ClearArithmetic(plan.primes, plan.degree, noise)
    slots = (plan.layout.differences(scores / plan.bound, chunk) for chunk in range(plan.chunks))
    signs = (compared(do, plan, do.fresh(one, plan.compare_scales[0], plan.parties)) for one in slots)
    places = counted(do, functools.reduce(do.plus, signs), plan.layout.rotations)
    return plan.layout.read(leading(do, plan, places, *plan.points_above_boundary()).values, len(scores))


def simulate_columns(
    plan: Plan, scores: NDArray[np.float64], columns: NDArray[np.intp], noise: np.random.Generator
) -> NDArray[np.float64]:
    """Results of some classes of one record; a class listed twice is worked out twice. All rows at once, no chunks."""
    do = ClearArithmetic(plan.primes, plan.degree, noise)
    rows = 1 << (plan.n_classes - 1).bit_length()
    table = np.zeros((rows, len(columns)))
    table[: plan.n_classes] = (scores[:, None] - scores[columns]) / plan.bound
    fresh = do.fresh(table.reshape(-1), plan.compare_scales[0], plan.parties)
    rotations = [len(columns) << doubling for doubling in range(rows.bit_length() - 1)]
    places = counted(do, compared(do, plan, fresh), rotations)
    return leading(do, plan, places, *plan.points_above_boundary()).values[: len(columns)]
