"""From a question to a plan, or to one line that says why there is none.

What a plan costs on this machine is counted steps times the time of one, measured once.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
import time
from collections.abc import Callable

import numpy as np

from privee.baselines.he.circuit import compared, counted, leading
from privee.baselines.he.clear import ClearArithmetic
from privee.baselines.he.parameters import Plan, SlotLayout, primes_near
from privee.baselines.he.plan_search import find_plan
from privee.baselines.he.seal import context, seal
from privee.defenses.base import check_positive, check_whole
from privee.errors import PriveeError, SettingError

GAP = 1 / 1024
COARSEST = 1 / 16
TIME_LIMIT = 1200.0

_DEGREE = 32768
_TYPICAL_SWITCHES = 9000
"""Prime pairs of the key switches of one chunk, in plans of 20 to 27 levels."""


def plan(
    n_classes: int,
    k: int = 5,
    *,
    bound: float = 1.0,
    parties: int = 1,
    gap: float | None = None,
    time_limit: float = TIME_LIMIT,
) -> Plan:
    """Parameters for finding the k leading classes under encryption.

    Args:
        n_classes: how many classes there are.
        k: how many are wanted.
        bound: no two scores of a record differ by more; public.
        parties: senders whose parts add up to the scores; each may spread its part over bound / parties.
        gap: smallest difference, as a share of the bound, that must be told for certain. Unless given, 1/1024, or
            the finest that fits where that does not.
        time_limit: seconds; a plan that would take longer is refused.

    Raises:
        PriveeError: TenSEAL is missing, nothing fits, or it would take too long; the message says how long.
    """
    check_whole(2, 10**9, n_classes=n_classes)
    check_whole(1, 10**9, k=k)
    check_whole(1, 1000, parties=parties)
    check_positive(bound=bound, time_limit=time_limit)
    if gap is not None:
        check_positive(gap=gap)
        if gap > COARSEST:
            raise SettingError(f"gap must be at most 1/16 of the bound, got {gap!r}")
    what = f"encrypted top-{min(k, n_classes - 1)} of {n_classes:,} classes"
    refuse_if_slow(rough_seconds(n_classes), 2 * time_limit, time_limit, what)
    gaps = [gap] if gap is not None else [GAP * 2 ** (step / 2) for step in range(13)]
    for tried in gaps:
        found = find_plan(n_classes, min(k, n_classes - 1), tried, float(bound), parties)
        if found is not None:
            priced = with_costs(found)
            refuse_if_slow(priced.seconds, time_limit, time_limit, what)
            return priced
    raise PriveeError(
        f"{what} does not fit a modulus of 128-bit security; ask for a larger gap, a smaller k or fewer classes"
    )


def rough_seconds(n_classes: int) -> float:
    """Before any polynomial is computed: chunks times what a chunk usually takes."""
    layout = SlotLayout(n_classes, _DEGREE // 2)
    return layout.chunks * _TYPICAL_SWITCHES * unit_costs().key_switch * _DEGREE * math.log2(_DEGREE)


def refuse_if_slow(seconds: float, refused_above: float, limit: float, what: str) -> None:
    """One line with the estimate."""
    if seconds > refused_above:
        raise PriveeError(
            f"{what} would take about {_readable(seconds)} here, the limit is {_readable(limit)} (time_limit)"
        )


def _readable(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} seconds"


_PROBE_DEGREE, _PRIMES = 16384, 10


@dataclasses.dataclass(frozen=True)
class UnitCosts:
    """Seconds for one prime pair of a key switch, and for one prime of a product with rescaling, per n log n."""

    key_switch: float
    product: float


@functools.cache
def unit_costs() -> UnitCosts:
    """Measured on a small ring in about a second."""
    api = seal()
    source = primes_near(27, _PROBE_DEGREE)
    made = context(_PROBE_DEGREE, (*(next(source) for _ in range(_PRIMES)), next(primes_near(36, _PROBE_DEGREE))))
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
    size = _PROBE_DEGREE * math.log2(_PROBE_DEGREE)
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
