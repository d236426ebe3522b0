"""A model of somebody's own, and what is recommended for it from measurements."""

import dataclasses
import functools

import numpy as np
from scipy.special import softmax

from privee.audit import subject_from_arrays
from privee.audit.recommend import Effort, Wishes, recommend

ACTIVE, PASSIVE, CLASSES, ROWS = 5, 3, 6, 240
WEIGHTS = np.random.default_rng(1).normal(size=(ACTIVE + PASSIVE, CLASSES)) * 3
EFFORT = Effort(
    seeds=2,
    records=30,
    auxiliary_rows=60,
    attacks=("equation-solving", "learned-inversion:simulations=1", "prior-informed"),
    jobs=1,
)


def model(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    return softmax(np.hstack([active, passive]) @ WEIGHTS, axis=1)


@functools.cache
def one_pool():
    """A user's own model: any row may be attacked, any may be known."""
    rng = np.random.default_rng(0)
    columns = rng.random((ROWS, 2)) @ rng.random((2, ACTIVE + PASSIVE)) + 0.3 * rng.random((ROWS, ACTIVE + PASSIVE))
    return subject_from_arrays(model, columns[:, :ACTIVE], columns[:, ACTIVE:])


@functools.cache
def subject():
    """The same with test records and training records apart, as in a saved run."""
    rows = np.arange(ROWS)
    return dataclasses.replace(one_pool(), targets=rows[:80], auxiliary=rows[80:])


@functools.cache
def measured():
    """What is recommended for it, with every figure measured."""
    return recommend(Wishes(max_moved=0.35, queries=2), subject=subject(), effort=EFFORT)
