"""The order contract, bit for bit: stable argsort of the negated release equals that of the scores, and strictly
larger scores get strictly larger releases, in the returned dtype, for every valid input."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import privee
from privee.scores.order import rise_where
from tests._support.scores import softmax_rows

DEFENSES = [
    privee.PriveeU(rho=0.1),
    privee.PriveeU(rho=0.1, transform="identity"),
    privee.PriveeU(rho=0.1, draw_range=3.0),
    privee.PriveeU(rho=1e9),
    privee.PriveeU(rho=1e-9),
    privee.PriveeUPlus(rho_low=0.05, rho_high=0.9),
    privee.PriveeUPlus(rho_low=0.3, rho_high=0.3, transform="identity"),
    privee.RankingOnly(),
    privee.OrderedDP(0.01),
    privee.OrderedDP(8.0, prior=(9.0, 1.0)),
    privee.OrderedDP(1e4, tail=3.0),
    privee.OrderedDP(2.0, spend="all"),
    privee.OrderedDP(1e4, spend="all"),
    privee.Temperature(temperature=5.0),
    privee.Temperature(temperature=0.1),
    privee.NoDefense(),
]
ids = [d.spec for d in DEFENSES]
TINY = {np.float32: 1e-45, np.float64: 5e-324}


def assert_contract(scores: np.ndarray, release: np.ndarray) -> None:
    """Written out with NumPy alone, on purpose not with privee's own ranking."""
    assert release.dtype == scores.dtype
    assert release.shape == scores.shape
    assert np.isfinite(release).all()
    order = np.argsort(-scores, axis=-1, kind="stable")
    assert (np.argsort(-release, axis=-1, kind="stable") == order).all()
    c, p = np.take_along_axis(scores, order, -1), np.take_along_axis(release, order, -1)
    fell = c[..., :-1] > c[..., 1:]
    assert (p[..., :-1] > p[..., 1:])[fell].all()


