"""Scores in Parquet, a block at a time, whatever the file makes of its few bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from privee.data.files.parquet import bounded, text_bytes, unpacked
from privee.data.files.size_limits import refuse_absurd, refuse_more
from privee.data.score_files.blocks import BYTES_PER_BLOCK, Block
from privee.data.score_files.csv_scores import make_block
from privee.errors import PriveeError
from privee.scores.columns import choose_columns

TEXT_PER_BLOCK = 1 << 24


class ParquetReader:
    """A Parquet file; kept columns keep their types."""

    score_names: list[str] | None
    column_order: list[str] | None
    one_vector = False

    def __init__(self, path: Path, keep: Sequence[str], scores: Sequence[str]) -> None:
        self._path, self._packed = path, path.stat().st_size
        try:
            with bounded(path) as file:
                metadata, self._schema = file.metadata, file.schema_arrow
            refuse_more(unpacked(path, metadata).at_once, path.name)
            names = list(self._schema.names)
            self._columns = choose_columns(names, keep, scores)
            text = [name for name in self._columns.kept if _is_text(self._schema.field(name).type)]
            # Arrow's default reads the whole file ahead; the first two make it a stream. Text is held once, not in
            # every row, until it is known how much it is.
            self._file = arrow_parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20, read_dictionary=text)
        except PriveeError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            raise PriveeError("this is not a readable Parquet file") from None
        self.column_order, self.score_names = names, self._columns.scores
        self.width = len(self._columns.scores)
        self.size, self.done = metadata.num_rows, 0
        refuse_absurd(8 * len(names) * self.size, self._packed, path.name)

    def blocks(self) -> Iterator[Block]:
        rows = max(1, BYTES_PER_BLOCK // (8 * max(1, len(self._columns.scores))))
        with self._file:
            try:
                for batch in self._file.iter_batches(batch_size=rows):
                    for part in self._parts(batch):
                        self.done += part.num_rows
                        yield make_block(part, self._columns)
            except PriveeError:
                raise
            except (pa.ArrowException, OSError):
                raise PriveeError("the Parquet file is damaged") from None

    def _parts(self, batch: Any) -> Iterator[Any]:
        """Rows with their types; fewer at a time where their text is long."""
        text = sum(map(text_bytes, batch.columns))
        if text > TEXT_PER_BLOCK and batch.num_rows > 1:
            refuse_absurd(text, self._packed, self._path.name)
            half = batch.num_rows // 2
            yield from self._parts(batch.slice(0, half))
            yield from self._parts(batch.slice(half))
        else:
            yield batch.cast(self._schema)


def parquet_names(path: Path) -> list[str]:
    """The names of a Parquet file's columns."""
    try:
        with bounded(path) as file:
            return list(file.schema_arrow.names)
    except PriveeError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise PriveeError("this is not a readable Parquet file") from None


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
