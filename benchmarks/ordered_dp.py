"""Ordered-DP: which form moves scores least at equal epsilon, and how fast it is beside PRIVEE-U.

    PRIVEE_DATA_DIR=... python benchmarks/ordered_dp.py [utility calibration speed]

Scores: real ones of saved runs in benchmarks/runs where there are any (see vfl_accuracy.py), and drawn ones for K = 2
and 1,000. Forms: noise on all weights (the plain form), on the top score with the tail filled in by rank (default), the
same with tail and prior learned from other records of the same model, a truncated Laplace on the simplex sampled
exactly (few classes only: it needs rejection), the staircase mechanism on the top score (which has the least error any
pure epsilon-DP noise can have), and ordered rounding, which has no guarantee. Prints tables and stores
benchmarks/results/ordered_dp.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import privee
from privee.defenses.ordered_shape import DEFAULT_TAIL, FLOOR, LEAST_LEAD, fill_tail

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "ordered_dp.json"
EPSILONS = (1.0, 4.0, 16.0, 64.0)
Array = np.ndarray
Form = Callable[[Array, float, np.random.Generator], Array]


def sets_of_scores() -> dict[str, tuple[Array, Array]]:
    """Falling scores to release, and other ones to learn from."""
    rng = np.random.default_rng(0)
    found = {"drawn, K 2": rng.dirichlet([0.3] * 2, 1000), "drawn, K 1000": rng.dirichlet([0.01] * 1000, 400)}
    for run in ("digits-logistic", "drive-seed0", "mnist-seed0", "cifar10-seed0", "cifar100-seed0"):
        if (HERE / "runs" / run / "config.json").exists():
            found[run.removesuffix("-seed0")] = _model_scores(HERE / "runs" / run)
    falling = {name: -np.sort(-scores, axis=1) for name, scores in found.items()}
    return {name: (scores[::2], scores[1::2]) for name, scores in falling.items()}


def _model_scores(run: Path) -> Array:
    from privee.audit import subject_from_run

    return subject_from_run(run).sample(0, 1000, 10).scores


def released(**settings: Any) -> Form:
    return lambda scores, epsilon, rng: privee.OrderedDP(epsilon, **settings).release(scores)


def staircase(scores: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Geng and Viswanath 2014: optimal noise for the top score at this epsilon, rest filled in by rank."""
    span = 1 - 1 / scores.shape[1]
    share = 1 / (1 + np.exp(epsilon / 2))
    sign = rng.choice([-1, 1], len(scores))
    steps = rng.geometric(1 - np.exp(-epsilon), len(scores)) - 1
    outer = rng.random(len(scores)) >= share / (share + (1 - share) * np.exp(-epsilon))
    within = np.where(outer, share + (1 - share) * rng.random(len(scores)), share * rng.random(len(scores)))
    top = scores[:, 0] + sign * (steps + within) * span
    return with_tail(top, scores.shape[1])


def with_tail(top: Array, classes: int) -> Array:
    top = np.clip(top, LEAST_LEAD / classes, 1 - FLOOR)[:, None]
    return np.concatenate([top, fill_tail(top, classes, DEFAULT_TAIL)], axis=1)


