"""Small tables for notebooks, as HTML: no script, no style sheet, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

CELL = "text-align:left;vertical-align:top;padding:0.25em 0.8em;white-space:normal;max-width:44em"

Cell = str | Sequence[str]
"""A text, or several, one under the other."""


def html_table(title: str, rows: Iterable[Sequence[Cell]], *, header: Sequence[str] = ()) -> str:
    """A table under a title; without a header, the first cell of each row is one.

    Example:
        >>> html_table("a & b", [("x", ["1", "2"])]).count("<td")
        1
    """
    top = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in header)
    head = f"<thead><tr>{top}</tr></thead>" if top else ""
    body = "".join(f"<tr>{''.join(_cell(cell, first=k == 0) for k, cell in enumerate(row))}</tr>" for row in rows)
    caption = f'<caption style="text-align:left;padding:0.4em 0.8em"><strong>{escape(title)}</strong></caption>'
    return f'<table style="border-collapse:collapse">{caption}{head}<tbody>{body}</tbody></table>'


def _cell(cell: Cell, *, first: bool) -> str:
    lines = [cell] if isinstance(cell, str) else list(cell)
    tag, scope = ("th", ' scope="row"') if first else ("td", "")
    return f'<{tag}{scope} style="{CELL}">{"<br>".join(map(escape, lines))}</{tag}>'
