"""The frontier as tables: means over seeds with 95 % intervals."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from privee.theory import half_width


def grouped(cells: dict[str, dict[str, Any]]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Cells by dataset and seal."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for key, cell in cells.items():
        dataset, _, rest = key.partition(", ")
        found[dataset][rest.rpartition(", ")[0]].append(cell)
    return found


def mean(cells: list[dict[str, Any]], name: str) -> tuple[float, float] | None:
    """Mean and half of the interval's width; None where there is no figure."""
    values = [cell[name] for cell in cells if cell.get(name) is not None]
    if not values:
        return None
    return float(np.mean(values)), float(half_width(values)) if len(values) > 1 else float("nan")


def figure(found: tuple[float, float] | None, form: str) -> str:
    """`0.95 (0.01)`."""
    if found is None:
        return "-"
    return form.format(found[0]) + ("" if np.isnan(found[1]) else f" ({form.format(found[1])})")


HEAD = (
    "| seal | accuracy | AUC | left, all private columns | left, the one told best | seeds |\n|---|---|---|---|---|---|"
)
PAGE = Path(__file__).parents[2] / "docs" / "sealed_parties.md"
START, END = "<!-- frontier: made by benchmarks/sealed_frontier.py --page -->", "<!-- end -->"


def table(seals: dict[str, list[dict[str, Any]]]) -> str:
    """Of one dataset."""
    lines = [HEAD]
    for spec, some in seals.items():
        row = [figure(mean(some, "accuracy"), "{:.1%}"), figure(mean(some, "auc"), "{:.3f}")]
        row += [figure(mean(some, name), "{:.2f}") for name in ("left", "worst")]
        columns = {str(cell["column"]) for cell in some if "column" in cell}
        named = f" ({', '.join(sorted(columns))})" if len(columns) == 1 else ""
        again = [mean(some, f"{name}_asked_ten_times") for name in ("left", "worst")]
        if again[0] is not None:
            row[2] += f"; asked ten times, chosen: {figure(again[0], '{:.2f}')}"
            row[3] += f"; {figure(again[1], '{:.2f}')}"
        lines.append(f"| {spec} | {' | '.join(row)}{named} | {len(some)} |")
    return "\n".join(lines)


def show(cells: dict[str, dict[str, Any]]) -> None:
    """Print one table per dataset."""
    for dataset, seals in grouped(cells).items():
        print(f"\n{dataset}\n{table(seals)}")


def write_page(cells: dict[str, dict[str, Any]]) -> None:
    """Put the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END, 1)[1]
    made = "\n\n".join(f"**{dataset}**\n\n{table(seals)}" for dataset, seals in grouped(cells).items())
    PAGE.write_text(f"{before}{START}\n{made}\n{END}{after}", encoding="utf-8")
