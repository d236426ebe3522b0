"""Ids as commands take them: on the command line, from standard input, or many in a file."""

from __future__ import annotations

import sys
from pathlib import Path

from privee.errors import PriveeError


def one_id(given: str) -> str:
    """The id itself; - reads it from standard input, where no list of processes shows it."""
    entity = sys.stdin.readline().rstrip("\r\n") if given == "-" else given
    if not entity:
        raise PriveeError("give the entity's id, or - and the id on standard input")
    return entity


def some_ids(file: str) -> list[str]:
    """One id per line; empty lines are left out."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise PriveeError(f"cannot read {file} as UTF-8 text with one id per line") from None
    return [line for line in text.splitlines() if line]
