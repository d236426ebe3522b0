"""SEAL, through TenSEAL's binding: contexts, files as bytes, and the arithmetic on ciphertexts.

The only file that touches the package, which is optional.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.baselines.he.circuit import Factor
from privee.baselines.he.parameters import Plan
from privee.errors import PriveeError
from privee.extras import needed


def seal() -> Any:
    """The binding, or one clear line."""
    return needed("tenseal.sealapi", "TenSEAL", extra="baselines", what="encrypted top-k")


@functools.lru_cache(maxsize=4)
def context(degree: int, primes: tuple[int, ...]) -> Any:
    """Parameters of the scheme with all their levels; SEAL refuses what is below 128-bit security.

    Kept: it holds no secret, takes a second to make and a third of a gigabyte.
    """
    made = seal().SEALContext(_parameters(degree, primes), True, seal().SEC_LEVEL_TYPE.TC128)
    if not made.parameters_set():
        raise PriveeError(f"SEAL refuses the parameters: {made.parameters_error_message()}")
    return made


def _parameters(degree: int, primes: tuple[int, ...]) -> Any:
    api = seal()
    parameters = api.EncryptionParameters(api.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(degree)
    parameters.set_coeff_modulus([api.Modulus(prime) for prime in primes])
    return parameters


def main_primes(plan: Plan) -> tuple[int, ...]:
    """The modulus of keys and ciphertexts."""
    return (*plan.primes, plan.special_prime)


def rotation_primes(plan: Plan) -> tuple[int, ...]:
    """The same up to the level where rows are summed: rotation keys for it are a fraction of full size.

    SEAL names a level by its primes alone, so a ciphertext that came down to this level belongs to both contexts.
    """
    return (*plan.primes[: plan.counted_level + 1], plan.special_prime)


def secret_key(degree: int, primes: tuple[int, ...], seed: tuple[int, ...]) -> Any:
    """The secret drawn from a 512-bit seed: the same polynomial for every choice of primes."""
    api = seal()
    parameters = _parameters(degree, primes)
    parameters.set_random_generator(api.Blake2xbPRNGFactory(list(seed)))
    return api.KeyGenerator(api.SEALContext(parameters, False, api.SEC_LEVEL_TYPE.TC128)).secret_key()


def to_bytes(thing: Any) -> bytes:
    """What SEAL writes to a file; the binding knows no other way. The folder is the user's alone."""
    with tempfile.TemporaryDirectory(prefix="privee-") as folder:
        path = Path(folder) / "seal"
        thing.save(str(path))
        return path.read_bytes()


def from_bytes(empty: Any, made_in: Any, data: bytes) -> Any:
    """The thing that `to_bytes` wrote; SEAL checks that it is valid in this context."""
    with tempfile.TemporaryDirectory(prefix="privee-") as folder:
        path = Path(folder) / "seal"
        path.write_bytes(data)
        try:
            empty.load(made_in, str(path))
        except (RuntimeError, ValueError) as error:
            raise PriveeError(f"not a message of this plan ({error})") from None
    return empty


class SealArithmetic:
    """The computation's steps on ciphertexts, with public keys alone."""

    def __init__(self, plan: Plan, main: Any, rotating: Any, relinearisation: Any, galois: Any) -> None:
        api = seal()
        self.primes = plan.primes
        self._api, self._relinearisation, self._galois = api, relinearisation, galois
        self._do, self._rotate, self._encoder = api.Evaluator(main), api.Evaluator(rotating), api.CKKSEncoder(main)
        self._names = _level_names(main, len(plan.primes))

    def level(self, x: Any) -> int:
        return int(x.coeff_modulus_size()) - 1

    def scale(self, x: Any) -> float:
        return float(x.scale)

    def lowered(self, x: Any, level: int) -> Any:
        if level == self.level(x):
            return x
        out = self._api.Ciphertext()
        self._do.mod_switch_to(x, self._names[level], out)
        return out

    def plus(self, x: Any, y: Any) -> Any:
        if abs(x.scale / y.scale - 1) > 1e-9:
            raise ValueError("scales differ")
        out = self._api.Ciphertext()
        y.scale = x.scale  # they differ in the last bit at most, which SEAL would refuse
        self._do.add(x, y, out)
        return out

    def plus_plain(self, x: Any, y: Factor | NDArray[np.complex128]) -> Any:
        out = self._api.Ciphertext()
        self._do.add_plain(x, self.encoded(y, x, x.scale), out)
        return out

    def times(self, x: Any, y: Any) -> Any:
        out = self._api.Ciphertext()
        if x is y:
            self._do.square(x, out)
        else:
            self._do.multiply(x, y, out)
        return out

    def times_plain(self, x: Any, y: Factor, scale: float) -> Any:
        out = self._api.Ciphertext()
        self._do.multiply_plain(x, self.encoded(y, x, scale), out)
        return out

    def encoded(self, y: Factor | NDArray[np.complex128], beside: Any, scale: float) -> Any:
        """A plaintext at the level of another value."""
        plain = self._api.Plaintext()
        values = y.tolist() if isinstance(y, np.ndarray) else float(y)
        self._encoder.encode(values, beside.parms_id(), scale, plain)
        return plain

    def relinearised(self, x: Any) -> Any:
        if x.size() > 2:
            self._do.relinearize_inplace(x, self._relinearisation)
        return x

    def rescaled(self, x: Any) -> Any:
        scale, prime = x.scale, self.primes[self.level(x)]
        self._do.rescale_to_next_inplace(x)
        x.scale = scale / prime
        return x

    def rotated(self, x: Any, steps: int) -> Any:
        out = self._api.Ciphertext()
        self._rotate.rotate_vector(x, steps, self._galois, out)
        return out


def _level_names(main: Any, levels: int) -> list[Any]:
    """SEAL's identifiers of the levels, the lowest first."""
    names, data = [], main.first_context_data()
    for _ in range(levels):
        names.append(data.parms_id())
        data = data.next_context_data()
    return names[::-1]