def truncated(scores: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """The density proportional to exp(-epsilon |w - w0|_1 / 4) on the simplex of weights, by rejection.

    4, not 2: the normalising constant depends on w0 as well, which costs another factor of two.
    """
    classes = scores.shape[1]
    ranks = np.arange(1, classes + 1)
    centre = ranks * -np.diff(scores, axis=1, append=0.0)
    found, left = centre.copy(), np.arange(len(scores))
    for _ in range(200_000):
        if not len(left):
            break
        tried = rng.dirichlet([1.0] * classes, len(left))
        taken = rng.random(len(left)) < np.exp(-epsilon * np.abs(tried - centre[left]).sum(axis=1) / 4)
        found[left[taken]] = tried[taken]
        left = left[~taken]
    if len(left):
        return np.full_like(scores, np.nan)
    return np.cumsum((found / ranks)[:, ::-1], axis=1)[:, ::-1]


def ordered_rounding(digits: int) -> Array | Form:
    """Round, then a small step by rank where that merged classes: order kept, nothing proven."""

    def form(scores: Array, epsilon: float, rng: np.random.Generator) -> Array:
        rounded = np.round(scores, digits) + 10.0**-digits * np.arange(scores.shape[1], 0, -1) / scores.shape[1] / 100
        return rounded / rounded.sum(axis=1, keepdims=True)

    return form


def utility() -> list[dict[str, Any]]:
    rows = []
    for name, (scores, others) in sets_of_scores().items():
        fitted = privee.OrderedDP.fitted(1.0, others)
        forms: dict[str, Form] = {
            "all weights": released(spend="all"),
            "top score": released(),
            "top score, learned": released(tail=fitted.tail, prior=fitted.prior),
            "staircase on top": staircase,
        }
        if scores.shape[1] <= 10:
            forms["truncated on simplex"] = truncated
        for epsilon in EPSILONS:
            for form, make in forms.items():
                if form.startswith("truncated") and epsilon > 16:
                    continue  # rejection would not end
                made = make(scores, epsilon, np.random.default_rng(1))
                rows.append(_row(name, form, epsilon, scores, made))
        for digits in (1, 2):
            made = ordered_rounding(digits)(scores, 0.0, np.random.default_rng(1))
            rows.append(_row(name, f"ordered rounding, {digits}", None, scores, made))
    return rows


def _row(name: str, form: str, epsilon: float | None, scores: Array, made: Array) -> dict[str, Any]:
    off = np.abs(made - scores)
    return {
        "scores": name,
        "classes": scores.shape[1],
        "form": form,
        "epsilon": epsilon,
        "mean_l1": round(float(off.sum(axis=1).mean()), 5),
        "top_error": round(float(off[:, 0].mean()), 5),
    }


def calibration() -> list[dict[str, Any]]:
    """Expected calibration error of the model's scores and of releases, prior learned from other records."""
    from privee.audit import subject_from_run
    from privee.scores import calibration_error

    rows = []
    for name in ("drive-seed0", "adult-seed0", "mnist-seed0"):
        run = HERE / "runs" / name
        if not run.exists():
            continue
        sample = subject_from_run(run).sample(0, 4000, 10)
        scores, labels = sample.scores[::2], sample.labels[::2]
        fitted = privee.OrderedDP.fitted(1.0, sample.scores[1::2])
        row = {"scores": run.name.removesuffix("-seed0"), "model": calibration_error(scores, labels)}
        for epsilon in (4.0, 16.0):
            for words, prior in (("no prior", None), ("prior", fitted.prior)):
                release = privee.OrderedDP(epsilon, tail=fitted.tail, prior=prior).release(scores)
                row[f"epsilon {epsilon:g}, {words}"] = calibration_error(release, labels)
        rows.append({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
    return rows


def speed() -> list[dict[str, Any]]:
    """Median time beside PRIVEE-U, by turns in one run."""
    rows = []
    rng = np.random.default_rng(0)
    for count, classes in ((10_000, 10), (2_000, 100), (200, 1_000), (20, 10_000), (1, 10)):
        scores = rng.dirichlet([0.3] * classes, count)
        scores = np.clip(scores, 1e-12, None)
        scores /= scores.sum(axis=1, keepdims=True)
        rivals = {"privee-u": privee.PriveeU(rho=0.1), "ordered-dp": privee.OrderedDP(8.0)}
        rivals["ordered-dp, all"] = privee.OrderedDP(8.0, spend="all")
        times: dict[str, list[float]] = {name: [] for name in rivals}
        for _ in range(31):
            for name, defense in rivals.items():
                start = time.perf_counter()
                for _ in range(50 if count == 1 else 1):
                    defense.release(scores)
                times[name].append((time.perf_counter() - start) / (50 if count == 1 else 1))
        middle = {name: statistics.median(values[1:]) for name, values in times.items()}
        ratios = {name: round(value / middle["privee-u"], 2) for name, value in middle.items()}
        rows.append(
            {
                "rows": count,
                "classes": classes,
                "milliseconds": {k: round(v * 1e3, 4) for k, v in middle.items()},
                "ratios": ratios,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["utility", "calibration", "speed"])
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in parser.parse_args().parts:
        stored[part] = {"utility": utility, "calibration": calibration, "speed": speed}[part]()
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
    moved, calibrated, fast = (stored.get(part, []) for part in ("utility", "calibration", "speed"))
    console = Console(width=160)
    table = Table(title="expected calibration error of the top score")
    for heading in calibrated[0] if calibrated else ():
        table.add_column(heading)
    for row in calibrated:
        table.add_row(*map(str, row.values()))
    console.print(table)
    for name in dict.fromkeys(row["scores"] for row in moved):
        mine = [row for row in moved if row["scores"] == name]
        table = Table(title=f"{name}, K = {mine[0]['classes']}: mean L1 moved / error of the top score")
        table.add_column("form")
        for epsilon in EPSILONS:
            table.add_column(f"epsilon {epsilon:g}", justify="right")
        for form in dict.fromkeys(row["form"] for row in mine):
            cells = {
                row["epsilon"]: f"{row['mean_l1']:.3f} / {row['top_error']:.3f}" for row in mine if row["form"] == form
            }
            table.add_row(form, *(cells.get(epsilon, cells.get(None, "-")) for epsilon in EPSILONS))
        console.print(table)
    table = Table(title="speed: times PRIVEE-U in the same run")
    for heading in ("rows x classes", "privee-u ms", "ordered-dp", "ordered-dp, all"):
        table.add_column(heading, justify="right")
    for row in fast:
        ratios = row["ratios"]
        table.add_row(
            f"{row['rows']} x {row['classes']}",
            f"{row['milliseconds']['privee-u']:.3f}",
            f"{ratios['ordered-dp']:.2f}",
            f"{ratios['ordered-dp, all']:.2f}",
        )
    console.print(table)


if __name__ == "__main__":
    main()
