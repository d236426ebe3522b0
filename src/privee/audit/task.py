"""One cell of the grid: an attack on a release, measured.

Also the paper's repeated-query experiment: what T releases of a record give away, measured and by theory.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.attacks import Reconstruction
from privee.attacks import attack as make_attack
from privee.attacks.metrics import column_mse, feature_mse, guess_normalised
from privee.attacks.watch import Watch
from privee.audit.exposure.findings import USUAL_BOUND, Bound
from privee.audit.exposure.measuring import measure
from privee.audit.results import Curve, Finding, Handout
from privee.audit.subject import SHOWN, Sample
from privee.defenses import Defense, PriveeU
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.randomness import seeded
from privee.scores import order_between
from privee.theory import expected_error, half_width, minimum_estimate, rate, rows_in_order
from privee.version import __version__

MEAN_GUESS = "mean guess"
SLOW_ROWS = 16
"""How many records a slow defense releases in an audit."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What to attack, how, and with what knowledge; `key` is the same for the same work."""

    key: str
    subject: str
    sample: Sample
    guesses: Mapping[str, Tensor]
    defense: str
    attack: str
    adaptive: bool
    seed: int
    queries: int
    keep_shown: bool
    bound: Bound = USUAL_BOUND

    @property
    def guess_errors(self) -> dict[str, float]:
        """Feature MSE of every guess."""
        return {name: feature_mse(guess, self.sample.truth) for name, guess in self.guesses.items()}

    def named(self) -> Finding:
        """A finding that says what was tried, and nothing found yet."""
        made = make_attack(self.attack)
        return Finding(
            subject=self.subject,
            defense=self.defense,
            attack=self.attack,
            attacker="adaptive" if self.adaptive else "naive",
            seed=self.seed,
            queries=self.queries,
            records=len(self.sample.own),
            questions=getattr(made, "questions", 1) if made.needs.oracle else 0,
            without_end=made.needs.codes,
            by_column=made.by_column,
        )


def task_key(fingerprint: str, *settings: object) -> str:
    """The same for the same work with the same version."""
    return hashlib.sha256(json.dumps([fingerprint, __version__, *settings]).encode()).hexdigest()


def run_task(task: Task, checkpoints: Path | None = None) -> Finding:
    """Attack once and measure; an attack that makes no sense is skipped, with the reason."""
    torch.set_num_threads(1)  # the grid is what runs in parallel
    releases = simulated(task.sample, make_defense(task.defense), task.seed, task.queries)
    watch = Watch(folder=None if checkpoints is None else checkpoints / task.key[:16])
    try:
        return attacked(task, releases, watch)[0]
    except PriveeError as error:  # such as a model that gives no numbers where an attack looks: the others go on
        return dataclasses.replace(task.named(), status="failed", reason=str(error))


def simulated(sample: Sample, defense: Defense, seed: int, queries: int) -> NDArray[np.float64]:
    """Releases of the sample's records, (queries, records, classes); a slow defense's public copy stands in for it."""
    return sample.releases(defense.public_copy() if defense.slow else defense, seed, queries)


def reads_as_released(sample: Sample, spec: str, seed: int) -> bool:
    """Is a release what an attacker who knows the defense takes for the scores, or is there something to undo?"""
    defense = make_defense(spec).public_copy()
    (release,) = simulated(sample, defense, seed, 1)
    return np.array_equal(np.asarray(defense.estimate_scores(release)), release)


def attacked(task: Task, releases: NDArray[np.float64], watch: Watch) -> tuple[Finding, Tensor | None]:
    """The finding and the reconstructed columns; none of an attack that makes no sense here."""
    attack, defense = make_attack(task.attack), make_defense(task.defense)
    oracle = task.sample.oracle(defense, task.seed) if attack.needs.oracle else None
    view = task.sample.view(releases, defense, adaptive=task.adaptive, oracle=oracle)
    reason = attack.why_not(view)
    if reason is not None:
        return dataclasses.replace(task.named(), status="skipped", reason=reason), None
    start = time.perf_counter()
    found = attack.run(view, seed=task.seed, watch=watch if oracle is None else oracle.watched(watch))
    return measured(task, found, time.perf_counter() - start), found.unknown


def measured(task: Task, found: Reconstruction, seconds: float) -> Finding:
    """How well an attack did."""
    error = feature_mse(found.unknown, task.sample.truth)
    if not math.isfinite(error):
        return dataclasses.replace(task.named(), status="failed", reason="gave values that are not finite numbers")
    guess_errors = task.guess_errors
    worse = error > guess_errors[MEAN_GUESS]
    truth, estimate = task.sample.truth.numpy(), found.unknown.numpy()
    guesses = {name: guess.numpy() for name, guess in task.guesses.items()}
    by_column = measure(estimate, truth, guesses, task.sample.columns, task.bound)
    best = min(guess_errors.values())
    after = [feature_mse(one, task.sample.truth) for one in (*found.before, found.unknown)] if found.before else []
    shown = found.unknown[:SHOWN].round(decimals=4).tolist() if task.keep_shown else []
    return dataclasses.replace(
        task.named(),
        status="failed" if worse else "ok",
        reason="worse than the column means" if worse else "",
        confidence_residual=found.residual,
        feature_mse=error,
        guess_normalised=_normalised(error, best),
        after=tuple(one / best for one in after) if best > 0 else (),
        seconds=round(seconds, 3),
        column_mse=tuple(column_mse(found.unknown, task.sample.truth).tolist()),
        columns=by_column.columns,
        people=by_column.people,
        shown=tuple(map(tuple, shown)),
    )


