"""How sure a mean is: the one place that knows what a 95 % interval is here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95


def half_width(values: Any, axis: int = 0) -> NDArray[np.float64]:
    """Half of the width of the mean's 95 % interval along an axis, by Student's t; it needs two values or more.

    Example:
        >>> round(float(half_width([1.0, 2.0, 3.0])), 4)
        2.4841
    """
    from scipy.special import stdtrit  # here: most who import privee need no interval

    found = np.asarray(values, dtype=np.float64)
    count = found.shape[axis]
    quantile = stdtrit(count - 1, (1 + LEVEL) / 2)
    return np.asarray(quantile * found.std(axis=axis, ddof=1) / np.sqrt(count))
