"""The ids that all parties hold, as a party keeps them: what it answers for, and nothing else.

In a party's folder they are `aligned.parquet`: one column of text, called as the id column of its table. A random salt
in the file's metadata keeps its checksum, which others may see, from confirming a guess of the list.
"""

from __future__ import annotations

import bisect
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as arrow_parquet
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.data.tables.reading import read_ids

ALIGNED = "aligned.parquet"


class AlignedIds:
    """A set of ids for millions of them: their bytes in one piece, sorted, and eight bytes beside each."""

    def __init__(self, ids: Any) -> None:
        """From an Arrow column of text."""
        whole = pc.cast(ids, pa.large_binary())
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        self._ids = whole.take(pc.sort_indices(whole))
        _, places, held = self._ids.buffers()
        self._places = np.frombuffer(places, np.int64, len(self._ids) + 1, offset=8 * self._ids.offset)
        self._bytes = memoryview(held if held is not None else b"")

    @classmethod
    def read(cls, path: Path, columns: Sequence[str]) -> AlignedIds:
        """From a CSV or Parquet file; the first of these columns that it has holds the ids."""
        return cls(read_ids(path, columns))

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, entity: str) -> bool:
        wanted = entity.encode()
        place = bisect.bisect_left(range(len(self)), wanted, key=self._at)
        return place < len(self) and self._at(place) == wanted

    def mask(self, entities: Sequence[str]) -> NDArray[np.bool_]:
        """Which of these are among them."""
        return np.fromiter((entity in self for entity in entities), bool, len(entities))

    def _at(self, place: int) -> bytes:
        return bytes(self._bytes[self._places[place] : self._places[place + 1]])


def write_aligned(path: Path, ids: Sequence[str], column: str) -> None:
    """Write the ids for their owner's eyes alone, whole or not at all, making the folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([(column, pa.large_string())], metadata={"salt": secrets.token_hex(16)})
    with whole_file(path, force=True) as partial:
        partial.chmod(0o600)  # before anything is in it
        arrow_parquet.write_table(pa.table([pa.array(ids, pa.large_string())], schema=schema), partial)
