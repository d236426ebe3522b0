"""Which format a file has: one table of suffixes, for every command that reads or writes files."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from privee.errors import PriveeError, SettingError

SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".npy": "npy"}
TABLES = ("csv", "parquet")


def format_of(path: Path, among: Container[str] = TABLES) -> str:
    """The format of a file, from its suffix: one of those that are of use here.

    Example:
        >>> format_of(Path("bank.TSV"))
        'csv'
    """
    found = SUFFIXES.get(path.suffix.lower(), "")
    if found not in among:
        useful = [suffix for suffix, name in SUFFIXES.items() if name in among]
        raise PriveeError(f"{path.name}: cannot tell the format; use one of {', '.join(useful)}")
    return found


def existing_format(path: Path, among: Container[str] = TABLES) -> str:
    """The format of a file that must be there."""
    found = format_of(path, among)
    if not path.is_file():
        raise PriveeError(f"{path}: no such file")
    return found


def delimiter_of(path: Path, given: str = "") -> str:
    """What parts the cells of a CSV file: what was asked for, a tab in .tsv, a comma otherwise."""
    if len(given) > 1:
        raise SettingError(f"the delimiter must be one character, got {given!r}")
    return given or ("\t" if path.suffix.lower() == ".tsv" else ",")
