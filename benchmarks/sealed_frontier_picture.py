"""A picture of benchmarks/results/sealed_frontier.json: accuracy against what an attacker without limits learns.

python benchmarks/sealed_frontier_picture.py [--out docs/images/sealed_frontier.svg]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._sealed.tables import grouped, mean

RESULTS = Path(__file__).parent / "results" / "sealed_frontier.json"
OUT = Path(__file__).parents[1] / "docs" / "images" / "sealed_frontier.svg"
KINDS = (
    ("sealed, learned with the task", "o", "#1b6ca8", lambda s: s.startswith("codes") and "," not in s),
    ("the same, with epsilon", "s", "#e07a1f", lambda s: "epsilon" in s and s.startswith("codes") and "own" not in s),
    ("sealed, from own columns alone", "^", "#2a9d5c", lambda s: s.startswith("codes") and s.endswith("learn=own")),
    ("signs (HashVFL)", "D", "#8a5fb0", lambda s: s.startswith("signs")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    found = grouped(json.loads(RESULTS.read_text())["cells"])
    figure, axes = plt.subplots(1, len(found), figsize=(3.3 * len(found), 3.7), constrained_layout=True)
    for axis, (dataset, seals) in zip(axes, found.items(), strict=True):
        for label, marker, colour, chosen in KINDS:
            points = [(mean(c, "left"), mean(c, "accuracy"), s) for s, c in seals.items() if chosen(s)]
            points = [(x[0], y[0], s) for x, y, s in points if x is not None and y is not None]
            places = list(zip(*[point[:2] for point in points], strict=True)) or [(), ()]
            axis.scatter(*places, marker=marker, color=colour, s=26, label=label)
            for x, y, spec in points:
                if spec in ("codes=8", "codes=16", "codes=4,epsilon=4", "codes=8,epsilon=1"):
                    short = spec.replace("codes=", "").replace(",epsilon=", ", ε ")
                    axis.annotate(short, (x, y), xytext=(3, 4), textcoords="offset points", fontsize=7)
        _lines(axis, seals)
        axis.set_title(dataset, fontsize=10)
        axis.set_xlabel("left to an attacker without limits\n(1: nothing was learned)", fontsize=8)
        axis.set_xlim(0, 1.03)
        axis.tick_params(labelsize=7)
    axes[0].set_ylabel("accuracy", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(given.out, metadata={"Date": None})
    print(given.out)


def _lines(axis: plt.Axes, seals: dict) -> None:
    """What the model is worth without a seal, and without the passive party."""
    for spec, words, style in (("unsealed", "not sealed", "-"), ("own columns", "own columns alone", ":")):
        level = mean(seals.get(spec, []), "accuracy")
        if level is not None:
            axis.axhline(level[0], color="#777777", linestyle=style, linewidth=0.9, label=words)
    plain = [mean(seals.get("unsealed", []), name) for name in ("left", "accuracy")]
    if plain[0] and plain[1]:
        axis.scatter([plain[0][0]], [plain[1][0]], marker="o", color="#222222", s=26, label="not sealed: the embedding")
    once, ten = (mean(seals.get("ordered-dp:epsilon=4", []), name) for name in ("left", "left_asked_ten_times"))
    level = mean(seals.get("ordered-dp:epsilon=4", []), "accuracy")
    if once and ten and level:
        axis.annotate("", (ten[0], level[0]), (once[0], level[0]), arrowprops={"arrowstyle": "->", "color": "#c0392b"})
        axis.scatter([once[0]], [level[0]], marker="x", color="#c0392b", s=26, label="Ordered-DP: once → ten chosen")


if __name__ == "__main__":
    main()
