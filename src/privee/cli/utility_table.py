"""What scores are worth, as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from privee.cli.output import out

COLUMNS = {
    "accuracy": ("accuracy", "{:.1%}"),
    "balanced_accuracy": ("balanced accuracy", "{:.1%}"),
    "f1": ("F1", "{:.3f}"),
    "auc": ("AUC", "{:.3f}"),
    "average_precision": ("average precision", "{:.3f}"),
    "brier": ("Brier", "{:.3f}"),
    "calibration_error": ("calibr. error", "{:.3f}"),
}


def print_utilities(utilities: Mapping[str, Mapping[str, Any]], positive_class: str | None = None) -> None:
    """One row for each; a dash where there is no figure. With two classes, say which one F1 and order are about."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for header, _ in COLUMNS.values():
        table.add_column(header.replace(" ", "\n"), justify="right", vertical="bottom")
    for name, utility in utilities.items():
        table.add_row(name, *(_figure(utility[key], form) for key, (_, form) in COLUMNS.items()))
    out.print(table)
    if positive_class is not None:
        out.print(f"F1, AUC and average precision: of class {positive_class}", markup=False)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
