"""Which format a file has: one table of suffixes, for every command that reads or writes files."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from privee.errors import PriveeError, SettingError
from privee.given import existing_file

SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".npy": "npy"}
TABLES = ("csv", "parquet")
SCORES = (*TABLES, "npy")


def format_of(path: Path, among: Container[str] = TABLES) -> str:
    """The format of a file, from its suffix: one of those that are of use here.

    Example:
        >>> format_of(Path("bank.TSV"))
        'csv'
    """
    found = SUFFIXES.get(path.suffix.lower(), "")
    if found not in among:
        if path.is_dir():
            raise PriveeError(f"{path} is a folder; give a file")
        useful = [suffix for suffix, name in SUFFIXES.items() if name in among]
        raise PriveeError(f"{path.name}: cannot tell the format; use one of {', '.join(useful)}")
    return found


def existing_format(path: Path, among: Container[str] = TABLES) -> str:
    """The format of a file that must be there."""
    if path.is_dir():
        raise PriveeError(f"{path} is a folder; give a file")
    found = format_of(path, among)
    existing_file(path)
    return found


def unpacked_name(path: Path) -> Path:
    """What a file is called without the .gz of a packed one.

    Example:
        >>> unpacked_name(Path("bank.csv.gz")).name
        'bank.csv'
    """
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def delimiter_of(path: Path, given: str = "") -> str:
    """What parts the cells of a CSV file: what was asked for, a tab in .tsv, a comma otherwise."""
    if len(given) > 1:
        raise SettingError(f"the delimiter must be one character, got {given!r}")
    return given or ("\t" if path.suffix.lower() == ".tsv" else ",")
