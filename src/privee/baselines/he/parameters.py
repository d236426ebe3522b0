"""A plan: everything that is fixed, and public, before the first score is encrypted.

Where things sit in the slots of a ciphertext.

The slots are a table of `rows` x `width`. A column stands for one class of one record; a row for a class to compare it
with: the slot holds that class's score minus the column's. Summing a column says how many classes beat its own, for
all columns at once. Few classes leave room for many records in one ciphertext; many classes take several ciphertexts
(`chunks`), each with other rows of the same columns, which are added up.

Primes for the ciphertext modulus: near a power of two, so that scales keep their size.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.polynomials import Composite

SECURITY_BITS = 128
MODULUS_LIMIT = {16384: 438, 32768: 881}
"""Largest modulus (bits) per ring degree for 128-bit security with a ternary secret: the homomorphic encryption
standard's table, which SEAL enforces when the keys are made."""

SPLIT = 0.6
"""Two results further apart than this are in the right order."""

FLOOD = 1 / 64
"""Standard deviation of the noise that the evaluator adds to every result, to drown what the rounding would tell."""

MARGIN = 0.05
"""How far ripple and noise may move a rank that is a whole number."""


def place(n_classes: int, rank: float) -> float:
    """Where a rank lies between -1 (last) and 1 (first)."""
    return (n_classes - 1 - 2 * rank) / (n_classes - 1 + 2 * MARGIN)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """Parameters of one encrypted top-k, and what they achieve.

    Attributes:
        n_classes, k: the question; k is at most one less than the number of classes.
        bound: no two summed scores of a record differ by more.
        parties: how many senders' parts are added up; each keeps its own differences below bound / parties.
        degree: of the ring (two values fill one slot).
        primes: of the ciphertext modulus, the last to be dropped first; `special_prime` is for key switching.
        compare, select: the polynomials: sign of a difference; 1 for ranks below k, 0 for others.
        compare_scales, place_scale, select_scales, chosen_scale, result_scale: of values entering each stage.
        gap: scores `gap` apart or more (of `bound` = 1) compare exactly; see `gap_bound`.
        noise: standard deviation of a result where scores tie, from a simulation of this plan.
        leak: bound on the advantage in telling apart, from one result, records with the same leading classes.
        seconds, megabytes: estimates for one evaluation on this machine, and for the keys that the evaluator holds.
    """

    n_classes: int
    k: int
    bound: float
    parties: int
    degree: int
    primes: tuple[int, ...]
    special_prime: int
    compare: Composite
    select: Composite
    compare_scales: tuple[float, ...]
    place_scale: float
    select_scales: tuple[float, ...]
    chosen_scale: float
    result_scale: float
    gap: float
    noise: float = math.nan
    leak: float = math.nan
    seconds: float = math.nan
    megabytes: float = math.nan

    @property
    def layout(self) -> SlotLayout:
        """Where things sit in the slots."""
        return SlotLayout(self.n_classes, self.degree // 2)

    @property
    def chunks(self) -> int:
        """Ciphertexts that each sender sends for one evaluation, summed by the evaluator."""
        return self.layout.chunks

    @property
    def records(self) -> int:
        """Records that one evaluation handles."""
        return self.layout.records

    @property
    def gap_bound(self) -> float:
        """The k-th and the next score must be this far apart for the answer to be decided for certain."""
        return self.gap * self.bound

    @property
    def modulus_bits(self) -> int:
        """Of the whole modulus, the special prime included; security rests on this and the degree."""
        return (math.prod(self.primes) * self.special_prime).bit_length()

    @property
    def levels(self) -> int:
        """Multiplications that can follow each other."""
        return len(self.primes) - 1

    @property
    def counted_level(self) -> int:
        """Where the rows are summed: rotation keys need to reach no higher."""
        return self.levels - self.compare.depth + 1

    def points_above_boundary(self) -> tuple[float, float]:
        """Factor and constant that turn a place into k minus its rank."""
        return (self.n_classes - 1 + 2 * MARGIN) / 2, self.k - (self.n_classes - 1) / 2

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` makes the same plan of them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """The plan that `as_dict` wrote, also through JSON."""
        pieces = {
            name: Composite(tuple(tuple(stage) for stage in values[name]["stages"]), values[name]["error"])
            for name in ("compare", "select")
        }
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, (list, tuple))}
        return cls(**(values | lists | pieces))

    def __str__(self) -> str:
        degrees = ["+".join(str(len(s) - 1) for s in side.stages) for side in (self.compare, self.select)]
        lines = (
            f"encrypted top-{self.k} of {self.n_classes} classes, {self.records} records at a time",
            f"CKKS, ring degree {self.degree}, modulus {self.modulus_bits} of at most "
            f"{MODULUS_LIMIT[self.degree]} bits: at least {SECURITY_BITS}-bit security",
            f"{self.levels} levels; compare with polynomials of degree {degrees[0]}, select with {degrees[1]}",
            f"decided for certain where scores at the boundary are {self.gap_bound:.2g} apart (differences up to "
            f"{self.bound:g})",
            f"{self.chunks} ciphertexts per sender; about {self.seconds:.0f} s and {self.megabytes:.0f} MB of keys",
        )
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class SlotLayout:
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
        """How many records are done together."""
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


_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Enough to decide primality of every 64-bit number (Sorenson and Webster 2015)."""


def primes_near(bits: int, degree: int) -> Iterator[int]:
    """Primes of the form 2 degree m + 1, nearest to 2^bits first.

    Example:
        >>> next(primes_near(30, 32768))
        1073872897
    """
    step = 2 * degree
    middle = (1 << bits) + 1
    for away in range(1, (1 << (bits - 2)) // step):
        for candidate in (middle - away * step, middle + away * step):
            if is_prime(candidate):
                yield candidate


def is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact for 64-bit numbers."""
    if number < 2 or any(number % p == 0 for p in _WITNESSES):
        return number in _WITNESSES
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, pow(witness, odd, number), twos) for witness in _WITNESSES)


def _passes(number: int, power: int, twos: int) -> bool:
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False
