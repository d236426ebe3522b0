"""How a CSV file is written: packed or not, in which encoding, and what parts its cells. The file itself tells.

Nothing is guessed where a guess could go wrong unseen: text that is UTF-8 in one place and not in another is damaged.
"""

from __future__ import annotations

import codecs
import dataclasses
import gzip
import re
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from privee.data.files.delimiters import NAMES, SAMPLE, find_delimiter
from privee.data.files.size_limits import refuse_more
from privee.errors import PriveeError

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""What some programs begin a text with, to say how it is encoded."""
ENCODINGS = {"utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Windows-1252"}
PIECE = 1 << 24
BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
OTHER = re.compile("[\u0080-\ud7ff\ue000-\U0010ffff]")
"""Letters beyond ASCII that were told by UTF-8."""


@dataclasses.dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes:
        delimiter: what parts its cells.
        encoding: as Python calls it.
        mark: whether the text begins with a byte order mark.
        packed: whether the file is packed with gzip.
    """

    delimiter: str
    encoding: str = "utf-8"
    mark: bool = False
    packed: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """What was found, for people."""
        found = [NAMES.get(self.delimiter, repr(self.delimiter))]
        found += [ENCODINGS[self.encoding]] if self.encoding in ENCODINGS else []
        return (*found, *(["BOM"] if self.mark else []), *(["gzip"] if self.packed else []))


def open_text(path: Path, delimiter: str = "") -> tuple[Dialect, Any]:
    """How a CSV file is written, and its text in UTF-8 as an Arrow buffer, without a mark."""
    refuse_more(path.stat().st_size, path.name)
    raw = path.read_bytes()
    if raw.startswith(ZIP):
        raise PriveeError(f"{path.name} is a workbook or a zip archive; save the table as CSV")
    packed = raw.startswith(GZIP)
    raw = _unpacked(path) if packed else raw
    mark = next((mark for mark in MARKS if raw.startswith(mark)), b"")
    encoding = MARKS[mark] if mark else _encoding(raw, path.name)
    text = pa.py_buffer(raw).slice(len(mark))
    if encoding != "utf-8":
        text = _recoded(raw[len(mark) :], encoding, path.name)
    elif mark and (place := _first_not_utf8(raw)) is not None:
        raise _damaged(raw, place, path.name)
    found = find_delimiter(path, delimiter, bytes(text[: SAMPLE + 1]))
    return Dialect(found, encoding, bool(mark), packed), text


def _unpacked(path: Path) -> bytes:
    """The text of a packed file; one that becomes too large is given up before it is."""
    held = bytearray()
    try:
        with gzip.open(path) as file:
            while piece := file.read(PIECE):
                held += piece
                refuse_more(len(held), path.name)
    except (OSError, EOFError, zlib.error):
        raise PriveeError(f"{path.name} is damaged: it cannot be unpacked") from None
    return bytes(held)


def _encoding(raw: bytes, name: str) -> str:
    """Of a text without a mark: UTF-16 by its zeros, UTF-8 if all of it is, else Windows-1252 (Latin-1 and more)."""
    start = raw[:SAMPLE]
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if start[first::2].count(0) * 4 > len(start):
            return encoding
    place = _first_not_utf8(raw)
    if place is None:
        return "utf-8"
    if BINARY.search(start):
        raise PriveeError(f"{name} is not a text file; save the table as CSV")
    if OTHER.search(raw.decode("utf-8", "surrogateescape")):
        raise _damaged(raw, place, name)
    return "cp1252"


def _first_not_utf8(raw: bytes) -> int | None:
    """Where a text stops to be UTF-8; None if all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    for place in range(0, len(raw), PIECE):  # in pieces: the decoded text is not needed
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(view[place : place + PIECE], final=place + PIECE >= len(raw))
        except UnicodeDecodeError as error:
            return place - held + error.start
    return None


def _damaged(raw: bytes, place: int, name: str) -> PriveeError:
    line = raw.count(b"\n", 0, place) + 1
    return PriveeError(f"{name} is damaged: line {line} is not UTF-8 text while others are; save the file as UTF-8")


def _recoded(raw: bytes, encoding: str, name: str) -> Any:
    refuse_more(2 * len(raw), name)
    try:
        return pa.py_buffer(raw.decode(encoding).encode())
    except UnicodeError:
        words = ENCODINGS[encoding]
        raise PriveeError(f"{name} is damaged, or no text in UTF-8 or {words}; save the file as UTF-8") from None
