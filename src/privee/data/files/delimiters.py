"""What parts the cells of a CSV file: what was asked for, what the file is called, or what its first rows agree on."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path

from privee.data.files.formats import delimiter_of, unpacked_name

NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE, SAMPLE_ROWS = 1 << 16, 50


def find_delimiter(path: Path, given: str, start: bytes) -> str:
    """What parts the cells.

    Args:
        path: the file, of which only the name is looked at.
        given: what was asked for; empty to find it.
        start: how its text begins, in UTF-8; of a longer text, more than the sample that is looked at.
    """
    named = delimiter_of(unpacked_name(path), given)
    return named if given or named != "," else _agreed(start[:SAMPLE], len(start) > SAMPLE)


def _agreed(start: bytes, cut: bool) -> str:
    """What gives every row as many cells as the header has; else what the header has most of; else a comma."""
    sample = start.decode("utf-8", "replace")
    widths = {one: _width(sample, one, cut) for one in NAMES}
    if any(widths.values()):
        return max(widths, key=lambda one: widths[one])
    head = sample.partition("\n")[0]
    return max(NAMES, key=head.count)


def _width(sample: str, delimiter: str, cut: bool) -> int:
    """How many cells every row has; 0 where rows differ or have one cell alone."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        rows = list(itertools.islice(reader, SAMPLE_ROWS + 1))
    except csv.Error:
        return 0
    if cut and len(rows) <= SAMPLE_ROWS:
        rows = rows[:-1]  # it may go on after the sample
    widths = {len(row) for row in rows if row}
    return widths.pop() if len(widths) == 1 and max(widths) > 1 else 0
