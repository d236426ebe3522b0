"""Tables of what was measured of chosen columns."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from privee.audit.cards import estimate
from privee.audit.results import short_number, with_interval

BARS = (
    ("digits", "logistic", 2, 0.010, "<= 0.010"),
    ("digits", "logistic", 5, 0.0005, "<= 0.0005"),
    ("digits", "mlp", 10, 0.5, "below half of the guess"),
)
"""What was to be reached behind ranking-only; a bar of 0.5 is a share of the guess."""


def show(stored: dict[str, Any], counts: tuple[int, ...], wanted: list[tuple[str, str]]) -> None:
    console = Console(width=200)
    for part in ("grid", "swapped"):
        for subject in dict.fromkeys(_subject_of(key) for key in stored.get(part, {})):
            console.print(_table(stored, part, subject, counts))
    if "centres" in stored:
        console.print(_centres(stored["centres"]))
    for line in bars(stored):
        console.print(line)
    missing = [f"{part}: {key}" for part, key in wanted if key not in stored.get(part, {})]
    console.print(f"{len(wanted) - len(missing)} of {len(wanted)} cells are measured")
    for line in missing:
        console.print(f"missing {line}", markup=False)


def bars(stored: dict[str, Any]) -> list[str]:
    """The bars, and whether the attack reaches them."""
    lines = []
    for dataset, model, count, bar, words in BARS:
        mine = _cells(stored, "grid", f"{dataset}, {model}", "ranking-only")
        if not mine or str(count) not in mine[0]["errors"]:
            continue
        found = estimate([cell["errors"][str(count)] for cell in mine])
        guess = estimate([_guess(cell) for cell in mine]).mean
        reached = found.mean <= bar if bar < 0.5 else found.mean < bar * guess
        outcome = f"{'reached' if reached else 'MISSED'}: {with_interval(found)}, guess {short_number(guess)}"
        lines.append(f"bar, {dataset}, {model}, ranking-only after {count} questions {words}: {outcome}")
    return lines


def _table(stored: dict[str, Any], part: str, subject: str, counts: tuple[int, ...]) -> Table:
    cells = _cells(stored, part, subject)
    counts = tuple(count for count in counts if str(count) in cells[0]["errors"])
    accuracy = stored.get("accuracy", {}).get(subject)
    who = ", asked by the passive party" if part == "swapped" else ""
    title = f"{subject}{who}, accuracy {accuracy:.3f}: feature MSE, and what it is of the guess's"
    told = f"told best after {counts[-1]}"
    table = Table("defense", "guess", "honest", *(f"after {count}" for count in counts), told, "seeds", title=title)
    for spec in dict.fromkeys(_spec_of(key) for key in stored[part] if _subject_of(key) == subject):
        mine = _cells(stored, part, subject, spec)
        table.add_row(
            spec,
            short_number(estimate([_guess(cell) for cell in mine]).mean),
            _honest(stored, subject, spec) if part == "grid" else "",
            *(_error(mine, count) for count in counts),
            f"{min(cell['best-told column'][str(counts[-1])]['left'] for cell in mine):.1%} left",
            str(len(mine)),
        )
    return table


def _error(mine: list[dict[str, Any]], count: int) -> str:
    """The mean over seeds with its interval, and what that is of the guess's error."""
    found = estimate([cell["errors"][str(count)] for cell in mine])
    left = found.mean / estimate([_guess(cell) for cell in mine]).mean
    return f"{with_interval(found)}, {'< 0.1%' if left < 0.001 else f'{left:.1%}'}"


def _honest(stored: dict[str, Any], subject: str, spec: str) -> str:
    found = _cells(stored, "honest", subject, spec)
    return short_number(estimate([min(cell.values()) for cell in found]).mean) if found else "-"


def _centres(stored: dict[str, Any]) -> Table:
    (key, found), *_ = stored.items()
    counts = next(iter(found.values()))
    table = Table("estimate", *(f"after {count}" for count in counts), title=f"{key}, ranking-only: feature MSE")
    for name, errors in found.items():
        table.add_row(name, *(f"{error:.1e}" for error in errors.values()))
    return table


def _guess(cell: dict[str, Any]) -> float:
    """The best one that needs no answer."""
    return min(cell["first guess"], cell["regression guess"])


def _cells(stored: dict[str, Any], part: str, subject: str, spec: str | None = None) -> list[dict[str, Any]]:
    return [
        cell
        for key, cell in stored.get(part, {}).items()
        if _subject_of(key) == subject and spec in (None, _spec_of(key))
    ]


def _subject_of(key: str) -> str:
    return ", ".join(key.split(", ")[:2])


def _spec_of(key: str) -> str:
    return key.split(", ")[2]
