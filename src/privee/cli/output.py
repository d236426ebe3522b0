"""Where commands write: results to standard output, everything else to standard error; and how they stop in order."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from privee.errors import PriveeError


class InterruptedByUserError(PriveeError):
    """The user pressed Ctrl-C; the message says how to go on."""


out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_error(message: str) -> None:
    """Write an error as one clear line."""
    print(f"privee: {' '.join(message.split())}", file=sys.stderr)


def warn_of_formulas(count: int) -> None:
    """A CSV file was written that does more in a spreadsheet than show what it holds."""
    if count:
        words = f"{count:,} ids or names begin like a formula; before a spreadsheet opens the file, use --spreadsheet"
        print(f"privee: {words}", file=sys.stderr)


@contextmanager
def progress_bar(text: str) -> Iterator[Any]:
    """A bar with time left on a terminal, silence elsewhere; call what it yields with (done, size[, new text])."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with ProgressBar(*columns, console=err, disable=not err.is_terminal, transient=True) as bar:
        task = bar.add_task(text, total=None)

        def update(done: int, size: int, words: str = text) -> None:
            bar.update(task, completed=done, total=size, description=words)

        yield update


def stop_in_order() -> None:
    """On SIGTERM, or when the terminal is closed: leave by the usual way out, which ends what was started."""
    for which in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, lambda number, _: sys.exit(128 + number))
