"""Write one array of scores or releases with names, for programs that have it in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from privee.atomic import whole_file
from privee.data.score_files.blocks import Block
from privee.data.score_files.formats import kind_of
from privee.data.score_files.tables import TableWriter
from privee.errors import PriveeError
from privee.scores.forms import Floats


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
    kind = kind_of(path)
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