def nasty(dtype) -> dict[str, np.ndarray]:
    """The cases that break naive implementations, by name."""
    tiny, eps = TINY[dtype], np.finfo(dtype).eps
    smallest = np.array([0, tiny, 2 * tiny, 3 * tiny, np.finfo(dtype).tiny], dtype=dtype)
    near = np.full(5000, 1 / 5000, dtype=dtype)
    near[::3] = np.nextafter(near[0], dtype(1))
    ladder = np.full(300, 1 / 300, dtype=dtype) * (1 + np.arange(300) * eps).astype(dtype)
    return {
        "subnormals beside one": np.append(smallest, dtype(1)),
        "saturated": np.array([1, 0, 0, 0], dtype=dtype),
        "saturated with dust": np.array([1 - eps, tiny, 0, 1e-30, 2e-30], dtype=dtype),
        "all equal": np.full(8, 1 / 8, dtype=dtype),
        "two classes, one ulp": np.array([0.5, np.nextafter(dtype(0.5), dtype(1))], dtype=dtype),
        "negative zero": np.array([-0.0, 0.0, 1.0, -0.0], dtype=dtype),
        "swallowed by 2/K": np.append(np.geomspace(1e-44, 1e-9, 60).astype(dtype), dtype(1)),
        "thousands of near-equal scores": near,
        "every score one ulp apart": ladder,
        "tie at the top": np.array([0.1, 0.4, 0.1, 0.4], dtype=dtype),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("defense", DEFENSES, ids=ids)
def test_nasty_cases(defense, dtype):
    for seed, (name, scores) in enumerate(nasty(dtype).items()):
        for repeat in range(5):
            release = defense.release(scores, draws=privee.seeded(seed, repeat))
            try:
                assert_contract(scores, release)
            except AssertionError as error:
                raise AssertionError(f"{defense.spec} breaks the order of: {name}") from error


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("defense", DEFENSES, ids=ids)
@pytest.mark.parametrize(("rows", "classes"), [(2000, 2), (2000, 10), (100, 1000), (4, 100_000)])
def test_model_like_scores_mild_and_saturated(defense, dtype, rows, classes):
    for spread in (1.0, 30.0, 300.0):
        scores = softmax_rows(rows, classes, spread).astype(dtype)
        assert_contract(scores, defense.release(scores, draws=privee.seeded(classes)))


def weights(dtype):
    width = 32 if dtype is np.float32 else 64
    smooth = st.floats(0, 1, width=width, allow_subnormal=True)
    edge = st.sampled_from([0.0, TINY[dtype], 1.0, float(np.finfo(dtype).tiny), 0.5, 0.25])
    return st.one_of(smooth, edge)


@st.composite
def score_arrays(draw):
    """Rows that mix ordinary values, subnormals, zeros and repeats, then normalised (which keeps subnormals)."""
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    shape = (draw(st.integers(1, 4)), draw(st.integers(2, 40)))
    values = draw(hnp.arrays(dtype, shape, elements=weights(dtype), fill=weights(dtype)))
    total = values.sum(axis=1, keepdims=True)
    assume((total > 1e-3).all())
    return (values / total).astype(dtype)


@settings(max_examples=300)
@given(score_arrays(), st.sampled_from(DEFENSES), st.integers(0, 2**32))
@example(np.array([[1.0, 5e-324, 0.0]]), privee.PriveeU(rho=0.1), 0)
@example(np.array([[1.0, 1e-45, 0.0]], dtype=np.float32), privee.PriveeU(rho=0.1), 0)
@example(np.array([[0.5, 0.5, 0.0, 0.0]]), privee.RankingOnly(), 0)
def test_any_valid_scores(scores, defense, seed):
    assert_contract(scores, defense.release(scores, draws=privee.seeded(seed)))


@settings(max_examples=100)
@given(score_arrays(), st.lists(st.floats(0.01, 100), min_size=2, max_size=2), st.floats(1e-3, 10))
def test_any_valid_settings(scores, rhos, draw_range):
    defense = privee.PriveeUPlus(rho_low=min(rhos), rho_high=max(rhos), draw_range=draw_range)
    assert_contract(scores, defense.release(scores, draws=privee.seeded(1)))


def test_scores_that_need_no_sum_check_keep_their_order_too():
    scores = np.array([[5e8, 1.0, 5e-324, 0.0], [0, 0, 0, 0]])
    for defense in DEFENSES:
        assert_contract(scores, defense.release(scores, check_sum=False))


finite = st.floats(-1e30, 1e30, allow_subnormal=True)


@settings(max_examples=300)
@given(hnp.arrays(np.float64, (2, 12), elements=st.one_of(finite, st.sampled_from([0.0, -0.0, 5e-324, -5e-324]))))
@example(np.array([[-5e-324] * 4, [-0.0, 0.0, -0.0, 0.0]]))
def test_repair_is_the_least_one(values):
    """Against the obvious loop: raise each value to the next float above its predecessor, only where needed."""
    scores = np.sort(np.abs(values), axis=1)
    expected = values.copy()
    for row, c in zip(expected, scores, strict=True):
        for k in range(1, len(row)):
            floor = np.nextafter(row[k - 1], np.inf) if c[k] > c[k - 1] else row[k - 1]
            row[k] = max(row[k], floor)
    assert (rise_where(scores, values.copy()) == expected).all()


def test_the_contract_would_notice_a_broken_release(scores):
    """The plain formula, without the repair, fails the same assertion."""
    bad = np.array([1.0, 1e-30, 0.0])
    with pytest.raises(AssertionError):
        assert_contract(bad, bad * 1.5 - 2 / 3)
    swapped = scores.copy()
    swapped[:, [0, 1]] = swapped[:, [1, 0]]
    with pytest.raises(AssertionError):
        assert_contract(scores, swapped)
