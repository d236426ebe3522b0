"""The three roles. They share a plan and bytes, nothing else."""

from __future__ import annotations

import dataclasses
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.circuit import compared, counted, leading
from privee.baselines.he.parameters import FLOOD, Plan
from privee.baselines.he.seal import (
    SealArithmetic,
    context,
    from_bytes,
    main_primes,
    rotation_primes,
    seal,
    secret_key,
    to_bytes,
)
from privee.errors import PriveeError
from privee.progress import Progress
from privee.randomness import secure


@dataclasses.dataclass(frozen=True)
class EvaluationKeys:
    """What an evaluator needs; public, as the encryption key is."""

    encryption: bytes
    relinearisation: bytes
    rotation: bytes


class KeyHolder:
    """Makes the keys and reads the result. Must not work together with the evaluator."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        api = seal()
        self._main = context(plan.degree, main_primes(plan))
        rotating = context(plan.degree, rotation_primes(plan))
        # One secret for two moduli: both are drawn from one seed, which is then forgotten. The randomness of all
        # public keys comes from the contexts, which have no seed.
        seed = struct.unpack("<8Q", os.urandom(64))
        self._secret = secret_key(plan.degree, main_primes(plan), seed)
        same = secret_key(plan.degree, rotation_primes(plan), seed)
        maker = api.KeyGenerator(self._main, self._secret)
        encryption = api.PublicKey()
        maker.create_public_key(encryption)
        elements = [pow(3, step, 2 * plan.degree) for step in plan.layout.rotations]
        self.evaluation_keys = EvaluationKeys(
            to_bytes(encryption),
            to_bytes(maker.create_relin_keys()),
            to_bytes(api.KeyGenerator(rotating, same).create_galois_keys(elements)),
        )

    @property
    def encryption_key(self) -> bytes:
        """For the senders; public."""
        return self.evaluation_keys.encryption

    def decrypt(self, result: bytes, records: int = 1) -> NDArray[np.float64]:
        """(records, classes): about k minus the rank for the k leading classes, about 0 for others."""
        api = seal()
        plain = api.Plaintext()
        api.Decryptor(self._main, self._secret).decrypt(from_bytes(api.Ciphertext(), self._main, result), plain)
        return self.plan.layout.read(api.CKKSEncoder(self._main).decode_double(plain), records)


class Sender:
    """A party with its part of the scores and the public key."""

    def __init__(self, plan: Plan, encryption_key: bytes) -> None:
        self.plan = plan
        api = seal()
        self._main = context(plan.degree, main_primes(plan))
        self._encryptor = api.Encryptor(self._main, from_bytes(api.PublicKey(), self._main, encryption_key))
        self._encoder = api.CKKSEncoder(self._main)

    def encrypt(self, parts: NDArray[np.floating[Any]]) -> Iterator[bytes]:
        """One message per chunk for (records, classes) parts of the scores.

        Raises:
            PriveeError: two parts of a record differ by more than this sender's share of the bound.
        """
        rows = np.asarray(parts, dtype=np.float64)
        self._check(rows)
        scaled, layout = rows / self.plan.bound, self.plan.layout
        return (self._encrypted(layout.differences(scaled, chunk)) for chunk in range(layout.chunks))

    def _check(self, rows: NDArray[np.float64]) -> None:
        plan = self.plan
        if rows.ndim != 2 or rows.shape[1] != plan.n_classes or not 1 <= len(rows) <= plan.records:
            wanted = f"1 to {plan.records} rows of {plan.n_classes} classes"
            raise PriveeError(f"the plan is for {wanted}, got shape {rows.shape}")
        share = plan.bound / plan.parties
        spread = np.ptp(rows, axis=1)
        if not (spread <= share * (1 + 1e-9)).all():
            row = int(np.argmin(spread <= share * (1 + 1e-9)))
            raise PriveeError(f"row {row}: parts differ by more than {share:g} (bound / parties); plan a larger bound")

    def _encrypted(self, slots: NDArray[np.float64]) -> bytes:
        api = seal()
        plain, out = api.Plaintext(), api.Ciphertext()
        self._encoder.encode(slots.tolist(), self.plan.compare_scales[0], plain)
        self._encryptor.encrypt(plain, out)
        return to_bytes(out)


class Evaluator:
    """Finds the leading classes without seeing a score, a rank or a key that decrypts."""

    def __init__(self, plan: Plan, keys: EvaluationKeys) -> None:
        self.plan = plan
        api = seal()
        self._main = context(plan.degree, main_primes(plan))
        rotating = context(plan.degree, rotation_primes(plan))
        self._do = SealArithmetic(
            plan,
            self._main,
            rotating,
            from_bytes(api.RelinKeys(), self._main, keys.relinearisation),
            from_bytes(api.GaloisKeys(), rotating, keys.rotation),
        )
        self._encryptor = api.Encryptor(self._main, from_bytes(api.PublicKey(), self._main, keys.encryption))

    def top_k(self, messages: Iterable[Sequence[bytes]], progress: Progress | None = None) -> bytes:
        """The encrypted result; `messages` holds, chunk by chunk, one message of each sender."""
        plan, total, done = self.plan, None, 0
        for done, parts in enumerate(messages, start=1):
            signs = compared(self._do, plan, self._summed(parts))
            total = signs if total is None else self._do.plus(total, signs)
            if progress is not None:
                progress(done, plan.chunks + 1)
        if total is None or done != plan.chunks:
            raise PriveeError(f"the plan has {plan.chunks} chunks, got messages for {done}")
        places = counted(self._do, total, plan.layout.rotations)
        used = plan.layout.used().astype(np.float64)
        slope, constant = plan.points_above_boundary()
        result = self._hidden(leading(self._do, plan, places, slope * used, constant * used))
        if progress is not None:
            progress(plan.chunks + 1, plan.chunks + 1)
        return to_bytes(result)

    def _summed(self, parts: Sequence[bytes]) -> Any:
        if len(parts) != self.plan.parties:
            raise PriveeError(f"the plan is for {self.plan.parties} senders, got {len(parts)} messages")
        api = seal()
        total, *others = (from_bytes(api.Ciphertext(), self._main, part) for part in parts)
        for other in others:
            total = self._do.plus(total, other)
        return total

    def _hidden(self, result: Any) -> Any:
        """A fresh encryption of zero hides how the result came about, noise what its rounding would tell.

        Slots without a result, and imaginary parts, carry noise of the results' own size.
        """
        api = seal()
        zero = api.Ciphertext()
        self._encryptor.encrypt_zero(result.parms_id(), zero)
        zero.scale = result.scale
        draws = secure()
        used, slots = self.plan.layout.used(), self.plan.layout.slots
        noise = draws.normal(slots) * np.where(used, FLOOD, 1.0) + 1j * draws.normal(slots)
        return self._do.plus_plain(self._do.plus(result, zero), noise)
