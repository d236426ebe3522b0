"""From a question to a plan, or to one line that says why there is none."""

from __future__ import annotations

import math

from privee.defenses.base import check_positive, check_whole
from privee.defenses.encrypted.costs import unit_costs, with_costs
from privee.defenses.encrypted.layout import Layout
from privee.defenses.encrypted.parameters import Plan
from privee.defenses.encrypted.search import find_plan
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
    layout = Layout(n_classes, _DEGREE // 2)
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
