"""Where commands write: results to standard output, everything else to standard error; and how they stop in order."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as ProgressBar

from privee.errors import PriveeError
from privee.progress import TimeLeft, about


class InterruptedByUserError(PriveeError):
    """The user pressed Ctrl-C; the message says how to go on."""


SECONDS_BETWEEN_LINES = 10.0
ROOMY = 90
"""From so many columns on, tables show more."""
WIDE = 250
"""Columns that a wide table takes at most."""

Wide = Annotated[bool, typer.Option("--wide", help="All columns, as wide as they are.")]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_line(text: str) -> None:
    """One line, however long: never wrapped, cut or coloured, so that it can be copied."""
    print(text)


def folded(text: str, width: int, after: str = ":,") -> str:
    """Text such as a spec on lines of this width, broken after a colon or comma and never within a setting.

    Example:
        >>> print(folded("privee-u+:rho_low=0.1,rho_high=0.9", 24))
        privee-u+:rho_low=0.1,
        rho_high=0.9
    """
    lines = [""]
    for piece in re.findall(f"[^{after}]*[{after}]?", text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece.lstrip() if not lines[-1] else piece
    return "\n".join(lines)


def print_wide(table: Any) -> None:
    """A table as wide as it wants to be, whatever the width of the terminal."""
    Console(highlight=False, width=max(out.width, WIDE)).print(table)


def print_error(message: str) -> None:
    """Write an error as one clear line."""
    print(f"privee: {' '.join(message.split())}", file=sys.stderr)


def note(line: str) -> None:
    """Write something worth knowing as one line, beside the results."""
    err.print(line, markup=False, soft_wrap=True)


def warn_of_formulas(count: int) -> None:
    """A CSV file was written that does more in a spreadsheet than show what it holds."""
    if count:
        words = f"{count:,} ids or names begin like a formula; before a spreadsheet opens the file, use --spreadsheet"
        print(f"privee: {words}", file=sys.stderr)


@contextmanager
def progress_bar(text: str) -> Iterator[Any]:
    """A bar with time left on a terminal, a line now and then elsewhere.

    Call what it yields with (done, size[, new text]); a size of None or 0 is not known.
    """
    if not err.is_terminal:
        yield _Lines(text)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}"))
    with ProgressBar(*columns, console=err, transient=True) as bar:
        task, left = bar.add_task(text, total=None, left=""), TimeLeft()

        def update(done: int, size: int | None, words: str = text) -> None:
            bar.update(task, completed=done, total=size, description=words, left=about(left.after(done, size)))

        yield update


class _Lines:
    """Progress for logs: silent at first, then a line every so many seconds."""

    def __init__(self, text: str) -> None:
        self._text, self._said = text, ""
        self._last, self._left = time.monotonic(), TimeLeft()

    def __call__(self, done: int, size: int | None, words: str = "") -> None:
        """So much is done."""
        now, text, left = time.monotonic(), words or self._text, self._left.after(done, size)
        nothing_new = not size and text == self._said
        if now - self._last < SECONDS_BETWEEN_LINES or nothing_new:
            return
        self._last, self._said = now, text
        soon = f", {about(left)}" if left is not None else ""
        share = f": {done:,} of {size:,} ({done / size:.0%})" if size else ""
        print(f"privee: {text}{share}{soon}", file=sys.stderr, flush=True)


def stop_in_order() -> None:
    """On SIGTERM, or when the terminal is closed: leave by the usual way out, which ends what was started.

    What somebody told us to ignore (`nohup`) stays ignored; servers set their own way out later.
    """
    for which in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(which) is signal.SIG_DFL:
            signal.signal(which, lambda number, _: sys.exit(128 + number))
