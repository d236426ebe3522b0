"""The appendix's worked example of repeated queries, run through PRIVEE-U itself with the draws given there."""

from __future__ import annotations

import numpy as np

from privee.defenses import PriveeU
from privee.paper.results import Row, Value
from privee.randomness import Draws, Shape
from privee.theory import expected_error, minimum_estimate, rate

EXAMPLE = "worked example"
SCORES = np.array([0.2, 0.8])
GIVEN_DRAWS = np.array([[0.40, 0.90], [0.10, 0.70], [0.30, 0.80]])
"""By query and class; class 0 draws from [0, 0.5], class 1 from [0.5, 1]."""
PRINTED = {"minimum": 0.0633, "theory": 0.0458}


class GivenDraws(Draws):
    """Draws somebody wrote down."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def uniform(self, shape: Shape) -> np.ndarray:
        """The values, if as many are asked for as there are."""
        return self._values.reshape(shape).copy()


def example_row() -> Row:
    """Error for the draws given, and the expected one."""
    chosen = PriveeU(rho=1.0, amplitude=1.0)
    queries, classes = GIVEN_DRAWS.shape
    within = (GIVEN_DRAWS - [0.0, 0.5]) * classes  # where in its interval each draw lies, from 0 to 1
    releases = chosen.release(np.tile(SCORES, (queries, 1)), draws=GivenDraws(within))
    error = float(np.abs(minimum_estimate(releases, chosen) - SCORES).mean())
    theory = float(expected_error(rate(SCORES, chosen), queries=queries).mean())
    return Row(
        where={"dataset": EXAMPLE, "classes": classes, "rho": 1.0, "sigma": 1.0, "queries": queries},
        measured={"minimum": Value(value=error), "theory": Value(value=theory)},
        printed={name: Value(value=value) for name, value in PRINTED.items()},
        note="for the draws given in the appendix",
    )
