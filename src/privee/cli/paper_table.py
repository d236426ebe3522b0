"""A result of the paper as a table: three digits and what fits the terminal, or everything."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from privee.cli.output import folded, out, print_wide

if TYPE_CHECKING:
    from privee.paper import Outcome, Row, Value

SPEC = 20
"""Where a spec goes on in the next line; what is narrower is never broken."""
NAMED = 8
"""So many figures that do not fit are named."""


def print_table(outcome: Outcome, *, wide: bool) -> None:
    """The rows; unless wide, what is the same in all of them stands above, and what does not fit is named below."""
    outcome = _parts_in_a_column(outcome)
    names = list(dict.fromkeys(name for row in outcome.rows for name in row.measured))
    if wide:
        print_wide(_wide(outcome, names))
        return
    out.print(f"{outcome.title} ({outcome.size}; {outcome.band})", markup=False)
    same = _same(outcome.rows)
    if same:
        out.print(", ".join(f"{_words(name)}: {value}" for name, value in same.items()), markup=False)
    shown = _print_narrow(outcome.rows, names, [name for name in outcome.rows[0].where if name not in same])
    left = [_words(name) for name in names if name not in shown]
    also = [*left, *(["intervals"] if _banded(outcome.rows) else []), *(["notes"] if _noted(outcome.rows) else [])]
    if also:
        more = f" and {len(also) - NAMED} others" if len(also) > NAMED + 1 else ""
        shown_names = also[:NAMED] if more else also
        out.print(f"Not shown: {', '.join(shown_names)}{more}; --wide shows all of it.", markup=False)


def _parts_in_a_column(outcome: Outcome) -> Outcome:
    """With one combination of parts in each row its name stands in the row, not above a column of its own."""
    rows = outcome.rows
    if outcome.name != "as-released" or any(len(row.measured) != 1 for row in rows):
        return outcome

    def turned(row: Row) -> Row:
        ((parts, value),) = row.measured.items()
        return dataclasses.replace(row, where={**row.where, "parts on": parts}, measured={"loss": value})

    return dataclasses.replace(outcome, rows=tuple(map(turned, rows)))


def _same(rows: Sequence[Row]) -> dict[str, str]:
    """What of the places of the rows is the same in all of them, where there is more than one row."""
    if len(rows) < 2:
        return {}
    first = rows[0].where
    return {name: _place(value) for name, value in first.items() if all(row.where[name] == value for row in rows)}


def _print_narrow(rows: Sequence[Row], names: Sequence[str], places: Sequence[str]) -> Sequence[str]:
    """The table that fits, and which figures it has: first places become headings between rows, then figures go."""

    def width(count: int, above: int) -> int:
        table = _narrow(rows, names[:count], places, above)
        return out.measure(table, options=out.options.update(width=1000)).maximum

    most = min(len(names), max(1, out.width // 3))  # a figure and a blank take three columns at the very least
    above = next((above for above in range(len(places)) if width(most, above) <= out.width), max(0, len(places) - 1))
    fitting = bisect_right(range(1, most + 1), out.width, key=lambda count: width(count, above))
    shown = names[: max(1, fitting)]
    out.print(_narrow(rows, shown, places, above))
    return shown


def _narrow(rows: Sequence[Row], names: Sequence[str], places: Sequence[str], above: int) -> Table:
    """The first places, so many of them, stand in rows of their own where they change."""
    printed = [name for name in names if any(name in row.printed for row in rows)]
    heads, places, before = places[:above], places[above:], [""]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in places:
        table.add_column(_heading(name), overflow="fold")
    for name in names:
        table.add_column(_heading(name), justify="right", no_wrap=True, vertical="top")
    for name in printed:
        table.add_column(f"printed\n{_heading(name)}", justify="right", style="dim", no_wrap=True)
    for row in rows:
        head = [("" if isinstance(row.where[n], str) else f"{_words(n)} ") + _place(row.where[n]) for n in heads]
        if heads and head != before:
            table.add_row(Text(folded(", ".join(head), SPEC), style="bold"))
        before = head
        where = [folded(_place(row.where[name]), SPEC) for name in places]
        ours = [_figure(name, row.measured.get(name)) for name in names]
        table.add_row(*where, *ours, *(_figure(name, row.printed.get(name)) for name in printed))
    return table


def _wide(outcome: Outcome, names: Sequence[str]) -> Table:
    printed = [name for name in names if any(name in row.printed for row in outcome.rows)]
    table = Table(title=f"{outcome.title} ({outcome.size}; {outcome.band})", title_justify="left")
    for name in outcome.rows[0].where:
        table.add_column(name)
    for name in names:
        table.add_column(_words(name), justify="right")
    for name in printed:
        table.add_column(f"printed {_words(name)}", justify="right", style="dim")
    noted = _noted(outcome.rows)
    if noted:
        table.add_column("note")
    for row in outcome.rows:
        ours = [_figure(name, row.measured.get(name), band=True) for name in names]
        theirs = [_figure(name, row.printed.get(name), band=True) for name in printed]
        table.add_row(*map(_place, row.where.values()), *ours, *theirs, *([row.note] if noted else []))
    return table


def _banded(rows: Sequence[Row]) -> bool:
    return any(value.low is not None for row in rows for value in row.measured.values())


def _noted(rows: Sequence[Row]) -> bool:
    return any(row.note for row in rows)


def _place(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)


def _figure(name: str, value: Value | None, *, band: bool = False) -> str:
    if value is None:
        return "-"
    size, unit = _unit(value.value) if name == "seconds" else (1.0, "")
    ends = [] if value.low is None or value.high is None else [value.low / size, value.high / size]
    around = f" ({ends[0]:.3g} to {ends[1]:.3g})" if ends and band else ""
    return f"{value.value / size:.3g}{unit}{around}"


def _unit(seconds: float) -> tuple[float, str]:
    units = ((3600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"))
    return next((unit for unit in units if seconds >= unit[0]), (1e-6, " µs"))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _heading(name: str) -> str:
    return name.replace("_", "\n")
