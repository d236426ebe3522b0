"""The channel of a sealed party: one of M codes for a record, in whole numbers never more telling than epsilon says.

Without epsilon the code is sent as it is. With epsilon it is drawn once by randomised response: one 64-bit word gives a
number below 2**52, `own` of these numbers mean the record's own code, and `other` of them each of the other codes.
With whole numbers and, in exact arithmetic,

    other <= own <= e^epsilon other,

no code is more than e^epsilon times likelier under one record than under another: pure epsilon local differential
privacy, and no floating point in the proof. 52 bits, so that every probability here is a float exactly.
Codes are counted from 0 in arrays, from 1 for people. What follows from the channel: `sealed_bounds.py`,
`sealed_budget.py`, docs/sealed_parties.md.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.randomness import Draws

WORDS = 1 << 52
"""So many numbers can be drawn, each as likely as another."""
MOST_CODES = 256
"""A code is one byte."""
LARGEST_EPSILON = 40.0
"""An epsilon above this is treated as this one: e^40 is more than WORDS, so `other` is one word already."""

_SHIFT = np.uint64(12)
_FRACTION_BITS = 128


def response_weights(codes: int, epsilon: float | None) -> tuple[int, int]:
    """How many of 2**52 words mean the own code, and how many each other one: (own, other).

    Theorem: own + (codes - 1) other = 2**52 and other <= own <= e^epsilon other, in exact arithmetic.

    Proof. Let r be a fraction in [1, e^epsilon] (`_exp_below`), M the codes, N = 2**52, other = ceil(N / (r + M - 1)).
    Then other (r + M - 1) >= N, so own = N - (M - 1) other <= r other: rounding up is rounding towards privacy. And
    own >= other exactly if M other <= N. Where that fails (only if M is no power of two, and epsilon below about
    M^2 / N, less than 1.5e-11), both are floor(N / M) instead, and the N mod M words that are left mean the first
    codes, one each, *whatever the record*. The released code is then independent of the record: epsilon is 0. ∎

    Without epsilon (None) the own code has all words.

    Example:
        >>> own, other = response_weights(4, 2.0)
        >>> own + 3 * other == 2**52, round(own / other, 9), response_weights(2, None) == (2**52, 0)
        (True, 7.389056099, True)
    """
    count, stated = checked_codes(codes), checked_epsilon(epsilon)
    return (WORDS, 0) if stated is None else _weights(count, stated)


def channel(codes: int, epsilon: float | None) -> NDArray[np.float64]:
    """P(released code | true code), exactly: true codes are rows, released ones columns.

    Example:
        >>> channel(2, None).tolist(), channel(4, 0.0)[0].tolist()
        ([[1.0, 0.0], [0.0, 1.0]], [0.25, 0.25, 0.25, 0.25])
    """
    codes = checked_codes(codes)
    own, other = response_weights(codes, epsilon)
    found = np.full((codes, codes), other / WORDS)
    np.fill_diagonal(found, own / WORDS)
    found[:, : _left_over(codes, own, other)] += 1 / WORDS
    return found


def released_codes(true_codes: Any, codes: int, epsilon: float | None, draws: Draws) -> NDArray[np.uint8]:
    """What is sent in place of the true codes, drawn as `channel` says: one 64-bit word for each record, without bias.

    Call it once in an entity's life and keep what it gave. Sent again, the same draw tells nothing new; a second one
    costs epsilon again. Draws from `privee.randomness.keyed` need a message that also names the seal and the record's
    version: one word for two true codes has no epsilon at all, since codes that differ are then both true.

    Args:
        true_codes: the encoder's codes, whole numbers from 0 to codes - 1, one for each record.
        codes: how many there are, M.
        epsilon: of the randomised response; None sends true codes.
        draws: where randomness comes from; not asked without epsilon.

    Raises:
        SettingError: a setting cannot work, or a row holds no code. It names the row, never the code.

    Example:
        >>> from privee.randomness import seeded
        >>> released_codes([0, 1, 2, 3, 0, 1, 2, 3], 4, 2.0, seeded(2)).tolist()
        [0, 1, 2, 3, 2, 1, 2, 3]
    """
    codes = checked_codes(codes)
    own, other = response_weights(codes, epsilon)
    true = _checked_rows(true_codes, codes)
    if epsilon is None:
        return true
    words = draws.words(true.size).reshape(true.shape) >> _SHIFT
    turn = words // np.uint64(other)  # which of the other codes, in order and without the own one
    found = np.where(turn < codes - 1, turn + (turn >= true), true)
    spoken_for = own + (codes - 1) * other
    return np.where(words < spoken_for, found, words - np.uint64(spoken_for)).astype(np.uint8)


def checked_codes(codes: Any) -> int:
    """The number of codes as Python's own, which does not overflow; refused if there cannot be so many."""
    if not isinstance(codes, int | np.integer) or not 2 <= codes <= MOST_CODES:
        raise SettingError(f"codes must be a whole number from 2 to {MOST_CODES}, got {codes!r}")
    return int(codes)


def checked_epsilon(epsilon: float | None) -> float | None:
    """The epsilon as Python's own; refused if it is none."""
    if epsilon is not None and not 0 <= epsilon < float("inf"):
        raise SettingError(f"epsilon must be a number of 0 or more, or None for codes without noise, got {epsilon}")
    return None if epsilon is None else float(epsilon)


@functools.lru_cache(maxsize=256)
def _weights(codes: int, epsilon: float) -> tuple[int, int]:
    other = -(-WORDS // (_exp_below(epsilon) + codes - 1))
    if codes * other > WORDS:
        return WORDS // codes, WORDS // codes
    return WORDS - (codes - 1) * other, other


def _exp_below(epsilon: float) -> Fraction:
    """A fraction from 1 to e^epsilon, and below it by less than one part in 2**118.

    The terms of its series are positive, so every partial sum is below it, more so with terms rounded down. All of it
    in whole numbers: no library's exp has to be trusted.
    """
    top, bottom = min(epsilon, LARGEST_EPSILON).as_integer_ratio()
    total = term = 1 << _FRACTION_BITS
    count = 0
    while term:
        count += 1
        term = term * top // (bottom * count)
        total += term
    return Fraction(total, 1 << _FRACTION_BITS)


def _left_over(codes: int, own: int, other: int) -> int:
    """Words that mean one of the first codes whatever the record; none but where epsilon is next to 0."""
    return WORDS - own - (codes - 1) * other


def _checked_rows(true_codes: Any, codes: int) -> NDArray[np.uint8]:
    """As bytes of the caller's own."""
    given = np.asarray(true_codes)
    if given.ndim != 1:
        raise SettingError(f"codes must be one column, one code for each record; got {given.ndim} dimensions")
    if given.size and given.dtype.kind not in "iu":
        raise SettingError(f"codes must be whole numbers, got {given.dtype}")
    outside = (given < 0) | (given >= codes)
    if outside.any():
        raise SettingError(f"row {int(outside.argmax())} holds none of the {codes} codes, which are 0 to {codes - 1}")
    return given.astype(np.uint8)
