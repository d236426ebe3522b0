"""The ids that all parties hold, as a party keeps them: what it answers for, and nothing else.

In a party's folder they are `aligned.parquet`: one column of text, called as the id column of its table. A random salt
in the file's metadata keeps its checksum, which others may see, from confirming a guess of the list.
"""

from __future__ import annotations

import bisect
import dataclasses
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as arrow_parquet
from numpy.typing import NDArray

from privee.atomic import whole_file
from privee.data.files.arrow import read_table
from privee.data.tables.cells import ids_of

ALIGNED = "aligned.parquet"


def read_ids(path: Path, columns: Sequence[str]) -> Any:
    """The ids of a file as an Arrow column of text: of the first of these columns that it has. Others are not read."""
    table = read_table(path, columns).table
    (name,) = table.column_names
    return ids_of(table.column(name), f"column {name!r} of {path.name}")


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


@dataclasses.dataclass(frozen=True)
class AlignedList:
    """What `write_aligned` is to write of a party, once there is a folder for it."""

    column: str
    ids: Sequence[str] = dataclasses.field(repr=False)
    of: Sequence[str] | None = dataclasses.field(default=None, repr=False)
    alignment: str = ""

    def write(self, path: Path) -> None:
        """Write it."""
        write_aligned(path, self.ids, self.column, of=self.of, alignment=self.alignment)


def write_aligned(
    path: Path, ids: Sequence[str], column: str, *, of: Sequence[str] | None = None, alignment: str = ""
) -> None:
    """Write the ids for their owner's eyes alone, whole or not at all, making the folder if needed.

    Args:
        path: the file.
        ids: those that all parties hold, in the common order.
        column: the party's id column.
        of: all ids of the party's table; then the alignment can be used again for a table with the same ones.
        alignment: a random name of the alignment, the same at every party.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"salt": secrets.token_hex(16)}
    if of is not None:
        about |= {"alignment": alignment, "table": digest_of(of, about["salt"])}
    schema = pa.schema([(column, pa.large_string())], metadata=about)
    with whole_file(path, force=True, private=True) as partial:
        arrow_parquet.write_table(pa.table([pa.array(ids, pa.large_string())], schema=schema), partial)


def digest_of(ids: Iterable[str], salt: str) -> str:
    """A keyed digest of a set of ids, whatever their order; without the salt it confirms no guess."""
    keyed = hmac.new(bytes.fromhex(salt), digestmod=hashlib.sha256)
    for one in sorted(value.encode() for value in ids):
        keyed.update(len(one).to_bytes(8, "big") + one)
    return keyed.hexdigest()
