"""PRIVEE-U+: a perturbation strength for every rank position."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import ClassVar

import numpy as np

from privee.defenses.advice import Advice
from privee.defenses.base import check_positive
from privee.defenses.rank_noise import Array, RankNoise
from privee.defenses.registry import register
from privee.errors import SettingError


@register
@dataclasses.dataclass(frozen=True)
class PriveeUPlus(RankNoise):
    """PRIVEE-U with a strength per rank position; sigma never falls as confidence rises.

    Give either the two ends, `rho_low` for the leading class and `rho_high` for the last one (positions between are
    spaced evenly), or a `schedule` of rho by rank position, leading class first. The order needs rho to be
    non-decreasing from the leading class down; a schedule that is not is refused.

    Example:
        >>> PriveeUPlus(rho_low=0.1, rho_high=0.5).rho_by_rank(3)
        array([0.1, 0.3, 0.5])
    """

    name: ClassVar[str] = "privee-u+"
    place: ClassVar[int] = 51
    summary: ClassVar[str] = "PRIVEE-U with a strength per rank position; same limits"
    example: ClassVar[str] = "privee-u+:rho_low=0.1,rho_high=0.9"
    audited: ClassVar[tuple[str, ...]] = ("privee-u+:rho_low=0.1,rho_high=0.9",)
    advice: ClassVar[Advice] = Advice(unprotective="as PRIVEE-U: its intervals are public")

    _: dataclasses.KW_ONLY
    rho_low: float | None = None
    rho_high: float | None = None
    schedule: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule is not None:
            self._check_schedule()
        elif self.rho_low is None or self.rho_high is None:
            raise SettingError("give rho_low and rho_high, or a schedule of rho by rank position")
        else:
            check_positive(rho_low=self.rho_low, rho_high=self.rho_high)
            if self.rho_low > self.rho_high:
                raise SettingError(
                    f"rho_low ({self.rho_low:g}, the leading class) must not be above rho_high ({self.rho_high:g}): "
                    "sigma = amplitude / rho may not fall as confidence rises, or the order breaks"
                )
        self._check_strength(self.rho_low if self.schedule is None else self.schedule[0])  # type: ignore[arg-type]

    def _check_schedule(self) -> None:
        if self.rho_low is not None or self.rho_high is not None:
            raise SettingError("give either rho_low and rho_high or a schedule, not both")
        try:
            rhos = tuple(float(rho) for rho in self.schedule or ())
        except (TypeError, ValueError):
            raise SettingError(f"schedule must be a list of numbers, got {self.schedule!r}") from None
        if len(rhos) < 2:
            raise SettingError("a schedule needs one rho for each of at least two rank positions")
        check_positive(**{f"schedule position {i + 1}": rho for i, rho in enumerate(rhos)})
        fall = next((i for i, (above, below) in enumerate(pairwise(rhos)) if above > below), None)
        if fall is not None:
            raise SettingError(
                f"schedule falls from {rhos[fall]:g} to {rhos[fall + 1]:g} after rank position {fall + 1}: "
                "rho must not fall from the leading class down, or sigma would break the order"
            )
        object.__setattr__(self, "schedule", rhos)

    def rho_by_rank(self, n_classes: int) -> Array:
        """The schedule, or evenly spaced values between the two ends."""
        if self.schedule is None:
            return np.linspace(self.rho_low, self.rho_high, n_classes)  # type: ignore[arg-type]
        if len(self.schedule) != n_classes:
            raise SettingError(f"the schedule has {len(self.schedule)} rank positions, the scores {n_classes} classes")
        return np.array(self.schedule)
