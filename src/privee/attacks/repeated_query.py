"""Repeated queries: several releases of the same records joined into one estimate, which any attack then uses."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.registry import attack, register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch
from privee.defenses.inverse import condition_on_sum, tighten_by_sum
from privee.defenses.rank_noise import RankNoise
from privee.errors import PriveeError
from privee.theory import minimum_estimate, reconstruction_interval

Estimator = Literal["minimum", "mean", "likelihood"]


@dataclasses.dataclass(frozen=True, eq=False)
class JoinedView(AttackerView):
    """A view whose target was estimated from all releases together."""

    joined: Tensor | None = None

    @property
    def target(self) -> Tensor:
        """The joined estimate, in place of a single release."""
        return super().target if self.joined is None else self.joined


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class RepeatedQuery(Attack):
    """Join T releases, then run another attack on the result.

    Args:
        inner: the attack that turns scores into columns.
        estimator: "minimum" is the paper's and "likelihood" intersects the intervals and uses the sum (both for
            PRIVEE-U and U+ only, adaptive only); "mean" averages what is read from each release.
    """

    name: ClassVar[str] = "repeated-query"
    place: ClassVar[int] = 60
    summary: ClassVar[str] = "joins many releases of a record, then attacks"
    needs: ClassVar[Needs] = Needs(queries=2)
    audited: ClassVar[tuple[str, ...]] = (
        "repeated-query:inner=prior-informed",
        "repeated-query:inner=equation-solving",
    )
    adapts: ClassVar[str] = "joins what the public intervals of PRIVEE-U leave; then as the inner attack does"
    published: ClassVar[str] = "the minimum estimator: the PRIVEE paper, appendix A; the others are this project's"

    inner: Attack
    estimator: Estimator = "likelihood"

    def __post_init__(self) -> None:
        if isinstance(self.inner, str):  # a spec, as the command line gives it
            object.__setattr__(self, "inner", attack(self.inner))
        elif isinstance(self.inner, dict):  # saved settings
            object.__setattr__(self, "inner", attack(**self.inner))

    def why_not(self, view: AttackerView) -> str | None:
        """Also whatever keeps the inner attack from working."""
        special = self.estimator != "mean" and not (isinstance(view.defense, RankNoise) and view.adaptive)
        own = (
            f"the {self.estimator} estimator is for an adaptive attacker of privee-u and privee-u+" if special else None
        )
        return super().why_not(view) or own or self.inner.why_not(view)

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        joined = join_releases(view, self.estimator)
        fields = {f.name: getattr(view, f.name) for f in dataclasses.fields(AttackerView)}
        return self.inner._reconstruct(JoinedView(**fields, joined=joined), watch)


def join_releases(view: AttackerView, estimator: Estimator) -> Tensor:
    """Scores estimated from all releases of each record."""
    if estimator == "mean":
        return view.target
    if not isinstance(view.defense, RankNoise):
        raise PriveeError(f"the {estimator} estimator is for privee-u and privee-u+")
    releases = view.releases.numpy()
    joined = _minimum(releases, view.defense) if estimator == "minimum" else _likelihood(releases, view.defense)
    return torch.from_numpy(joined)


def _minimum(releases: np.ndarray, defense: RankNoise) -> np.ndarray:
    """The paper's estimator, record by record."""
    return np.array([minimum_estimate(asked, defense) for asked in releases.swapaxes(0, 1)])


def _likelihood(releases: np.ndarray, defense: RankNoise) -> np.ndarray:
    """Every release gives an interval for each score; what lies in all of them, and sums to one, is left."""
    ends = [reconstruction_interval(release, defense) for release in releases]
    low, high = np.max([a for a, _ in ends], axis=0), np.min([b for _, b in ends], axis=0)
    crossed = low > high  # by rounding only
    low, high = np.where(crossed, (low + high) / 2, low), np.where(crossed, (low + high) / 2, high)
    low, high = tighten_by_sum(low, high)
    return condition_on_sum((low + high) / 2, (high - low) ** 2 / 12, low, high)
