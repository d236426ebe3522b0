"""What settings are tried on: a model's own scores and attacks on it, or synthetic scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.attacks import known_attacks
from privee.audit.grid import Grid, run_grid
from privee.audit.recommend.answer import Attacked, Figures, Tried, Wishes
from privee.audit.results import Card, SealedInfo
from privee.audit.sealed_words import sealed_parties
from privee.audit.subject import Subject
from privee.defenses import Defense
from privee.defenses.base import check_whole
from privee.progress import Progress
from privee.randomness import seeded
from privee.scores import Utility, majority_of, order_between, utility_of
from privee.theory import rows_in_order

Array = NDArray[np.float64]

MOST_RELEASES = 20
"""Given to an attack at most."""
MANY_RECORDS, FEW_CLASSES = 5000, 20
"""What the order between records and utility are measured on: so many records, and the order for so many classes."""
PUBLIC_ROWS, FEWEST_PUBLIC_ROWS = 500, 10
SYNTHETIC_ROWS, SYNTHETIC_SCORES = 2000, 200_000
SPREADS = (1.0, 8.0)
"""Of synthetic logits: from doubtful records to confident ones."""


def quick_attacks() -> tuple[str, ...]:
    """The strongest of those that take seconds."""
    return tuple(name for name, cls in known_attacks().items() if cls.quick)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is tried on a model; the fields are those of an audit's `Grid`."""

    seeds: int = 1
    records: int | None = None
    auxiliary_rows: int | None = None
    column_limit: int = 3000
    attacks: tuple[str, ...] = dataclasses.field(default_factory=quick_attacks)
    jobs: int | None = None

    def __post_init__(self) -> None:
        check_whole(1, 100, seeds=self.seeds)
        if self.records is not None:
            check_whole(1, 10**9, records=self.records)

    def grid(self, **more: Any) -> Grid:
        """An audit of this effort."""
        return Grid(
            attacks=self.attacks,
            seeds=tuple(range(self.seeds)),
            records=self.records,
            auxiliary_rows=self.auxiliary_rows,
            column_limit=self.column_limit,
            pictures=False,
            curves=False,
            own_columns=False,
            **more,
        )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Ground:
    """Scores that settings are tried on, by seed, and others that tail and prior may be learned from.

    `many` are scores of more records than are attacked, with what they are worth where labels are known. `sealed` are
    the sealed parties among those with private columns, and `all_sealed` says that there are no others.
    """

    tried: Tried
    tried_on: str
    scores: tuple[Array, ...]
    public: Array | None
    many: Array
    labels: NDArray[np.int64] | None = None
    utility: Utility | None = None
    majority: Utility | None = None
    sealed: tuple[SealedInfo, ...] = ()
    all_sealed: bool = False


def model_ground(subject: Subject, effort: Effort) -> tuple[Ground, Subject]:
    """The model's scores of the records that an audit attacks; and the subject without the rows learned from."""
    subject, public = _set_aside(subject)
    grid = effort.grid()
    samples = [grid.sample(subject, seed, by_column=False) for seed in grid.seeds]
    rows = 0 if samples[0].auxiliary is None else len(samples[0].auxiliary)
    known = f"{len(samples[0].own)} records and {rows} auxiliary rows"
    more = _many(subject)
    seeds = f"{effort.seeds} seed{'s' if effort.seeds > 1 else ''}"
    words = f"{subject.name}: {known}, {seeds}; order between records on {len(more['many']):,}"
    scores = tuple(sample.scores for sample in samples)
    more |= {"sealed": (sealed := sealed_parties(subject.model))}
    more |= {"all_sealed": bool(sealed) and not subject.model.unsealed_unknown}
    return Ground(tried="measured", tried_on=words, scores=scores, public=public, **more), subject


def _many(subject: Subject) -> dict[str, Any]:
    """Those whose class is known, if there are any."""
    sample = dataclasses.replace(subject, auxiliary=subject.auxiliary[:0]).sample(0, MANY_RECORDS, 0)
    many, labels = sample.scores, sample.labels
    if labels is None or not (labels >= 0).any():
        return {"many": many}
    many, labels = many[labels >= 0], labels[labels >= 0]
    majority = majority_of(labels, many.shape[1])
    return {"many": many, "labels": labels, "utility": utility_of(many, labels), "majority": majority}


