"""What a plan costs on this machine: counted steps times the time of one, measured once."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
import time
from collections.abc import Callable

import numpy as np

from privee.defenses.encrypted.circuit import compared, counted, leading
from privee.defenses.encrypted.clear import ClearArithmetic
from privee.defenses.encrypted.parameters import Plan
from privee.defenses.encrypted.primes import primes_near
from privee.defenses.encrypted.seal import context, seal

_DEGREE, _PRIMES = 16384, 10


@dataclasses.dataclass(frozen=True)
class UnitCosts:
    """Seconds for one prime pair of a key switch, and for one prime of a product with rescaling, per n log n."""

    key_switch: float
    product: float


@functools.cache
def unit_costs() -> UnitCosts:
    """Measured on a small ring in about a second."""
    api = seal()
    source = primes_near(27, _DEGREE)
    made = context(_DEGREE, (*(next(source) for _ in range(_PRIMES)), next(primes_near(36, _DEGREE))))
    maker, public, relinearisation = api.KeyGenerator(made), api.PublicKey(), api.RelinKeys()
    maker.create_public_key(public)
    maker.create_relin_keys(relinearisation)
    plain, x, product, out = api.Plaintext(), api.Ciphertext(), api.Ciphertext(), api.Ciphertext()
    api.CKKSEncoder(made).encode(0.5, 2.0**27, plain)
    api.Encryptor(made, public).encrypt(plain, x)
    do = api.Evaluator(made)
    multiply = _median_seconds(lambda: do.multiply(x, x, product))
    switch = _median_seconds(lambda: do.relinearize(product, relinearisation, out))
    rescale = _median_seconds(lambda: do.rescale_to_next(product, x))
    size = _DEGREE * math.log2(_DEGREE)
    return UnitCosts(switch / (_PRIMES * (_PRIMES + 1)) / size, (multiply + rescale) / _PRIMES / size)


def _median_seconds(work: Callable[[], object]) -> float:
    """Of processor time: an estimate should not depend on who else is busy just now."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def with_costs(plan: Plan) -> Plan:
    """The plan with its estimates filled in."""
    return dataclasses.replace(plan, seconds=_seconds(plan), megabytes=evaluation_key_bytes(plan) / 1e6)


def _seconds(plan: Plan) -> float:
    """Walk through the computation once, counting: every chunk is the same, what follows comes once."""
    do = ClearArithmetic(plan.primes, plan.degree, None)
    signs = compared(do, plan, do.fresh(np.zeros(plan.layout.slots), plan.compare_scales[0]))
    end = ClearArithmetic(plan.primes, plan.degree, None)
    leading(end, plan, counted(end, signs, plan.layout.rotations), *plan.points_above_boundary())
    return plan.chunks * _priced(do, plan.degree) + _priced(end, plan.degree)


def _priced(do: ClearArithmetic, degree: int) -> float:
    units = unit_costs()
    switches = sum((level + 1) * (level + 2) for level in do.key_switches)
    products = sum(level + 1 for level in do.products)
    return (switches * units.key_switch + products * units.product) * degree * math.log2(degree)


def evaluation_key_bytes(plan: Plan) -> int:
    """Of the keys in the evaluator's memory; on the wire they take about a quarter."""
    rotations = len(plan.layout.rotations) * _switch_key_bytes(plan.degree, plan.counted_level + 1)
    return _switch_key_bytes(plan.degree, len(plan.primes)) + rotations


def _switch_key_bytes(degree: int, primes: int) -> int:
    return primes * 2 * (primes + 1) * degree * 8