def _normalised(error: float, best_guess: float) -> float | None:
    """None where even a guess is exact: constant columns hold no secret."""
    return guess_normalised(error, best_guess) if best_guess > 0 else None


def guess_findings(
    subject: str, sample: Sample, guesses: Mapping[str, Tensor], seed: int, *, keep_shown: bool
) -> list[Finding]:
    """The guesses that need no release, as findings."""
    errors = {name: feature_mse(guess, sample.truth) for name, guess in guesses.items()}
    best = min(errors.values())
    return [
        Finding(
            subject=subject,
            defense="",
            attack=name,
            attacker="guess",
            seed=seed,
            queries=0,
            records=len(sample.own),
            feature_mse=errors[name],
            guess_normalised=_normalised(errors[name], best),
            column_mse=tuple(column_mse(guess, sample.truth).tolist()),
            shown=tuple(map(tuple, guess[:SHOWN].round(decimals=4).tolist())) if keep_shown else (),
        )
        for name, guess in guesses.items()
    ]


def handout(subject: str, sample: Sample, spec: str, seed: int, many: Sample | None = None) -> Handout:
    """What one release keeps and moves, and how long it takes; slow defenses are tried on a few rows.

    With many records, what it is worth there too.
    """
    defense = make_defense(spec)
    rows = slice(SLOW_ROWS if defense.slow else None)
    scores, start = sample.scores[rows], time.perf_counter()
    release = defense.release(scores, draws=seeded(seed, "release", defense.spec))
    seconds = time.perf_counter() - start
    top = scores.argmax(axis=1)[:, None]
    return Handout(
        subject=subject,
        defense=spec,
        seed=seed,
        ranking_kept=float(rows_in_order(scores, release).mean()),
        label_kept=float((release.argmax(axis=1) == top[:, 0]).mean()),
        mean_l1_moved=float(np.abs(release - scores).sum(axis=1).mean()),
        top_score_error=float(np.abs(np.take_along_axis(release - scores, top, axis=1)).mean()),
        accuracy=sample.accuracy(np.asarray(release, dtype=np.float64)),
        **({} if many is None else _worth(many, defense, seed)),
        rows=len(scores),
        seconds=seconds,
    )


def _worth(sample: Sample, defense: Defense, seed: int) -> dict[str, Any]:
    """Of a release of many records."""
    (release,) = simulated(sample, defense, seed, 1)
    return {"utility": sample.utility(release), "order_between": order_between(sample.scores, release)}


Array = NDArray[np.float64]

RHOS = (0.1, 0.3, 0.5, 0.7)
QUERIES = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
REPEATS = 20
RECORDS = 10


def repeated_query_curves(
    subject: str, scores: Array, rhos: Sequence[float] = RHOS, seed: int = 0
) -> tuple[Curve, ...]:
    """Mean absolute error per class of the minimum estimator on PRIVEE-U, over records; bands over repetitions."""
    return tuple(_curve(subject, scores[:RECORDS], rho, seed) for rho in rhos)


def _curve(subject: str, scores: Array, rho: float, seed: int) -> Curve:
    defense = PriveeU(rho=rho)
    errors = np.mean([_errors(vector, defense, seed, k) for k, vector in enumerate(scores)], axis=0)
    mean, half = errors.mean(axis=0), half_width(errors)
    theory = np.mean(
        [expected_error(rate(vector, defense)[:, None], queries=QUERIES).mean(axis=0) for vector in scores], axis=0
    )
    low, high = mean - half, mean + half
    lists = (tuple(values.tolist()) for values in (QUERIES, mean, low, high, theory))
    return Curve(
        subject=subject, rho=rho, **dict(zip(("queries", "mean", "low", "high", "theory"), lists, strict=True))
    )


def _errors(vector: Array, defense: PriveeU, seed: int, record: int) -> Array:
    """By repetition and number of queries."""
    most = int(QUERIES[-1])
    draws = seeded(seed, "repeated", defense.spec, record)
    releases = defense.release(np.tile(vector, (REPEATS * most, 1)), draws=draws).reshape(REPEATS, most, -1)
    lowest = np.minimum.accumulate(releases, axis=1)[:, QUERIES - 1]
    # What the smallest of some releases gives is what these releases give.
    estimates = np.array([[minimum_estimate(one[None], defense) for one in by_count] for by_count in lowest])
    return np.asarray(np.abs(estimates - vector).mean(axis=2))
