"""How large a Parquet file's pages become, from the headers before each: the footer may say what it likes.

A page header is a Thrift struct in compact encoding; its fields 2 and 3 are the sizes after and before unpacking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

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
