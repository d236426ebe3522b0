"""Order-preserving encryption of whole numbers (Boldyreva, Chenette, Lee, O'Neill 2009), many at once.

The key picks one of all order-preserving functions from M plaintexts to N ciphertexts, each equally likely, without
ever writing it down: halve the range of ciphertexts, draw how many plaintexts lie below the middle, and go on in the
half in question until one plaintext is left; it may be anywhere in what is left of the range. The coins of a node are a
block of AES, so the same node always draws the same. N is a power of two, so all halves are equal; and all values of a
batch go down the tree together, one level at a time.
"""

from __future__ import annotations

import dataclasses
import functools
import hmac
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from privee.baselines.ope.splitting import lower_counts
from privee.errors import PriveeError

Integers = NDArray[np.int64]
Chooser = Callable[["Walk", Integers, Integers, int], NDArray[np.bool_]]
"""(walk, which targets, plaintexts in the lower half of their node, size of a half) -> which go to the upper half."""

FIRST_LEVELS = 12
"""Levels at the top of the tree that are drawn once and kept. Another number would give other ciphertexts."""


@dataclasses.dataclass
class Walk:
    """Where each target is in the tree: its node, and the plaintexts that node holds."""

    depth: Integers
    node: Integers
    first: Integers
    count: Integers


class OrderPreservingCipher:
    """A function from [0, 2**plaintext_bits) to [0, 2**ciphertext_bits) that keeps order, fixed by a secret key."""

    def __init__(self, key: bytes, plaintext_bits: int, ciphertext_bits: int) -> None:
        self.plaintext_bits, self.ciphertext_bits = plaintext_bits, ciphertext_bits
        label = f"privee order-preserving encryption v1, {plaintext_bits} to {ciphertext_bits} bits"
        self._coins = _coins(hmac.digest(key, label.encode(), "sha256"))

    def encrypt(self, plaintexts: Integers) -> Integers:
        """Ciphertexts of whole numbers from 0 to 2**plaintext_bits - 1, in any shape."""
        values, back = np.unique(plaintexts, return_inverse=True)
        cell = np.searchsorted(self._first_cells, values, side="right") - 1
        walk = self._descend(cell, lambda walk, at, lower, _: values[at] - walk.first[at] >= lower)
        return self._places(walk)[back].reshape(plaintexts.shape)

    def decrypt(self, ciphertexts: Integers) -> Integers:
        """Plaintexts of ciphertexts; refuses numbers that this key makes of no plaintext."""
        values, back = np.unique(ciphertexts, return_inverse=True)
        if values.size and not 0 <= values[0] <= values[-1] < 1 << self.ciphertext_bits:
            raise PriveeError(f"ciphertexts must lie between 0 and 2**{self.ciphertext_bits} - 1")
        cell = values >> (self.ciphertext_bits - self._kept_levels)
        walk = self._descend(cell, lambda walk, at, _, half: (values[at] & half) > 0)
        wrong = (walk.count != 1) | (self._places(walk) != values)
        if wrong.any():
            raise PriveeError(
                f"{wrong[back].sum()} of {back.size} ciphertexts were not made with this key and these bits"
            )
        return walk.first[back].reshape(ciphertexts.shape)

    @property
    def _kept_levels(self) -> int:
        return max(0, min(FIRST_LEVELS, self.plaintext_bits - 4))

    @functools.cached_property
    def _first_cells(self) -> Integers:
        """How many plaintexts lie below each of the cells at the kept levels, and below the end."""
        below = np.array([0, 1 << self.plaintext_bits])
        for depth in range(self._kept_levels):
            nodes = np.arange(1 << depth)
            middle = below[:-1] + self._lower(depth, nodes, np.diff(below))
            below = np.insert(below, nodes + 1, middle)
        return below

    def _descend(self, cell: Integers, goes_right: Chooser) -> Walk:
        """From the cells of sorted targets down to nodes that hold one plaintext, or none."""
        below, start = self._first_cells, self._kept_levels
        walk = Walk(np.full_like(cell, start), cell.copy(), below[cell], below[cell + 1] - below[cell])
        for depth in range(start, self.ciphertext_bits):
            at = np.flatnonzero(walk.count > 1)
            if not at.size:
                break
            is_new = np.diff(walk.node[at], prepend=-1) != 0  # targets in the same node are neighbours
            nodes = at[is_new]
            lower = self._lower(depth, walk.node[nodes], walk.count[nodes])[np.cumsum(is_new) - 1]
            right = goes_right(walk, at, lower, 1 << (self.ciphertext_bits - 1 - depth))
            walk.depth[at] += 1
            walk.node[at] = 2 * walk.node[at] + right
            walk.first[at] += np.where(right, lower, 0)
            walk.count[at] = np.where(right, walk.count[at] - lower, lower)
        return walk

    def _lower(self, depth: int, nodes: Integers, counts: Integers) -> Integers:
        """How many plaintexts of each node at a level lie in the lower half of its range."""
        names = nodes + (1 << depth)
        half = 1 << (self.ciphertext_bits - 1 - depth)
        return lower_counts(counts, half, lambda which, attempt: self._coins(names[which], 1 + attempt))

    def _places(self, walk: Walk) -> Integers:
        """Where in the range of its node the last plaintext is: anywhere, and a power of two makes that exact."""
        left = self.ciphertext_bits - walk.depth
        word = self._coins(walk.node + (1 << walk.depth), 0)[:, 0]
        offset = (word >> np.uint64(1)) >> (63 - left).astype(np.uint64)  # in two steps: a shift by 64 is undefined
        return (walk.node << left) + offset.astype(np.int64)


def _coins(key: bytes) -> Callable[[Integers, int], NDArray[np.uint64]]:
    """From names of nodes and a number to two words each. The key lives in this closure alone."""

    def draw(names: Integers, number: int) -> NDArray[np.uint64]:
        blocks = np.empty((len(names), 2), dtype="<u8")
        blocks[:, 0], blocks[:, 1] = names, number
        # Every block is different, so this is a pseudorandom function; nothing is encrypted in this mode.
        cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305
        words = np.frombuffer(cipher.encryptor().update(blocks.tobytes()), dtype="<u8")
        return words.reshape(-1, 2).astype(np.uint64, copy=False)

    return draw
