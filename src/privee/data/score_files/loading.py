"""Read a whole score or release file into memory: the counterpart of `save_scores`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.data.limits import refuse_more
from privee.data.score_files.formats import column_names, open_reader
from privee.errors import PriveeError

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
