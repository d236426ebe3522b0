"""The demo's picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.defenses import Defense
from privee.demo.measure import Curve
from privee.randomness import seeded

INK = {"scores": "#2b2b2b", "release": "#c44e52", "estimate": "#4c72b0"}


def draw(path: Path, vector: NDArray[np.float64], defense: Defense, curves: Sequence[Curve]) -> None:
    """One record before and after, and what repeated queries give away; written as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    _one_record(left, vector, defense)
    _curves(right, curves)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _one_record(axes: Any, vector: NDArray[np.float64], defense: Defense) -> None:
    release = defense.release(vector, draws=seeded(0, "picture"))
    shown = {
        "scores": ("the model's scores", vector),
        "release": (f"released ({defense.spec})", release),
        "estimate": ("undone by someone who knows the defense", defense.estimate_scores(release)),
    }
    classes = np.arange(len(vector))
    for place, (key, (label, values)) in enumerate(shown.items()):
        axes.bar(classes + 0.27 * (place - 1), values, 0.25, label=label, color=INK[key])
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set(title="One record: same ranking, other magnitudes", xlabel="class", xticks=classes)
    axes.legend(frameon=False, fontsize=8)


def _curves(axes: Any, curves: Sequence[Curve]) -> None:
    for curve in curves:
        (line,) = axes.plot(curve.queries, curve.mean, marker="o", markersize=3, label=f"rho = {curve.rho:g}")
        axes.fill_between(curve.queries, curve.low, curve.high, color=line.get_color(), alpha=0.2)
        axes.plot(curve.queries, curve.theory, linestyle="--", color=line.get_color(), linewidth=1)
    axes.plot([], [], linestyle="--", color="#666666", linewidth=1, label="theory")
    axes.set(xscale="log", yscale="log", title="PRIVEE-U under repeated queries", xlabel="queries for one record")
    axes.set_ylabel("mean absolute error per class")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.25)
