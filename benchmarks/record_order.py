"""Record-order: which epsilon-private mechanism keeps most of the order between records.

    PRIVEE_DATA_DIR=... python benchmarks/record_order.py [mechanisms search prior releases classes]

- mechanisms: exact figures, no draws, for scores of four shapes on 128 cells of equally many records. Each rival at the
  setting that suits it best (for AUC and for Kendall's tau each on its own); the placed windows of `record-order` as
  they are.
- search: can anything do better? Alternating linear programs over all epsilon-private channels from 16 cells to 24
  outcomes, from the placed windows and from random starts.
- prior: a Beta distribution learned from 500 scores against the exact quantiles, and against no learning.
- releases: AUC for the label, Kendall's tau, accuracy and calibration of drawn scores and of models' own, beside other
  defenses.
- classes: Kendall's tau per class with more than two.

Prints tables and stores benchmarks/results/record_order.json.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse, stats
from scipy.optimize import linprog

import privee
from privee.defenses import window_design
from privee.defenses.windows import CELLS, window_probabilities
from privee.scores import calibration_error

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "record_order.json"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
PARTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64, 128)
Array = np.ndarray
PLACES = np.arange(CELLS)

SHAPES: dict[str, Any] = {
    "even": stats.beta(1, 1),
    "rare": stats.beta(0.5, 12),
    "two heaps": stats.beta(0.3, 0.3),
    "credit": (-1.5, 1.2),
}
"""Beta distributions, or the mean and spread of normal logits."""


def quantiles(shape: Any, count: int) -> Array:
    at = (np.arange(count) + 0.5) / count
    return logistic(shape[0] + shape[1] * stats.norm.ppf(at)) if isinstance(shape, tuple) else shape.ppf(at)


def logistic(logits: Array) -> Array:
    return 1 / (1 + np.exp(-logits))


# Exact figures of a channel: rows are cells with a mean score each, columns are outcomes.


def auc(likely: Array, means: Array) -> float:
    """For the label, if scores are calibrated; outcomes in the order of the mean score behind them."""
    order = np.argsort((means @ likely) / likely.sum(axis=0), kind="stable")
    with_label, without = ((part @ likely / part.sum())[order] for part in (means, 1 - means))
    return float(with_label @ (without.cumsum() - without / 2))


def kendall(likely: Array, means: Array) -> float:
    ordered = likely[:, np.argsort((means @ likely) / likely.sum(axis=0), kind="stable")]
    beyond = window_design._below_less_above(window_design._below_less_above(ordered, axis=1), axis=0)
    return float((ordered * beyond).sum()) / len(means) ** 2


# The rivals, each with one setting.


def laplace(epsilon: float, parts: int) -> Array:
    """Discrete Laplace noise on the number of the part, clamped to the first and last."""
    cells, fall = (PLACES * parts // CELLS)[:, None], math.exp(-epsilon / (parts - 1))
    likely = (1 - fall) * fall ** np.abs(np.arange(parts) - cells)
    likely[:, 0], likely[:, -1] = fall ** cells[:, 0], fall ** (parts - 1 - cells[:, 0])
    return likely / (1 + fall)


def exponential(epsilon: float, parts: int) -> Array:
    """Probabilities that fall with the distance of parts, as fast as epsilon allows once they sum to one."""
    apart = np.abs(np.arange(parts) - np.arange(parts)[:, None])
    slow, fast = 0.0, epsilon
    for _ in range(60):
        rate = (slow + fast) / 2
        likely = np.exp(-rate * apart)
        likely /= likely.sum(axis=1, keepdims=True)
        fits = np.log(likely.max(axis=0) / likely.min(axis=0)).max() <= epsilon
        slow, fast = (rate, fast) if fits else (slow, rate)
    return likely[PLACES * parts // CELLS]


def kary(epsilon: float, parts: int) -> Array:
    """k-ary randomised response: the true part, or any other."""
    likely = np.ones((CELLS, parts))
    likely[PLACES, PLACES * parts // CELLS] = math.exp(epsilon)
    return likely / likely.sum(axis=1, keepdims=True)


def square_wave(epsilon: float, width: int) -> Array:
    """Windows around the true cell, on outcomes that reach beyond the cells at both ends (Li et al. 2020)."""
    return _windows(PLACES, width, CELLS + width - 1, epsilon)


def clamped(epsilon: float, width: int) -> Array:
    """The same, moved inwards at the ends."""
    return _windows(np.clip(PLACES - width // 2, 0, CELLS - width), width, CELLS, epsilon)


def _windows(starts: Array, width: int, outcomes: int, epsilon: float) -> Array:
    at = np.arange(outcomes)
    likely = np.where((at >= starts[:, None]) & (at < starts[:, None] + width), math.exp(epsilon), 1.0)
    return likely / likely.sum(axis=1, keepdims=True)


def placed(epsilon: float, means: Array) -> Array:
    """What record-order does, with these means of cells in place of a prior's."""
    found = [(*window_design.place_windows(means, width, epsilon), width) for width in window_design._widths()]
    _, starts, width = max(found, key=lambda one: one[0])
    return window_probabilities(starts, width, epsilon)


