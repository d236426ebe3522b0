"""A search tree in which every new node's ciphertext is the middle of its gap; many values are put in at once.

Sequential insertion sends each value down the tree to an empty place. Here all values go down together: in each pass
the first one in line of every gap becomes the node there, and the others go on to its left or right. The result is the
same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError

Integers = NDArray[np.int64]

NO_ROOM = -1
_GOLDEN = 0x9E3779B97F4A7C15


def fill_gaps(gap: Integers, low: Integers, high: Integers, turn: Integers) -> Integers:
    """Ciphertexts of new values.

    Args:
        gap: which gap each value falls into; the values are in ascending order, so gaps never fall.
        low: the ciphertext at the lower end of its gap.
        high: and at the upper end.
        turn: all different; the lower ones are put in first.

    Returns:
        `NO_ROOM` for the first value in a gap that could not get a ciphertext, and for all later ones there.
    """
    found = np.full(len(gap), NO_ROOM, dtype=np.int64)
    left = np.arange(len(gap))
    while left.size:
        starts = np.flatnonzero(np.diff(gap, prepend=gap[0] - 1))
        gap = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(gap)))
        node = np.flatnonzero(turn[left] == np.minimum.reduceat(turn[left], starts)[gap])
        middle = low[node] + (high[node] - low[node]) // 2
        room = middle > low[node]
        found[left[node[room]]] = middle[room]
        position, go_on = np.arange(len(left)), room[gap]
        go_on[node] = False
        after = position > node[gap]
        low, high = np.where(after, middle[gap], low)[go_on], np.where(after, high, middle[gap])[go_on]
        gap, left = (2 * gap + after)[go_on], left[go_on]
    return found


def turns(words: NDArray[np.uint64]) -> Integers:
    """A random order from random words: all different, because the place of each one is in its last bits."""
    bits = max(1, (words.size - 1).bit_length())
    high = (words.reshape(-1) >> np.uint64(bits + 1)) << np.uint64(bits)
    return high.astype(np.int64) + np.arange(words.size)


def spread(count: int, bits: int, epoch: int) -> Integers:
    """Ciphertexts at even distances.

    They are shifted by less than a quarter of a step, in each epoch differently: a ciphertext of an earlier epoch then
    stands for nothing (but for one chance in 2**bits / count), instead of for another value.
    """
    step, rest = divmod(1 << bits, count + 1)
    if step < 2:
        raise PriveeError(f"{bits} bits have no room for {count} values")
    index = np.arange(1, count + 1)
    shift = (epoch * _GOLDEN % 2**64) % max(1, step // 4)
    return np.asarray(index * step + index * rest // (count + 1) - shift)
