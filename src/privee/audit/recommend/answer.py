"""What is recommended, and why: plain records, ready for JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal

from privee.audit.recommend.wishes import Wishes
from privee.audit.results import Best

Tried = Literal["measured", "synthetic"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figures:
    """What a release keeps and moves, on average over records.

    Attributes:
        mean_l1_moved: L1 distance between scores and release.
        left_after_inverse: L1 distance that is left once the defense's public inverse has been applied.
        top_score_error: absolute error of the top score.
        calibration_gap: how far the mean of released top scores is from that of the model's, among records with about
            the same released one.
        ranking_kept: share of records whose ranking is the scores' own.
    """

    mean_l1_moved: float
    left_after_inverse: float
    top_score_error: float
    calibration_gap: float
    ranking_kept: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attacked:
    """What the best attack got; see `privee.audit.Card`."""

    headline: Best
    guess: Best
    guess_normalised: float
    attainable_protection: float | None
    grade: str
    verdict: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Option:
    """One defense with its settings: why it was chosen or lost, what is proven and what was found.

    Attributes:
        attacked: None where nothing was attacked (synthetic scores) or no attack could run.
    """

    defense: str
    settings: Mapping[str, Any]
    why: str
    proven: str
    same: str
    epsilon: float | None
    assumptions: tuple[str, ...]
    not_covered: tuple[str, ...]
    figures: Figures
    attacked: Attacked | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recommendation:
    """One answer, what else was considered, and the evidence.

    Attributes:
        met: are all wishes met? If not, `unmet` says which are not, by name, and `chosen` comes nearest.
        chosen: the recommended defense.
        use: how to put it to use, in Python.
        over_releases: what several releases of one record add up to.
        alternatives: what was considered and lost.
        not_protective: what is never recommended, with what was found.
        tried: "measured" on a model, or on "synthetic" scores, which say nothing about attacks.
        tried_on: what that was, in words.
        notes: what else to know.
    """

    wishes: Wishes
    n_classes: int
    met: bool
    unmet: Mapping[str, str]
    chosen: Option
    use: str
    over_releases: tuple[str, ...]
    alternatives: tuple[Option, ...]
    not_protective: tuple[Option, ...]
    tried: Tried
    tried_on: str
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same after a round trip through JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self), allow_nan=False))
        return plain
