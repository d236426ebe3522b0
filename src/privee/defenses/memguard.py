"""MemGuard (Jia, Salem, Backes, Zhang, Gong 2019): scores moved until a classifier cannot tell members from others.

For each record, normalised gradient steps on the logits lower |h| + 10 relu(best wrong - right) + c L1(scores moved),
where h is the member classifier's output, until h changes sign with the top class kept. c is tried from 0.1 to 1e5 by
tens, and the largest of those that succeed without a gap counts. The moved scores are released with the probability
that keeps the expected distortion within a budget, else the scores as they are. Steps and weights were read in the
published code; the randomised release is from memory, and the original fixes its coin for a query, which
`privee.Repeatable` does here, as for any defense.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.base import Defense, Guarantee, check_positive, check_whole
from privee.defenses.member_classifier import MemberClassifier, classifier_of, default_classifier, fit_classifier
from privee.defenses.memguard_inverse import MOST_CLASSES, moved_back
from privee.defenses.registry import register
from privee.defenses.small_nets import log_scores, softmax
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import check_rows, to_rows
from privee.scores.forms import Floats

Array = NDArray[np.float64]
STEP = 0.1
KEEP_CLASS = 10.0
ROUNDING = 1e-3
"""Of a release to float32, in terms of h."""
STEPS_TRIED = 300
"""Of the searches that the inverse makes."""
PRICES: Array = np.power(10.0, np.arange(-1, 6), dtype=np.float64)
"""Of distortion, all tried at once."""


@register
@dataclasses.dataclass(frozen=True)
class MemGuard(Defense):
    """Moves scores to where membership cannot be told, and tosses a coin whether to release that. Keeps the top class.

    Args:
        budget: expected L1 distance between scores and release, at most.
        steps: of the search for each record, at most.
        weights: of the member classifier, see `fitted`. Without them it is one fitted on public synthetic scores:
            softmax of normal logits, with a spread of 8 for members and of 3 for others.
    """

    name: ClassVar[str] = "memguard"
    place: ClassVar[int] = 46
    slow: ClassVar[bool] = True  # hundreds of steps for a vector
    summary: ClassVar[str] = "moves scores until membership cannot be told; keeps the class"

    budget: float = 0.5
    steps: int = 300
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_positive(budget=self.budget)
        check_whole(1, 10_000, steps=self.steps)
        if self.weights is not None and not _are_numbers(self.weights):
            raise SettingError("weights must be a list of numbers, as MemGuard.fitted makes them")

    @classmethod
    def fitted(cls, members: Any, others: Any, **settings: Any) -> MemGuard:
        """With a classifier that tells scores of training records (`members`) from those of `others`."""
        given = [to_rows(scores)[0].astype(np.float64) for scores in (members, others)]
        for rows in given:
            check_rows(rows)
        if min(map(len, given)) < 2 or given[0].shape[1] != given[1].shape[1]:
            raise SettingError("members and others must be two batches of score vectors with the same classes")
        return cls(weights=fit_classifier(*given).numbers, **settings)

    @property
    def learned_by(self) -> str:
        """The call of `fitted`, where there are weights."""
        return "" if self.weights is None else "privee.MemGuard.fitted(member_scores, public_scores)"

    def classifier(self, n_classes: int) -> MemberClassifier:
        """The member classifier for this many classes."""
        return default_classifier(n_classes) if self.weights is None else classifier_of(self.weights, n_classes)

    def _release(self, rows: Floats, sums: Array, draws: Draws) -> Floats:
        coins = draws.uniform(len(rows))
        if not len(rows):
            return rows.copy()
        classifier = self.classifier(rows.shape[1])
        scores = rows.astype(np.float64)
        moved = noisy_scores(scores, classifier, self.steps)
        before, after = (np.abs(classifier(log_scores(one))) for one in (scores, moved))
        distance = np.abs(moved - scores).sum(axis=1)
        chosen = (after < before) & (coins * distance < self.budget)
        out = np.where(chosen[:, None], moved, scores).astype(rows.dtype)
        kept = out.argmax(axis=1) == rows.argmax(axis=1)  # also after rounding to the dtype
        return np.where(kept[:, None], out, rows)

    def _estimate(self, rows: Array) -> Floats:
        """The release where it is exact; else moved back, by what the batch says of the model (`memguard_inverse`).

        Scores of confident models are moved little, and stay; flat ones are moved to where confident ones are.
        """
        shown = np.asarray(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12))
        if not 1 < rows.shape[1] <= MOST_CLASSES:
            return shown
        quick = dataclasses.replace(self, steps=min(self.steps, STEPS_TRIED))
        return moved_back(quick, shown, np.asarray(self.was_moved(shown)))

    def was_moved(self, release: Any) -> NDArray[np.bool_]:
        """Which releases may have been moved: a search ends within one step of h = 0. All others are exact."""
        rows, form = to_rows(release)
        classifier = self.classifier(rows.shape[1])
        near = np.abs(classifier(log_scores(rows.astype(np.float64)))) <= STEP * classifier.steepest + ROUNDING
        return near[0] if form.one_vector else near

    def guarantee(self, n_classes: int) -> Guarantee:
        """Nothing is proven; it was made against membership inference, not against feature inference."""
        return Guarantee(
            not_covered=(
                "the predicted class",
                "scores that lie away from the classifier's boundary are released exactly, and seen to be",
                "most of what doubtful scores are moved by, to whoever sees many releases of a model",
                "asking again with fresh draws: sooner or later the scores come as they are",
            ),
            figures={"budget": self.budget},
        )


def noisy_scores(scores: Array, classifier: MemberClassifier, steps: int) -> Array:
    """The scores moved across the classifier's boundary with the top class kept; as they are where that fails."""
    start, top = log_scores(scores), scores.argmax(axis=1)
    side = np.sign(classifier(start))
    reached = np.repeat(scores[:, None], len(PRICES), axis=1)
    done = np.zeros(reached.shape[:2], dtype=bool)
    row, price = (x.ravel() for x in np.indices(done.shape))
    logits = start[row]
    h, by_logits = classifier.with_slope(logits)
    for _ in range(steps):
        slope = _slope(h, by_logits, logits, scores[row], top[row], PRICES[price])
        size = np.sqrt(np.square(slope).sum(axis=1, keepdims=True))
        logits = logits - STEP * np.divide(slope, size, out=np.zeros_like(slope), where=size > 0)
        h, by_logits = classifier.with_slope(logits)
        there = (h * side[row] <= 0) & (logits.argmax(axis=1) == top[row])
        if there.any():
            reached[row[there], price[there]] = softmax(logits[there])
            done[row[there], price[there]] = True
            row, price, logits, h, by_logits = (x[~there] for x in (row, price, logits, h, by_logits))
        if not len(row):
            break
    best = np.cumprod(done, axis=1).sum(axis=1) - 1
    return np.where(best[:, None] >= 0, reached[np.arange(len(scores)), best], scores)


def _slope(h: Array, by_logits: Array, logits: Array, scores: Array, top: NDArray[np.intp], price: Array) -> Array:
    """Of |h| + 10 relu(best wrong - right) + price * L1(scores moved), by the logits."""
    found = by_logits * np.sign(h)[:, None]
    rows = np.arange(len(logits))
    wrong = logits.copy()
    wrong[rows, top] = -np.inf
    best = wrong.argmax(axis=1)
    behind = KEEP_CLASS * (wrong[rows, best] > logits[rows, top])
    found[rows, best] += behind
    found[rows, top] -= behind
    now = softmax(logits)
    pull = price[:, None] * np.sign(now - scores)
    return np.asarray(found + now * (pull - (now * pull).sum(axis=1, keepdims=True)))


def _are_numbers(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(v, (int, float)) and abs(v) < 1e6 for v in values)
