"""docs/images/growth.svg: six panels, size from left to right on a scale of powers of ten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._growth.growth_page import Cells, by
from benchmarks._growth.markdown import stored

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "growth.svg"
COLOURS = {"SQLite": "#0072b2", "PostgreSQL": "#b84a00"}
FAMILIES = {"PRIVEE-U": "#b84a00", "PRIVEE-U+": "#8a6d00", "Ordered-DP": "#0072b2", "ranking-only": "#007a59"}
Value = Callable[[dict[str, Any]], float]


def line(axes: Axes, found: Iterable[dict[str, Any]], size: str, value: Value, label: str, **style: Any) -> None:
    points = [(cell[size], value(cell)) for cell in found]
    if points:
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, linewidth=1.4, label=label, **style)


def charges(axes: Axes, cells: Cells) -> None:
    for kind, colour in COLOURS.items():
        found = by(cells, f"ledger, {kind}", "entities")
        line(axes, found, "entities", lambda c: c["charge"]["cpu_ms"], f"{kind}, one", color=colour)
        many = f"{kind}, 1,024 at once"
        line(axes, found, "entities", lambda c: c["charge_1024"]["cpu_ms"], many, color=colour, linestyle="--")
    axes.set(title="A charge", xlabel="entities in the ledger", ylabel="CPU, ms")


def listings(axes: Axes, cells: Cells) -> None:
    for kind, colour in COLOURS.items():
        found = by(cells, f"ledger, {kind}", "entities")
        words = f"{kind}, {'from an index' if kind == 'PostgreSQL' else 'reads the table'}"
        line(axes, found, "entities", lambda c: c["near_limit"]["cpu_ms"], words, color=colour)
        alone = f"{kind}, one price"
        line(axes, found, "entities", lambda c: c["price"]["cpu_ms"], alone, color=colour, linestyle=":")
    axes.set(title="Ten entities near their limit; a price", xlabel="entities in the ledger", ylabel="CPU, ms")


def room(axes: Axes, cells: Cells) -> None:
    for kind, colour in COLOURS.items():
        found = by(cells, f"ledger, {kind}", "entities")
        line(axes, found, "entities", lambda c: c["bytes"]["all"] / 1e6, kind, color=colour)
    axes.set(title="A ledger on disk", xlabel="entities in the ledger", ylabel="MB")


def releases(axes: Axes, cells: Cells) -> None:
    for name, colour in FAMILIES.items():
        found = by(cells, f"releases, {name}", "classes")
        line(axes, found, "classes", lambda c: c["ns_per_value"], name, color=colour)
    found = by(cells, "releases, PRIVEE-U", "classes")
    line(axes, found, "classes", lambda c: c["argsort_ns_per_value"], "np.argsort", color="#52606d", linestyle="--")
    axes.set(title="A release", xlabel="classes", ylabel="CPU per score, ns")


def files(axes: Axes, cells: Cells) -> None:
    for kind, colour in zip(("parquet", "csv"), COLOURS.values(), strict=True):
        found = by(cells, f"protect, {kind}", "rows")
        line(axes, found, "rows", lambda c: c["peak_mb"], f"{kind}, peak memory, MB", color=colour)
        line(axes, found, "rows", lambda c: c["cpu"], f"{kind}, CPU, s", color=colour, linestyle="--")
    axes.set(title="privee protect", xlabel="rows in the file", ylabel="MB, or seconds")


def parties(axes: Axes, cells: Cells) -> None:
    local = by(cells, "one process, mlp", "parties")
    line(axes, local, "parties", lambda c: c["step_cpu_ms"], "training step, CPU", color="#0072b2")
    line(
        axes, local, "parties", lambda c: c["plain_cpu_ms"], "the same, plain PyTorch", color="#52606d", linestyle="--"
    )
    line(axes, local, "parties", lambda c: c["prediction_cpu_ms"], "1,024 predictions, CPU", color="#007a59")
    apart = by(cells, "simulated, logistic", "parties")
    line(axes, apart, "parties", lambda c: 1e3 * c["step"], "step across processes, clock", color="#b84a00")
    axes.set(title="Parties", xlabel="parties", ylabel="ms", xticks=[2, 3, 5, 10, 25], xticklabels=[2, 3, 5, 10, 25])
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())


def draw(cells: Cells) -> Figure:
    figure = Figure(figsize=(11.5, 7.2), layout="constrained")
    grid = figure.subplots(2, 3)
    for axes, panel in zip(grid.flat, (charges, listings, room, releases, files, parties), strict=True):
        axes.set(xscale="log", yscale="log")
        panel(axes, cells)
        axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.grid(color="#e4e7eb", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(axes.get_title(), loc="left", fontsize=10, fontweight="bold")
        axes.set_title("")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.35)  # room for the names above the lines
        axes.legend(fontsize=7, frameon=False, loc="upper left")
        axes.tick_params(labelsize=8)
    return figure


def write() -> None:
    with mpl.rc_context({"svg.hashsalt": "growth"}):
        draw(stored("growth")["cells"]).savefig(PICTURE, metadata={"Date": None})
