"""Models of somebody's own to audit, and columns for them."""

import dataclasses

import numpy as np
from scipy.special import softmax

from privee.audit import (
    Grid,
    run_grid,
    subject_from_arrays,
)
from privee.audit.results import Finding

ACTIVE, PASSIVE, CLASSES = 5, 3, 6
WEIGHTS = np.random.default_rng(1).normal(size=(ACTIVE + PASSIVE, CLASSES)) * 2


def columns(rows: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two parties' columns with a common cause, in ranges of their own."""
    rng = np.random.default_rng(seed)
    cause = rng.random((rows, 2))
    made = cause @ rng.random((2, ACTIVE + PASSIVE)) + 0.3 * rng.random((rows, ACTIVE + PASSIVE))
    return made[:, :ACTIVE] * 50 - 3, made[:, ACTIVE:] * 7


def numpy_logits(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    return np.hstack([(active + 3) / 50, passive / 7]) @ WEIGHTS


def numpy_model(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    return softmax(numpy_logits(active, passive), axis=1)


QUICK = {"attacks": ["equation-solving", "learned-inversion:simulations=1"], "seeds": 2, "records": 40, "jobs": 1}


def without_times(findings) -> list[Finding]:
    return [dataclasses.replace(finding, seconds=0.0) for finding in findings]


def small(folder=None, attackers=("naive", "adaptive"), naive_once=False, **more):
    subject = subject_from_arrays(numpy_model, *columns())
    grid = Grid(
        defenses=("none", "privee-u:rho=0.1", "ranking-only"),
        attacks=("equation-solving", "learned-inversion:simulations=1"),
        records=40,
        seeds=(0, 1),
        attackers=attackers,
        naive_once=naive_once,
    )
    return run_grid([subject], grid, folder=folder, **more)
