"""A file with one column of scores is that of two classes: P(yes) alone, where P(no) is what is left of 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privee.data.score_files.blocks import Block, Reader
from privee.errors import ScoreError
from privee.scores.columns import name_of_other


class TwoClassReader:
    """Reads a file of one score column p as the two columns 1 - p and p, which is how its release is written as well.

    Both are needed there: not every release sums to one, and the class is told by the larger of the two.
    """

    score_names: list[str] | None = None
    column_order: list[str] | None = None
    one_vector = False

    def __init__(self, reader: Reader) -> None:
        self._reader, self.size = reader, reader.size
        if reader.score_names and reader.column_order:
            (name,) = reader.score_names
            other = name_of_other(name, reader.column_order)
            self.score_names = [other, name]
            place = reader.column_order.index(name)
            self.column_order = [*reader.column_order[:place], other, *reader.column_order[place:]]

    @property
    def done(self) -> int:
        """How far reading has come, in the unit of `size`."""
        return self._reader.done

    def blocks(self) -> Iterator[Block]:
        """The rows, a block at a time."""
        for block in self._reader.blocks():
            column = block.scores[:, 0]
            # Written so that a NaN, which an empty cell is, fails the comparison.
            wrong = ~((column >= 0) & (column <= 1))
            if wrong.any():
                what = "is not from 0 to 1, and a single score column must hold the probabilities of one class"
                raise ScoreError(what, row=int(np.argmax(wrong)), column=1)
            yield Block(np.stack([1 - column, column], axis=1), block.kept)
