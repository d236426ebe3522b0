"""The frontier as a picture and as Markdown tables: docs/images/frontier.png, from benchmarks/results/frontier.json.

python benchmarks/frontier_picture.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "frontier.json"
PICTURE = HERE.parent / "docs" / "images" / "frontier.png"
FAMILIES = {
    "none": ("#52606d", "X"),
    "privee-u": ("#b84a00", "s"),
    "privee-u+": ("#8a6d00", "D"),
    "rounding": ("#a3487f", "^"),
    "gaussian": ("#333333", "P"),
    "ordered-dp": ("#0072b2", "o"),
    "ranking-only": ("#007a59", "v"),
    "label-only": ("#9aa5b1", "*"),
}
FEW, MANY = 1, 1000


def panel(axes: Axes, rows: list[dict[str, Any]], title: str) -> None:
    """A filled mark for one release, a line to a hollow one for a thousand."""
    for row in (row for row in rows if row["queries"] == FEW):
        colour, marker = FAMILIES[row["defense"].partition(":")[0]]
        later = next(r for r in rows if (r["defense"], r["queries"]) == (row["defense"], MANY))
        x = max(row["mean_l1"], 1e-3)
        before, after = (min(1.1, r["attainable_protection"]) for r in (row, later))
        axes.plot([x, x], [before, after], color=colour, linewidth=0.8, alpha=0.6)
        axes.plot([x], [after], marker=marker, color=colour, fillstyle="none", linestyle="none", markersize=6)
        axes.plot([x], [before], marker=marker, color=colour, linestyle="none", markersize=6)
    axes.set(xscale="log", xlim=(8e-4, 15), ylim=(-0.08, 1.14))
    axes.set_title(title, loc="left", fontsize=10)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.grid(color="#e4e7eb", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def draw(stored: list[dict[str, Any]]) -> Figure:
    cases = list(dict.fromkeys((row["dataset"], row["model"]) for row in stored))
    figure = Figure(figsize=(10.5, 6.4), dpi=100, layout="constrained")
    grid = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, (dataset, model) in zip([grid[k % 2][k // 2] for k in range(6)], cases, strict=True):
        mine = [row for row in stored if (row["dataset"], row["model"]) == (dataset, model)]
        panel(axes, mine, f"{dataset}, {model}")
    for name, (colour, marker) in FAMILIES.items():
        grid[0][0].plot([], [], marker=marker, color=colour, linestyle="none", label=name)
    figure.supxlabel("how far scores are moved (mean L1; exact scores at the left edge)", fontsize=10)
    figure.supylabel("attainable protection", fontsize=10)
    words = "Filled: one release. Hollow: a thousand releases with fresh draws. Strongest adaptive attack."
    figure.legend(loc="outside upper center", ncols=8, frameon=False, fontsize=9, title=words)
    return figure


def tables(stored: list[dict[str, Any]]) -> str:
    lines = []
    for dataset, model in dict.fromkeys((row["dataset"], row["model"]) for row in stored):
        mine = [row for row in stored if (row["dataset"], row["model"]) == (dataset, model)]
        counts = sorted({row["queries"] for row in mine})
        lines += ["", f"| {dataset}, {model} | mean L1 | {' | '.join(f'T = {t:,}' for t in counts)} |"]
        lines += ["|---|" + "---|" * (len(counts) + 1)]
        for defense in dict.fromkeys(row["defense"] for row in mine):
            cells = {row["queries"]: row for row in mine if row["defense"] == defense}
            shown = (f"{cells[t]['attainable_protection']:.0%} ({cells[t]['guess_normalised']:.2f})" for t in counts)
            lines.append(f"| `{defense}` | {cells[1]['mean_l1']:.3f} | {' | '.join(shown)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    found = sorted(json.loads(RESULTS.read_text()), key=lambda row: (row["dataset"], row["model"]))
    draw(found).savefig(PICTURE, metadata={"Software": None})
    print(tables(found))