def _set_aside(subject: Subject) -> tuple[Subject, Array | None]:
    """Scores of rows that are never attacked; where the pool is one, a quarter of it is kept out of the audit."""
    public = subject.auxiliary
    if len(np.intersect1d(subject.targets, public)):
        public = public[::4]
        targets, auxiliary = (np.setdiff1d(rows, public) for rows in (subject.targets, subject.auxiliary))
        subject = dataclasses.replace(subject, targets=targets, auxiliary=auxiliary)
    if len(public) < FEWEST_PUBLIC_ROWS:
        return subject, None
    alone = dataclasses.replace(subject, targets=public[:PUBLIC_ROWS], auxiliary=public[:0])
    return subject, alone.sample(0, None, 0).scores


def synthetic_ground(n_classes: int, *, learn: bool) -> Ground:
    """Softmax of normal logits; half of the rows to learn from, if wanted."""
    rows = int(np.clip(SYNTHETIC_SCORES // n_classes, 20, SYNTHETIC_ROWS))
    draws = seeded(0, "synthetic scores", n_classes)
    spread = SPREADS[0] + (SPREADS[1] - SPREADS[0]) * draws.uniform((2 * rows, 1))
    logits = draws.normal((2 * rows, n_classes)) * spread
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    low, high = SPREADS
    words = f"{rows:,} synthetic score vectors (softmax of normal logits with a spread of {low:g} to {high:g})"
    tried, others = scores[:rows], scores[rows:]
    public = others if learn else None
    return Ground(tried="synthetic", tried_on=words, scores=(tried,), public=public, many=tried)


def figures(defense: Defense, ground: Ground) -> Figures:
    """What the defense keeps and moves; the draws are those of an audit with the same seeds."""
    releases = [
        defense.release(scores, draws=seeded(seed, "release", defense.spec))
        for seed, scores in enumerate(ground.scores)
    ]
    scores, release = (np.concatenate(values).astype(np.float64) for values in (ground.scores, releases))
    top = scores.argmax(axis=1)[:, None]
    true_top, told_top = (np.take_along_axis(values, top, axis=1)[:, 0] for values in (scores, release))
    return Figures(
        mean_l1_moved=_l1(release, scores),
        left_after_inverse=_l1(np.asarray(defense.estimate_scores(release), dtype=np.float64), scores),
        top_score_error=float(np.abs(told_top - true_top).mean()),
        calibration_gap=_calibration_gap(told_top, true_top),
        ranking_kept=float(rows_in_order(scores, release).mean()),
        **_between_records(defense, ground),
    )


def _between_records(defense: Defense, ground: Ground) -> dict[str, Any]:
    """What is left of the order between records, and of what they are used for."""
    many = ground.many
    release = defense.release(many, draws=seeded(0, "release of many", defense.spec))
    classes = np.unique(np.linspace(0, many.shape[1] - 1, FEW_CLASSES).astype(int))
    return {
        "order_between": order_between(many[:, classes], release[:, classes]),
        "utility": None if ground.labels is None else utility_of(release, ground.labels),
        "utility_of_scores": ground.utility,
    }


def one_number_error(ground: Ground) -> float:
    """Error of a top score that is the same for every record: the best such number is the median."""
    top = np.concatenate(ground.scores).max(axis=1)
    return float(np.abs(top - np.median(top)).mean())


def _l1(one: Array, other: Array) -> float:
    return float(np.abs(one - other).sum(axis=1).mean())


def _calibration_gap(told: Array, true: Array) -> float:
    """In parts of about 50 records, ten at most, by what they are told."""
    parts = np.array_split(np.argsort(told, kind="stable"), int(np.clip(len(told) // 50, 1, 10)))
    return float(sum(len(part) * abs(told[part].mean() - true[part].mean()) for part in parts) / len(told))


def attack_all(
    subject: Subject, specs: Iterable[str], effort: Effort, wishes: Wishes, progress: Progress
) -> dict[str, Attacked | None]:
    """What the best attack gets under each defense; none and ranking-only, the ends of the scale, included."""
    asked = (min(wishes.variants, MOST_RELEASES),) if wishes.variants > 1 else ()
    releases = min(wishes.queries, MOST_RELEASES)
    grid = effort.grid(defenses=("none", "ranking-only", *specs), queries=releases, questions=asked)
    found = run_grid([subject], grid, jobs=effort.jobs, progress=progress)
    return {card.defense: _attacked(card) for card in found.cards}


def _attacked(card: Card) -> Attacked | None:
    """None if no attack could run: a guess alone says nothing about a release."""
    if card.naive is None and card.adaptive is None and not card.columns:
        return None
    return Attacked(
        headline=card.headline,
        guess=card.guess,
        guess_normalised=card.guess_normalised,
        worst=card.worst,
        attainable_protection=card.attainable_protection,
        grade=card.grade,
        verdict=card.verdict,
        asked_again=card.most_asked,
        without_end=card.without_end,
    )
