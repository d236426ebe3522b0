"""Order-preserving encryption as a defense: ciphertexts in place of scores. See docs/encrypted_order.md.

What anyone makes of order-preserving ciphertexts: a random order-preserving function is nearly a straight line.

Seen from the ciphertext c (as a share of the range), the plaintext is a count of random places below c: c itself on
average, and the error as a function of c is a Brownian bridge over sqrt(M) (M plaintexts). All vectors under one key
share that one bridge, and each of them tells what its scores sum to. Conditioning a bridge on such sums is linear
algebra; its steps between sorted ciphertexts are independent, so no covariance of all pairs is needed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.baselines.ope.cipher import OrderPreservingCipher
from privee.defenses.asked_again import asked_again
from privee.defenses.base import Defense, Guarantee, check_whole
from privee.defenses.inverse import condition_on_sum
from privee.defenses.registry import register
from privee.defenses.secret_keys import new_key, read_key
from privee.errors import PriveeError, SettingError
from privee.randomness import Draws
from privee.scores import ascending, check_release, check_rows, place, rise_where, to_rows
from privee.scores.forms import Floats

LEAST_SPARE_BITS = 3
MOST_BITS = 50
"""Then the last-bit repair of a float64 release (2**-52 at most) never reaches the next ciphertext."""


@register
@dataclasses.dataclass(frozen=True)
class OrderPreservingEncryption(Defense):
    """Encrypts scores so that ciphertexts keep their order (Boldyreva et al. 2009). Hides half of the digits at best.

    A score is rounded to `plaintext_bits` and encrypted, the same score always to the same ciphertext; the release is
    the ciphertext over 2**ciphertext_bits. Scores that round to the same number differ in last bits only; scores above
    one (`check_sum=False`) round to one. The key is kept out of `repr`, settings and pickles, so a copy or a worker
    process reads the key file again or, without one, has a fresh key of its own.

    Args:
        plaintext_bits: how finely scores are told apart.
        ciphertext_bits: at least 3 more, 50 at most.
        key_file: at least 16 secret bytes (see `privee.new_key`). Without it (and without `seed`) a fresh key is made.
        seed: for experiments only: a key that anyone can make again.

    Example:
        >>> holder = OrderPreservingEncryption(seed=1)
        >>> holder.decrypt_release(holder.release([0.75, 0.25])).round(6)
        array([0.75, 0.25])
    """

    name: ClassVar[str] = "ope"
    place: ClassVar[int] = 90
    preserves_order: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "order-preserving encryption (Boldyreva et al.); ciphertexts are nearly proportional to scores"
    )

    plaintext_bits: int = 24
    ciphertext_bits: int = 48
    key_file: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_whole(1, MOST_BITS - LEAST_SPARE_BITS, plaintext_bits=self.plaintext_bits)
        check_whole(self.plaintext_bits + LEAST_SPARE_BITS, MOST_BITS, ciphertext_bits=self.ciphertext_bits)
        cipher = OrderPreservingCipher(_key(self.key_file, self.seed), self.plaintext_bits, self.ciphertext_bits)
        object.__setattr__(self, "_cipher", cipher)  # no field: it is not a setting

    def encrypt(self, scores: Any) -> NDArray[np.uint64]:
        """Ciphertexts of one vector (K,) or a batch (n, K) of scores, for whoever holds the key."""
        rows, form = to_rows(scores)
        check_rows(rows, check_sum=False)
        found = self._encrypted(rows).astype(np.uint64)
        return found[0] if form.one_vector else found

    def decrypt(self, ciphertexts: Any) -> NDArray[np.float64]:
        """The scores, rounded to `plaintext_bits`, that these ciphertexts were made of with this key."""
        values = np.asarray(ciphertexts)
        if values.dtype.kind not in "iu":
            raise PriveeError(f"ciphertexts must be whole numbers, got {values.dtype}; decrypt_release takes a release")
        return self._cipher_of_key.decrypt(values.astype(np.int64)) / (self._plaintexts - 1)

    def decrypt_release(self, release: Any) -> NDArray[np.float64]:
        """The rounded scores behind a float64 release (of scores that sum to one)."""
        rows, form = to_rows(release)
        check_release(rows)
        if rows.dtype != np.float64:
            raise PriveeError("only float64 releases hold whole ciphertexts; release float64 scores")
        found = self.decrypt(np.rint(np.clip(rows, -1.0, 2.0) * 2.0**self.ciphertext_bits).astype(np.int64))
        return found[0] if form.one_vector else found

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        order, rising = ascending(rows)
        made = self._encrypted(rising) * 2.0**-self.ciphertext_bits
        return place(order, rise_where(rising, made.astype(rows.dtype)))

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        return straighten(rows, self._plaintexts)

    def guarantee(self, n_classes: int) -> Guarantee:
        """Nothing about magnitudes: the ideal that the scheme comes close to gives them away itself."""
        error = 0.5 / math.sqrt(self._plaintexts)
        return Guarantee(
            proven="none about magnitudes (without the key it looks like a random order-preserving function)",
            assumptions=("AES-256 is a pseudorandom function",),
            not_covered=(
                f"every score to about {error:.1g}: a random order-preserving function is nearly a straight line",
                "the sums of all vectors under one key narrow that down further",
                "the ranking within and across vectors; equal scores show as equal",
                asked_again(n_classes),
            ),
            figures={"largest_standard_error": error, "bits_given_away": -math.log2(error)},
        )

    def public_copy(self) -> OrderPreservingEncryption:
        """With a key of its own."""
        return dataclasses.replace(self, key_file=None, seed=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), dataclasses.astuple(self)

    @property
    def _plaintexts(self) -> int:
        return 1 << self.plaintext_bits

    @property
    def _cipher_of_key(self) -> OrderPreservingCipher:
        cipher: OrderPreservingCipher = self.__dict__["_cipher"]
        return cipher

    def _encrypted(self, rows: Floats) -> NDArray[np.int64]:
        rounded = np.rint(np.minimum(rows, 1.0).astype(np.float64) * (self._plaintexts - 1)).astype(np.int64)
        return self._cipher_of_key.encrypt(rounded)


def _key(key_file: str | None, seed: int | None) -> bytes:
    if key_file is not None and seed is not None:
        raise SettingError("give a key_file or a seed, not both")
    if key_file is not None:
        if not isinstance(key_file, str) or not key_file:
            raise SettingError("key_file must be the name of a file")
        return read_key(key_file)
    if seed is None:
        return new_key()
    check_whole(0, 2**63 - 1, seed=seed)
    return hashlib.sha256(f"privee order-preserving encryption seed v1 {seed}".encode()).digest()


Array = NDArray[np.float64]
BLOCK = 1 << 22
"""Entries of the matrix that says which row has how many ciphertexts above which place."""
NEIGHBOURS = 8


def straighten(rows: Array, plaintexts: int) -> Array:
    """Scores from ciphertexts scaled to [0, 1], made with one key; each row of scores sums to one."""
    shares = np.clip(rows, 0.0, 1.0)
    at_once = max(1, int((BLOCK / shares.shape[1]) ** 0.5))
    blocks = np.array_split(shares, -(-len(shares) // at_once))
    found = np.concatenate([_on_one_bridge(block, plaintexts) for block in blocks])
    variance = shares * (1 - shares) / plaintexts + 1 / (12 * plaintexts**2)
    return condition_on_sum(np.clip(found, 0.0, 1.0), variance, np.zeros_like(shares), np.ones_like(shares))


def _on_one_bridge(shares: Array, plaintexts: int) -> Array:
    """Mean of the bridge at all ciphertexts, given the sums of all rows."""
    places, which = np.unique(shares, return_inverse=True)
    above = _counts_from(which.reshape(shares.shape), len(places))
    steps = _step_variances(places, plaintexts)
    reach, end = above @ steps[:-1], steps.sum()
    covariance = ((above * steps[:-1]) @ above.T - np.outer(reach, reach) / end) / plaintexts
    rounding = shares.shape[1] / (12 * plaintexts**2) + 2.0**-50  # of the plaintexts, and of a float32 release
    missing = 1 - shares.sum(axis=1)
    weights = np.linalg.solve(covariance + rounding * np.eye(len(shares)), missing) / plaintexts
    bridge = np.cumsum(steps[:-1] * (weights @ above - weights @ reach / end))
    return np.asarray((places + bridge)[which].reshape(shares.shape))


def _step_variances(places: Array, plaintexts: int) -> Array:
    """Of the steps up to each place, and of the last one to the end; in units of 1 / plaintexts.

    A step's variance is the distance of the plaintexts, not of the ciphertexts (to take that would trust steps that
    came out small). A mean over neighbours stands for it; and any two plaintexts are at least 1 / plaintexts apart.
    """
    ends = np.concatenate([[0.0], places, [1.0]])
    around = min(NEIGHBOURS, len(places) // 32)
    right = np.minimum(np.arange(1, len(ends)) + around, len(ends) - 1)
    left = np.maximum(np.arange(len(ends) - 1) - around, 0)
    return np.asarray(np.maximum((ends[right] - ends[left]) / (right - left), 1 / plaintexts))


def _counts_from(which: NDArray[np.intp], places: int) -> Array:
    """How many entries of each row lie at each place or above it."""
    rows = np.arange(len(which))[:, None] * places
    counts = np.bincount((rows + which).reshape(-1), minlength=len(which) * places).reshape(-1, places)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1].astype(np.float64)
