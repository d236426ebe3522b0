"""The Gaussian mechanism applied to scores."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.defenses.base import Defense, Guarantee, check_positive
from privee.defenses.inverse import project_to_simplex
from privee.defenses.registry import register
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores.forms import Floats

SIMPLEX_DIAMETER = math.sqrt(2.0)


def noise_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Standard deviation of the classical Gaussian mechanism (proven for epsilon <= 1)."""
    return sensitivity * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def true_epsilon(scale: float, delta: float, sensitivity: float) -> float:
    """The exact epsilon of Gaussian noise at this delta (Balle and Wang 2018), for a given L2 sensitivity."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    ratio = sensitivity / scale

    def excess(epsilon: float) -> float:
        below = math.exp(log_ndtr(ratio / 2 - epsilon / ratio))
        above = math.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio))
        return below - above - delta

    if excess(0.0) <= 0:
        return 0.0
    # 0.5 r^2 + r sqrt(2 log(1/delta)) is the zero-concentrated bound, so the root lies below it.
    return float(brentq(excess, 0.0, 0.5 * ratio**2 + ratio * math.sqrt(2 * math.log(1 / delta)) + 1e-9))


@register
@dataclasses.dataclass(frozen=True)
class GaussianNoise(Defense):
    """Adds independent normal noise to every score, scaled as differential privacy asks for `sensitivity`.

    Args:
        epsilon: at most 1, where the classical scale is proven.
        delta: failure probability.
        sensitivity: how far two score vectors may be apart (L2). 0.1 is the paper's assumption, not a fact: two
            score vectors can be sqrt(2) apart, and `guarantee` says what is left then.
    """

    name: ClassVar[str] = "gaussian"
    place: ClassVar[int] = 30
    rows_apart: ClassVar[bool] = True
    summary: ClassVar[str] = "normal noise on every score; breaks the ranking"
    example: ClassVar[str] = "gaussian:epsilon=0.5"
    audited: ClassVar[tuple[str, ...]] = ("gaussian:epsilon=0.5",)
    advice: ClassVar[Advice] = Advice(
        loses="breaks the order (ranking kept in {kept}), and its proof assumes that scores are 0.1 apart at most",
        formal_only=True,
    )

    epsilon: float
    delta: float = 1e-5
    sensitivity: float = 0.1

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon, delta=self.delta, sensitivity=self.sensitivity)
        if self.epsilon > 1:
            raise SettingError(f"epsilon must be at most 1, where this noise scale is proven, got {self.epsilon:g}")
        if self.delta >= 1:
            raise SettingError(f"delta must be below 1, got {self.delta:g}")

    @property
    def scale(self) -> float:
        """Standard deviation of the noise."""
        return noise_scale(self.epsilon, self.delta, self.sensitivity)

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        noise = draws.normal(rows.shape)
        noise *= self.scale
        noise += rows
        return noise.astype(rows.dtype, copy=False)

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        return project_to_simplex(rows)

    def guarantee(self, n_classes: int) -> Guarantee:
        """(epsilon, delta) for the assumed sensitivity, and the true figure for any two score vectors."""
        anywhere = true_epsilon(self.scale, self.delta, SIMPLEX_DIAMETER)
        return Guarantee(
            proven=f"({self.epsilon:g}, {self.delta:g})-differential privacy per release, if the assumption holds",
            same=f"score vectors at most {self.sensitivity:g} apart (L2)",
            epsilon=self.epsilon,
            delta=self.delta,
            assumptions=(
                f"sensitivity {self.sensitivity:g} is assumed: two score vectors can be sqrt(2) = 1.414 apart, and "
                f"for any two of them epsilon is {anywhere:.3g}",
            ),
            not_covered=("the ranking and the predicted class can change", "T releases cost more than one"),
            figures={"noise_scale": self.scale, "epsilon_any_two_score_vectors": anywhere},
        )
