"""Where things sit in the slots of a ciphertext.

The slots are a table of `rows` x `width`. A column stands for one class of one record; a row for a class to compare it
with: the slot holds that class's score minus the column's. Summing a column says how many classes beat its own, for
all columns at once. Few classes leave room for many records in one ciphertext; many classes take several ciphertexts
(`chunks`), each with other rows of the same columns, which are added up.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Layout:
    """The table for a number of classes and slots."""

    n_classes: int
    slots: int

    @property
    def rows(self) -> int:
        """A power of two, so that doubling steps sum a column: all classes if records fit beside each other."""
        all_classes = 1 << (self.n_classes - 1).bit_length()
        return min(all_classes, max(1, self.slots // all_classes))

    @property
    def width(self) -> int:
        """Columns of a ciphertext."""
        return self.slots // self.rows

    @property
    def fits(self) -> bool:
        """Is there a column for every class?"""
        return self.n_classes <= self.width

    @property
    def records(self) -> int:
        """Records done together."""
        return max(1, self.width // self.n_classes)

    @property
    def chunks(self) -> int:
        """Ciphertexts that hold all rows."""
        return -(-self.n_classes // self.rows)

    @property
    def rotations(self) -> tuple[int, ...]:
        """Steps that, applied and added in turn, sum every column over all rows."""
        return tuple(self.width << doubling for doubling in range(self.rows.bit_length() - 1))

    def differences(self, parts: NDArray[np.float64], chunk: int) -> NDArray[np.float64]:
        """The slots of one chunk for (records, classes) values: value of the row's class minus the column's."""
        beside = parts.T[chunk * self.rows : (chunk + 1) * self.rows]  # (classes of this chunk, records)
        table = np.zeros((self.rows, self.width))
        table[: len(beside), : parts.size] = np.repeat(beside, self.n_classes, axis=1) - parts.reshape(-1)
        return table.reshape(-1)

    def used(self) -> NDArray[np.bool_]:
        """Slots of the result that say something: the first row."""
        return np.arange(self.slots) < self.records * self.n_classes

    def read(self, values: Any, records: int) -> NDArray[np.float64]:
        """The result as (records, classes)."""
        return np.asarray(values, dtype=np.float64)[: records * self.n_classes].reshape(records, self.n_classes)
