"""What anyone makes of order-preserving ciphertexts: a random order-preserving function is nearly a straight line.

Seen from the ciphertext c (as a share of the range), the plaintext is a count of random places below c: c itself on
average, and the error as a function of c is a Brownian bridge over sqrt(M) (M plaintexts). All vectors under one key
share that one bridge, and each of them tells what its scores sum to. Conditioning a bridge on such sums is linear
algebra; its steps between sorted ciphertexts are independent, so no covariance of all pairs is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privee.defenses.inverse import condition_on_sum

Array = NDArray[np.float64]
BLOCK = 1 << 22
"""Entries of the matrix that says which row has how many ciphertexts above which place."""
NEIGHBOURS = 8


def straighten(rows: Array, plaintexts: int) -> Array:
    """Scores from ciphertexts scaled to [0, 1], made with one key; each row of scores sums to one."""
    shares = np.clip(rows, 0.0, 1.0)
    at_once = max(1, int((BLOCK / shares.shape[1]) ** 0.5))
    blocks = np.array_split(shares, -(-len(shares) // at_once))
    found = np.concatenate([_on_one_bridge(block, plaintexts) for block in blocks])
    variance = shares * (1 - shares) / plaintexts + 1 / (12 * plaintexts**2)
    return condition_on_sum(np.clip(found, 0.0, 1.0), variance, np.zeros_like(shares), np.ones_like(shares))


def _on_one_bridge(shares: Array, plaintexts: int) -> Array:
    """Mean of the bridge at all ciphertexts, given the sums of all rows."""
    places, which = np.unique(shares, return_inverse=True)
    above = _counts_from(which.reshape(shares.shape), len(places))
    steps = _step_variances(places, plaintexts)
    reach, end = above @ steps[:-1], steps.sum()
    covariance = ((above * steps[:-1]) @ above.T - np.outer(reach, reach) / end) / plaintexts
    rounding = shares.shape[1] / (12 * plaintexts**2) + 2.0**-50  # of the plaintexts, and of a float32 release
    missing = 1 - shares.sum(axis=1)
    weights = np.linalg.solve(covariance + rounding * np.eye(len(shares)), missing) / plaintexts
    bridge = np.cumsum(steps[:-1] * (weights @ above - weights @ reach / end))
    return np.asarray((places + bridge)[which].reshape(shares.shape))


def _step_variances(places: Array, plaintexts: int) -> Array:
    """Of the steps up to each place, and of the last one to the end; in units of 1 / plaintexts.

    A step's variance is the distance of the plaintexts, not of the ciphertexts (to take that would trust steps that
    came out small). A mean over neighbours stands for it; and any two plaintexts are at least 1 / plaintexts apart.
    """
    ends = np.concatenate([[0.0], places, [1.0]])
    around = min(NEIGHBOURS, len(places) // 32)
    right = np.minimum(np.arange(1, len(ends)) + around, len(ends) - 1)
    left = np.maximum(np.arange(len(ends) - 1) - around, 0)
    return np.asarray(np.maximum((ends[right] - ends[left]) / (right - left), 1 / plaintexts))


def _counts_from(which: NDArray[np.intp], places: int) -> Array:
    """How many entries of each row lie at each place or above it."""
    rows = np.arange(len(which))[:, None] * places
    counts = np.bincount((rows + which).reshape(-1), minlength=len(which) * places).reshape(-1, places)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1].astype(np.float64)