RIVALS: dict[str, tuple[Callable[[float, int], Array], tuple[int, ...]]] = {
    "clamped discrete Laplace": (laplace, PARTS),
    "exponential": (exponential, PARTS),
    "k-ary response": (kary, PARTS),
    "square wave": (square_wave, tuple(range(1, CELLS + 1, 3))),
    "clamped windows": (clamped, tuple(range(1, CELLS // 2 + 1))),
}


def mechanisms() -> list[dict[str, Any]]:
    rows = []
    for name, shape in SHAPES.items():
        means = quantiles(shape, CELLS)
        rows.append({"scores": name, "mechanism": "none", "epsilon": None, "auc": auc(np.eye(CELLS), means)})
        for epsilon in EPSILONS:
            for rival, (make, settings) in RIVALS.items():
                likely = {setting: make(epsilon, setting) for setting in settings}
                if any(np.log(p.max(axis=0) / p.min(axis=0)).max() > epsilon + 1e-9 for p in likely.values()):
                    raise ValueError(f"{rival} is not private")
                best = max((auc(p, means), setting) for setting, p in likely.items())
                tau = max((kendall(p, means), setting) for setting, p in likely.items())
                rows.append(
                    {"scores": name, "mechanism": rival, "epsilon": epsilon, "auc": best[0], "setting": best[1]}
                    | {"kendall": tau[0], "setting_for_kendall": tau[1]}
                )
            ours = placed(epsilon, means)
            figures = {"auc": auc(ours, means), "kendall": kendall(ours, means)}
            rows.append({"scores": name, "mechanism": "placed windows", "epsilon": epsilon} | figures)
    return rows


# Is there anything better?


def search(cells: int = 16, outcomes: int = 24, starts: int = 8, turns: int = 15) -> list[dict[str, Any]]:
    rows, rng = [], np.random.default_rng(0)
    for name, shape in SHAPES.items():
        means = quantiles(shape, cells)
        for epsilon in (0.5, 1.0, 2.0, 4.0, 6.0):
            first = _best_small(means, outcomes, epsilon)
            best = ours = auc(first, means)
            for k in range(starts):
                likely = first if k == 0 else _random_windows(cells, outcomes, epsilon, rng)
                for _ in range(turns):
                    below = 2 * likely.cumsum(axis=1) - likely - 1
                    worth = means[:, None] * below.sum(axis=0) - means @ below
                    likely = _best_channel(worth, epsilon)
                    likely = likely[:, np.argsort((means @ likely) / np.maximum(likely.sum(axis=0), 1e-300))]
                    best = max(best, auc(likely[:, likely.sum(axis=0) > 1e-12], means))
            rows.append({"scores": name, "epsilon": epsilon, "placed_windows": ours, "best_found": best})
    return rows


def _best_small(means: Array, outcomes: int, epsilon: float) -> Array:
    """Placed windows, for any number of cells and outcomes."""
    best, kept = 0.0, np.full((len(means), outcomes), 1 / outcomes)
    for width in range(1, outcomes // 2 + 1):
        starts = np.rint(np.linspace(0, outcomes - width, len(means))).astype(int)
        for _ in range(30):
            likely = _windows(starts, width, outcomes, epsilon)
            below = 2 * likely.cumsum(axis=1) - likely - 1
            worth = means[:, None] * below.sum(axis=0) - means @ below
            found = float((likely * worth).sum())
            if found > best:
                best, kept = found, likely
            sums = np.pad(worth.cumsum(axis=1), ((0, 0), (1, 0)))
            starts = (sums[:, width:] - sums[:, :-width]).argmax(axis=1)
    return kept


def _random_windows(cells: int, outcomes: int, epsilon: float, rng: np.random.Generator) -> Array:
    width = int(rng.integers(1, outcomes // 2 + 1))
    return _windows(np.sort(rng.integers(0, outcomes - width + 1, cells)), width, outcomes, epsilon)


def _best_channel(worth: Array, epsilon: float) -> Array:
    """The epsilon-private channel with the largest sum of worths: a linear program with the least of every column."""
    cells, outcomes = worth.shape
    each, least = sparse.eye(cells * outcomes), sparse.kron(np.ones((cells, 1)), sparse.eye(outcomes))
    bounds = sparse.vstack([sparse.hstack([each, -math.exp(epsilon) * least]), sparse.hstack([-each, least])]).tocsr()
    ones = sparse.kron(sparse.eye(cells), np.ones((1, outcomes)))
    found = linprog(
        np.r_[-worth.ravel(), np.zeros(outcomes)],
        A_ub=bounds,
        b_ub=np.zeros(2 * cells * outcomes),
        A_eq=sparse.hstack([ones, sparse.csr_matrix((cells, outcomes))]).tocsr(),
        b_eq=np.ones(cells),
    )
    return found.x[: cells * outcomes].reshape(cells, outcomes)


# Releases.


def drawn(shape: Any, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    positive = (
        logistic(shape[0] + shape[1] * rng.normal(size=count)) if isinstance(shape, tuple) else shape.rvs(count, rng)
    )
    return np.stack([1 - positive, positive], axis=1), rng.random(count) < positive


def prior() -> list[dict[str, Any]]:
    """AUC if scores are calibrated, exactly: cells by a learned prior, by none, and by the quantiles themselves."""
    rows, rng = [], np.random.default_rng(2)
    shapes = SHAPES | {"rare, logits": (-4.0, 1.5), "very rare": (-6.5, 1.5), "sure": (-2.0, 6.0), "narrow": (-1, 0.2)}
    for name, shape in shapes.items():
        learned = privee.RecordOrder.fitted(1.0, drawn(shape, 500, rng)[0]).prior
        fine = quantiles(shape, 1 << 14)
        exact = fine.reshape(CELLS, -1).mean(axis=1)
        for epsilon in EPSILONS:
            found = {"quantiles": auc(placed(epsilon, exact), exact)}
            for words, numbers in (("learned", learned), ("not learned", (0.5, 0.5))):
                design = window_design.best_windows(epsilon, (numbers[1], numbers[0]))
                cells = np.searchsorted(design.edges[1:-1], fine, side="right")
                likely = window_probabilities(design.starts, design.width, epsilon)[cells]
                found[words] = _auc_of(likely, fine, design.values)
            rows.append({"scores": name, "epsilon": epsilon, "prior": list(learned), **found})
    return rows


def _auc_of(likely: Array, scores: Array, told: Array) -> float:
    with_label, without = ((part @ likely / part.sum())[np.argsort(told)] for part in (scores, 1 - scores))
    return float(with_label @ (without.cumsum() - without / 2))


def releases() -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    tables = {f"drawn, {name}": drawn(shape, 20_000, rng) for name, shape in SHAPES.items()} | models()
    rows = []
    for name, (every, labels_of_all) in tables.items():
        public, scores, labels = every[::5][:500], *(np.delete(x, np.s_[::5], 0) for x in (every, labels_of_all))
        forms: dict[str, privee.Defense] = {"none": privee.NoDefense(), "ranking-only": privee.RankingOnly()}
        for epsilon in EPSILONS:
            forms[f"record-order, learned {epsilon:g}"] = privee.RecordOrder.fitted(epsilon, public)
            forms[f"record-order {epsilon:g}"] = privee.RecordOrder(epsilon)
            forms[f"ordered-dp, learned {epsilon:g}"] = privee.OrderedDP.fitted(epsilon, public)
            if epsilon <= 1:
                forms[f"gaussian {epsilon:g}"] = privee.GaussianNoise(epsilon, sensitivity=math.sqrt(2))
        made = {form: defense.release(scores, draws=privee.seeded(1)) for form, defense in forms.items()}
        made |= {f"class flipped, ordered-dp {epsilon:g}": flipped(epsilon, scores, public) for epsilon in EPSILONS}
        for form, release in made.items():
            rows.append({"scores": name, "records": len(scores), "release": form} | _figures(scores, release, labels))
    return rows


def flipped(epsilon: float, scores: Array, public: Array) -> Array:
    """The promise of record-order made with ordered-dp: half of epsilon for the class, half for magnitudes."""
    flip = privee.seeded(1, "class").uniform(len(scores)) < 1 / (1 + math.exp(epsilon / 2))
    turned = np.where(flip[:, None], scores[:, ::-1], scores)
    return privee.OrderedDP.fitted(epsilon / 2, public).release(turned, draws=privee.seeded(1))


def _figures(scores: Array, release: Array, labels: Array) -> dict[str, float]:
    ranks = stats.rankdata(release[:, 1])
    count = int(labels.sum())
    area = (ranks[labels].sum() - count * (count + 1) / 2) / count / (len(labels) - count)
    return {
        "auc": float(area),
        "kendall": float(stats.kendalltau(scores[:, 1], release[:, 1]).statistic),
        "accuracy": float((release.argmax(axis=1) == labels).mean()),
        "calibration_error": calibration_error(np.clip(release, 0, 1), labels.astype(int)),
    }


def models() -> dict[str, tuple[Array, Array]]:
    """Joint logistic models of two classes, on records that they were not trained on; those that can be had."""
    from privee.audit import subject_from_dataset
    from privee.errors import PriveeError
    from privee.vfl.training import TrainingSettings

    found = {}
    for name, epochs in {"breast-cancer": 200, "adult": 5}.items():
        training = TrainingSettings(epochs=epochs, batch_size=128, learning_rate=1e-2)
        try:
            run = HERE / "runs" / f"record-order-{name}"
            sample = subject_from_dataset(name, "logistic", run, settings=training).sample(0, None, 0)
        except PriveeError as error:
            print(f"without {name}: {error}")
            continue
        found[name] = (sample.scores, np.asarray(sample.labels) == 1)
    return found


def classes() -> list[dict[str, Any]]:
    rows, rng = [], np.random.default_rng(4)
    for count in (2, 3, 5, 10):
        logits = 2.0 * rng.normal(size=(8000, count))
        scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        for epsilon in EPSILONS[1:]:
            row: dict[str, Any] = {"classes": count, "epsilon": epsilon}
            for words, positive in (("every class", None), ("one class", 1)):
                release = privee.RecordOrder.fitted(epsilon, scores[:500], positive=positive).release(
                    scores, draws=privee.seeded(1)
                )
                row[words] = float(stats.kendalltau(scores[:, 1], release[:, 1]).statistic)
                row[f"{words}, same class"] = float((release.argmax(axis=1) == scores.argmax(axis=1)).mean())
            rows.append(row)
    return rows


MEASURED = {"mechanisms": mechanisms, "search": search, "prior": prior, "releases": releases, "classes": classes}


def show(part: str, rows: list[dict[str, Any]]) -> None:
    table = Table(title=part)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for heading in columns:
        table.add_column(heading)
    for row in rows:
        cells = (row.get(column, "") for column in columns)
        table.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells))
    Console(width=170).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(MEASURED))
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in parser.parse_args().parts:
        rows = MEASURED[part]()
        stored[part] = [{k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
        show(part, stored[part])


if __name__ == "__main__":
    main()
