"""Top-k under homomorphic encryption: the polynomials, the plan, what is refused up front, and how a result is read."""

import json
import types

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import privee
from privee.baselines import EncryptedTopK
from privee.baselines.he.circuit import polynomial, split
from privee.baselines.he.clear import ClearArithmetic
from privee.baselines.he.encrypted_session import encrypted_top_k, read_result
from privee.baselines.he.parameters import MODULUS_LIMIT, Plan, SlotLayout, is_prime, place, primes_near
from privee.baselines.he.planning import plan
from privee.baselines.he.polynomials import (
    Composite,
    is_order_keeping,
    sign_composite,
    sign_series,
    step_composite,
    step_series,
)
from privee.baselines.he.seal import seal

GAP = 1 / 1024


# --- polynomials -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [3, 7, 15, 31])
@pytest.mark.parametrize("gap", [0.6, 0.1, 0.004])
def test_sign_polynomials_are_as_good_as_they_say_and_none_is_better(gap, degree):
    """On a grid 30 times finer the error is no larger; it peaks with changing sign often enough to be the best."""
    series, error = sign_series(gap, degree)
    x = np.r_[np.geomspace(gap, 1, 90_000), np.cos(np.linspace(0, np.arccos(gap), 90_000))]
    x = np.sort(np.clip(x, gap, 1))
    off = chebyshev.chebval(x, series) - 1
    assert np.abs(off).max() <= error
    assert not any(series[::2])
    peaks = off[np.abs(off) > error * (1 - 1e-3) - 1e-13]
    assert np.count_nonzero(np.diff(np.sign(peaks))) >= (degree + 1) // 2  # Chebyshev's alternation


@pytest.mark.parametrize(("classes", "k"), [(2, 1), (10, 5), (100, 5), (100, 99), (1000, 5)])
def test_step_polynomials_are_as_good_as_they_say(classes, k):
    low, high = place(classes, k - 0.05), place(classes, k - 0.95)
    for degree in (7, 15, 31):
        series, error = step_series(low, high, degree)
        for a, b, target in ((-1.0, low, -1.0), (high, 1.0, 1.0)):
            x = (a + b) / 2 + (b - a) / 2 * np.cos(np.linspace(0, np.pi, 100_000))
            assert np.abs(chebyshev.chebval(x, series) - target).max() <= error


def test_composites_keep_their_bound_and_rise_through_the_gap():
    sign = sign_composite(GAP, (7, 15, 15, 15))
    x = np.geomspace(GAP, 1, 300_000)
    assert np.abs(sign(x) - 1).max() <= sign.error < 2e-6
    assert np.abs(sign(-x) + 1).max() <= sign.error
    inside = np.linspace(-GAP, GAP, 20_001)
    assert (np.diff(sign(inside)) > -1e-12).all()
    step = step_composite(place(100, 4.95), place(100, 4.05), 31, (31,)).scaled(0.5, 0.5)
    ranks = np.r_[np.linspace(0, 4.05, 5000), np.linspace(4.95, 99, 50_000)]
    assert np.abs(step(place(100, ranks)) - (ranks < 4.5)).max() <= step.error < 1e-5


def test_a_wrong_coefficient_is_noticed():
    """The check that the safety argument rests on: sums of comparisons keep the order in spite of ripple."""
    sign = sign_composite(GAP, (7, 15, 15, 15))
    assert is_order_keeping(sign, 100)
    *first, last = sign.stages
    wrong = Composite((*first, (*last[:-1], last[-1] + 1e-3)), sign.error)
    assert not is_order_keeping(wrong, 100)
    assert not is_order_keeping(sign_composite(GAP, (7, 15, 15)), 100)


@pytest.mark.parametrize("degree", [3, 7, 15, 31])
def test_the_circuit_evaluates_series(degree):
    rng = np.random.default_rng(degree)
    series, x = tuple(rng.normal(size=degree + 1)), rng.uniform(-1, 1, 50)
    source = primes_near(40, 32768)
    do = ClearArithmetic([next(source) for _ in range(8)], 32768, None)
    found = polynomial(do, series, do.fresh(x, 2.0**40), 2.0**35)
    assert found.values == pytest.approx(chebyshev.chebval(x, series), abs=1e-9)
    assert found.scale == pytest.approx(2.0**35)
    assert 7 - found.level == degree.bit_length()
    low, high = split(series)
    middle = chebyshev.chebval(x, [0] * len(high) + [1])
    rebuilt = chebyshev.chebval(x, low) + chebyshev.chebval(x, high) * middle
    assert rebuilt == pytest.approx(chebyshev.chebval(x, series))


