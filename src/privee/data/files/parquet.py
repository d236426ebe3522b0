"""Open and read Parquet files within bounds, told by what the file says of itself before its values are unpacked.

How large a Parquet file's pages become, from the headers before each: the footer may say what it likes.

A page header is a Thrift struct in compact encoding; its fields 2 and 3 are the sizes after and before unpacking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as arrow_parquet

from privee.data.files.size_limits import MOST_COLUMNS, refuse_more, refuse_wide
from privee.errors import PriveeError

MARK = b"PAR1"  # at the end of every Parquet file
MOST_FOOTER = 64 << 20
NUMBER = 8  # bytes of a number


class Pages(NamedTuple):
    """What unpacking takes: of all pages together, and of one page of each column at a time."""

    together: int
    at_once: int


@contextmanager
def bounded(path: Path, **options: Any) -> Iterator[Any]:
    """A Parquet file, open, that has no more columns and no longer description than a table can have."""
    with path.open("rb") as raw:
        raw.seek(max(0, path.stat().st_size - 8))
        footer, mark = int.from_bytes(raw.read(4), "little"), raw.read(4)
    if mark == MARK and footer > MOST_FOOTER:
        raise PriveeError(f"{path.name} is damaged, or describes itself in more than {MOST_FOOTER >> 20} MB")
    try:
        file = arrow_parquet.ParquetFile(path, thrift_container_size_limit=2 * MOST_COLUMNS, **options)
    except OSError as error:
        if "size limit" in str(error):
            refuse_wide(2 * MOST_COLUMNS, path.name)
        raise
    with file:
        refuse_wide(file.metadata.num_columns, path.name)
        yield file


def unpacked(path: Path, metadata: Any, columns: Sequence[str] | None = None) -> Pages:
    """From the headers of all pages of these columns (of all if None)."""
    together = at_once = 0
    with path.open("rb") as raw:
        for group in range(metadata.num_row_groups):
            largest = 0
            for chunk in _chunks(metadata.row_group(group), columns):
                start = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
                sizes = [page.unpacked for page in pages(raw, start, start + chunk.total_compressed_size)]
                together += sum(sizes)
                largest += sum(sorted(sizes)[-2:])  # a dictionary and a page of data
            at_once = max(at_once, largest)
    return Pages(together, at_once)


def read_bounded(path: Path, columns: Sequence[str] | None = None, **options: Any) -> Any:
    """A table with the types that the file gives it, or an error before its values take too much memory."""
    with bounded(path, **options) as file:
        metadata, schema = file.metadata, file.schema_arrow
    refuse_more(unpacked(path, metadata, columns).together, path.name)
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    values = sum(chunk.num_values for group in groups for chunk in _chunks(group, columns))
    refuse_more(NUMBER * values, path.name)
    text = [field.name for field in schema if _is_text(field.type)]
    with bounded(path, read_dictionary=text, **options) as file:  # a text that is there often is held once, so far
        table = file.read(columns=None if columns is None else list(columns))
    refuse_more(NUMBER * values + sum(map(text_bytes, table.columns)), path.name)
    kept = [k for k, name in enumerate(schema.names) if columns is None or name in columns]
    return table.cast(pa.schema([schema.field(k) for k in kept], metadata=schema.metadata))


def text_bytes(column: Any) -> int:
    """How long the texts of a coded column are, written out."""
    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    lengths = (pc.take(pc.cast(pc.binary_length(one.dictionary), pa.int64()), one.indices) for one in chunks)
    return sum(pc.sum(one).as_py() or 0 for one in lengths)


def _chunks(group: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    for k in range(group.num_columns):
        chunk = group.column(k)
        if not chunk.num_values:
            continue  # of an empty one nothing is read, and its places mean nothing
        if columns is None or chunk.path_in_schema.split(".")[0] in columns or chunk.path_in_schema in columns:
            yield chunk


def _is_text(kind: Any) -> bool:
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(check(kind) for check in checks)


FIRST_READ, SECOND_READ = 1 << 10, 1 << 22
MOST_LISTED = 1000
MOST_PAGES = 2_000_000
DEEPEST = 16


class Page(NamedTuple):
    """Bytes of a page once unpacked, and where the next one begins."""

    unpacked: int
    end: int


def pages(file: BinaryIO, start: int, end: int) -> Iterator[Page]:
    """The pages of a column chunk that lies between these places."""
    for _ in range(MOST_PAGES):
        if start >= end:
            return
        page = _page(file, start)
        yield page
        start = page.end
    raise ValueError(f"a column has more than {MOST_PAGES:,} pages")


def _page(file: BinaryIO, start: int) -> Page:
    for most in (FIRST_READ, SECOND_READ):
        file.seek(start)
        header = _Compact(file.read(most))
        try:
            sizes = header.struct()
            unpacked, packed = sizes[2], sizes[3]
        except (IndexError, KeyError):
            continue
        if unpacked >= 0 and packed >= 0:
            return Page(unpacked, start + header.place + packed)
        break
    raise ValueError("a page has no readable header")


class _Compact:
    """Reads over values in Thrift's compact encoding; keeps the whole numbers of the outermost struct."""

    def __init__(self, text: bytes) -> None:
        self._text, self.place = text, 0

    def struct(self, depth: int = 0) -> dict[int, int]:
        numbers, field = {}, 0
        while (head := self._byte()) != 0:
            kind, step = head & 15, head >> 4
            field = field + step if step else self._number()
            if kind in (4, 5, 6):
                numbers[field] = self._number()
            else:
                self._skip(kind, depth)
        return numbers

    def _skip(self, kind: int, depth: int, *, listed: bool = False) -> None:
        if depth > DEEPEST:
            raise KeyError(kind)
        if kind in (1, 2):
            self.place += listed  # in a list a byte, in a struct part of the head
        elif kind in (4, 5, 6):
            self._varint()
        elif kind in (3, 7):
            self.place += 1 if kind == 3 else 8
        elif kind == 8:
            length = self._varint()
            self.place += length
        elif kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > MOST_LISTED:
                raise KeyError(count)
            for _ in range(count):
                self._skip(head & 15, depth + 1, listed=True)
        elif kind == 12:
            self.struct(depth + 1)
        else:
            raise KeyError(kind)
        if self.place > len(self._text):
            raise IndexError

    def _byte(self) -> int:
        self.place += 1
        return self._text[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise KeyError(shift)

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
