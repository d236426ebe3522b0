"""What passes between a reader and a writer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from privee.scores.forms import Floats

BYTES_PER_BLOCK = 1 << 22


class Block(NamedTuple):
    """Some rows: their scores, and the columns kept beside them (an Arrow table, or None)."""

    scores: Floats
    kept: Any = None


class Reader(Protocol):
    """A score file being read. `score_names` is None where columns have no names."""

    score_names: list[str] | None
    column_order: list[str] | None
    one_vector: bool
    size: int  # what `done` counts up to: rows or bytes

    @property
    def done(self) -> int:
        """How far reading has come, in the unit of `size`."""

    def blocks(self) -> Iterator[Block]:
        """The rows, a block at a time."""


class Writer(Protocol):
    """A score file being written. `formulas` counts what a spreadsheet would take for one."""

    formulas: int

    def write(self, block: Block) -> None:
        """Append rows."""

    def close(self) -> None:
        """Finish the file."""