# --- the plan --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "k"), [(2, 1), (10, 5), (100, 5), (3, 9)])
def test_plans_state_their_parameters_and_keep_128_bits(classes, k):
    made = plan(classes, k)
    assert made.modulus_bits <= MODULUS_LIMIT[made.degree]
    assert all(is_prime(p) and p % (2 * made.degree) == 1 for p in (*made.primes, made.special_prime))
    assert len({*made.primes, made.special_prime}) == made.levels + 2
    assert made.levels == made.compare.depth + made.select.depth + 1
    assert made.gap == GAP
    assert made.k == min(k, classes - 1)
    assert 0 < made.leak <= 0.1
    assert "at least 128-bit security" in str(made)
    assert "nan" not in str(made)
    assert Plan.from_dict(json.loads(json.dumps(made.as_dict()))) == made


def test_the_standards_table_is_seals():
    api = seal()
    for degree, bits in MODULUS_LIMIT.items():
        assert api.CoeffModulus.MaxBitCount(degree, api.SEC_LEVEL_TYPE.TC128) == bits


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plan(10_000), r"top-5 of 10,000 classes would take about \d+ hours here, the limit is 20 minutes"),
        (lambda: plan(100, time_limit=0.5), r"top-5 of 100 classes would take about \d+ seconds here"),
        (lambda: plan(100, 50, gap=2**-13), "does not fit a modulus of 128-bit security"),
        (lambda: plan(1), "n_classes must be a whole number"),
        (lambda: plan(10, 0), "k must be a whole number"),
        (lambda: plan(10, gap=0.5), "gap must be at most 1/16"),
        (lambda: plan(10, bound=-1), "bound must be a number above 0"),
        (lambda: encrypted_top_k([np.nan, 0.5]), "finite vector"),
        (lambda: EncryptedTopK(0), "k must be a whole number"),
        (lambda: EncryptedTopK(gap=-1.0), "gap must be a number above 0"),
    ],
)
def test_what_cannot_be_done_is_refused_up_front(make, message):
    with pytest.raises(privee.PriveeError, match=message):
        make()


def test_layout_sums_every_column_for_many_records_and_for_many_chunks():
    rng = np.random.default_rng(2)
    for classes, records in ((10, 102), (3, 7), (300, 1), (16384, 1)):
        layout, scores = SlotLayout(classes, 16384), rng.random((records, classes))
        assert layout.fits
        total = sum(layout.differences(scores, chunk) for chunk in range(min(layout.chunks, 60)))
        for step in layout.rotations:
            total = total + np.roll(total, -step)
        seen = scores[:, : min(layout.chunks, 60) * layout.rows]
        wanted = seen.sum(axis=1, keepdims=True) - seen.shape[1] * scores
        assert layout.read(total, records) == pytest.approx(wanted)
        assert np.flatnonzero(layout.used()).tolist() == list(range(layout.records * classes))
    assert not SlotLayout(16385, 16384).fits


# --- reading ---------------------------------------------------------------------------------------------------------


def test_reading_claims_no_more_than_the_split_allows():
    made = types.SimpleNamespace(k=2)
    read = [read_result(np.array(v), made, 0.0) for v in ([2, 1, 0], [1.5, 1.5, 0], [2, 0.25, 0.25], [1, 1, 1])]
    assert [r.groups for r in read] == [((0,), (1,)), ((0, 1),), ((0,),), ()]
    assert [r.undecided_classes for r in read] == [(), (), (1, 2), (0, 1, 2)]
    assert [r.ranks for r in read] == [(1, 2), (1, 1), (1,), ()]
    assert [(r.decided, r.ordered) for r in read] == [(True, True), (True, False), (False, False), (False, False)]
    for broken in ([40.0, -3.0, 1.0], [np.nan, 1.0, 0.0]):
        with pytest.raises(privee.PriveeError, match="wrong key, wrong plan"):
            read_result(np.array(broken), made, 0.0)
