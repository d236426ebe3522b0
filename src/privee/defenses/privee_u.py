"""PRIVEE-U: one perturbation strength for all classes."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from privee.defenses.advice import Advice
from privee.defenses.base import check_positive
from privee.defenses.rank_noise import Array, RankNoise
from privee.defenses.registry import register


@register
@dataclasses.dataclass(frozen=True)
class PriveeU(RankNoise):
    """Rank-assigned uniform perturbation with sigma = amplitude / rho.

    Args:
        rho: the smaller, the more the magnitudes move.
        amplitude: the paper's constant C.
        transform: "householder" (A = I - (2/K) 1 1^T, the paper's choice) or "identity".
        draw_range: draws lie in [0, draw_range]; 1 as published, 3 explains the published tables ("as released").

    Example:
        >>> import privee
        >>> privee.PriveeU(rho=0.1).release([0.7, 0.2, 0.1], draws=privee.seeded(1)).argmax()
        np.int64(0)
    """

    name: ClassVar[str] = "privee-u"
    place: ClassVar[int] = 50
    summary: ClassVar[str] = "rank-assigned uniform noise; keeps the ranking, magnitudes can be estimated back"
    example: ClassVar[str] = "privee-u:rho=0.1"
    audited: ClassVar[tuple[str, ...]] = ("privee-u:rho=0.1",)
    advice: ClassVar[Advice] = Advice(
        unprotective="its intervals are public: who knows the defense gets the scores back"
    )

    rho: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(rho=self.rho)
        self._check_strength(self.rho)

    def rho_by_rank(self, n_classes: int) -> Array:
        """The same rho at every rank position."""
        return np.full(n_classes, float(self.rho))
