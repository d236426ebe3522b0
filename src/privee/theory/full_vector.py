"""When the whole vector is known: the remark that all classes together converge about as the hardest one does.

Draws of different classes are independent, so the law of the largest error is the product of the classes' laws
(`hit_probability`); T and kappa are those of the minimum or the midrange estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.theory.repeated_queries import expected_error, hit_probability

Array = NDArray[np.float64]

NODES = 400
"""Of the quadrature; the law is smooth below the largest possible error."""


def vector_hit_probability(kappa: Any, *, tolerance: float, queries: Any) -> Array:
    """How likely *every* class's error is below the tolerance: the product of 1 - (1 - kappa_j d)^T over classes.

    Args:
        kappa: rates of the classes of one vector, along the last axis.
        tolerance: d.
        queries: T, one number or several.
    """
    rates, count = np.asarray(kappa, dtype=np.float64), np.asarray(queries)[..., None]
    return np.asarray(hit_probability(rates, tolerance=tolerance, queries=count).prod(axis=-1))


def expected_largest_error(kappa: Any, *, queries: int) -> float:
    """The mean over draws of the largest error among the classes, by quadrature of its law."""
    rates = np.asarray(kappa, dtype=np.float64)
    rates = rates[np.isfinite(rates)]
    if not len(rates):
        return 0.0
    # Where the hardest class's law has fallen to nothing, all others' have: steps go where it has not.
    reach = (1.0 - 1e-18 ** (1.0 / queries)) / rates.min()
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    places = reach * (nodes + 1.0) / 2.0
    beyond = [1.0 - float(vector_hit_probability(rates, tolerance=place, queries=queries)) for place in places]
    return float(reach / 2.0 * (weights @ np.array(beyond)))


def hardest_error(kappa: Any, *, queries: int) -> float:
    """The mean error of the hardest class alone, 1 / (kappa_min (T + 1)): at most that of the largest of all."""
    return float(expected_error(np.min(kappa), queries=queries))
