"""Whole score or release files: read into memory, and written from an array with names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.data.files.formats import format_of
from privee.data.files.limits import refuse_more
from privee.data.score_files.blocks import Block
from privee.data.score_files.csv_scores import TableWriter
from privee.data.score_files.open_files import FORMATS, column_names, open_reader
from privee.errors import PriveeError
from privee.scores.forms import Floats

CLASS = "class_"
ROW = "row"
"""What `privee predict` calls its columns."""


class Loaded(NamedTuple):
    """The values, and the row numbers beside them if the file has any."""

    values: NDArray[np.float64]
    rows: NDArray[np.int64] | None


def load_scores(path: Path) -> Loaded:
    """Columns called class_* if there are any, otherwise all that do not look like ids."""
    names = column_names(path)
    keep = [name for name in names if not name.startswith(CLASS)] if any(n.startswith(CLASS) for n in names) else []
    blocks, held = [], 0
    for block in open_reader(path, keep=keep).blocks():
        held += block.scores.nbytes
        refuse_more(2 * held, path.name)
        blocks.append(block)
    if not blocks:
        raise PriveeError(f"there are no rows in {path}")
    values = np.concatenate([np.atleast_2d(block.scores) for block in blocks]).astype(np.float64)
    if not np.isfinite(values).all():
        raise PriveeError(f"{path} holds values that are not finite numbers")
    rows = None
    if ROW in keep:
        try:
            rows = np.concatenate([np.array(block.kept[ROW].to_pylist(), dtype=np.int64) for block in blocks])
        except (ValueError, TypeError, OverflowError):
            raise PriveeError(f"{path}: the column {ROW!r} holds something that is not a row number") from None
    return Loaded(values, rows)


def save_scores(
    path: Path,
    scores: Floats,
    *,
    names: Sequence[str],
    ids: tuple[str, Sequence[object]],
    force: bool = False,
    spreadsheet: bool = False,
) -> int:
    """Write scores as CSV, Parquet or .npy (by suffix; .npy has no place for names and ids).

    Returns how many ids and names a spreadsheet would take for formulas.

    Args:
        path: where to write.
        scores: (n, K).
        names: a column name for each class.
        ids: name and values of the id column.
        force: replace an existing file.
        spreadsheet: in CSV, put a quote before those.
    """
    kind = format_of(path, FORMATS)
    id_name, id_values = ids
    if id_name in names:
        raise PriveeError(f"the id column {id_name!r} has the name of a class")
    with whole_file(path, force=force) as partial:
        if kind == "npy":
            with partial.open("wb") as file:
                np.save(file, scores, allow_pickle=False)
            return 0
        order, delimiter = [id_name, *names], "," if kind == "csv" else None
        writer = TableWriter(partial, list(names), order, delimiter, spreadsheet=spreadsheet)
        try:
            writer.write(Block(scores, pa.table({id_name: list(id_values)})))
        finally:
            writer.close()
    return writer.formulas
