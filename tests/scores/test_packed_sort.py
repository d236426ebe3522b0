"""Quick ways to sort, to add up and to repair: what they give is, bit for bit, what the slow and obvious way gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privee.scores import ascending, rise_where
from privee.scores.along_rows import BLOCK, add_up, rough_sums, row_sums, to_each
from privee.scores.order import _plain_sort
from privee.scores.packed_sort import packed_sort
from privee.scores.validation import check_rows, check_rows_alone
from tests._support.plain_release import hostile_rows, plain_order, plain_rise


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@settings(max_examples=200)
@given(hostile_rows(), st.sampled_from([packed_sort, _plain_sort, ascending]), st.booleans())
def test_any_rows_are_sorted_as_by_comparing_numbers_one_by_one(rows, sort, negative):
    if negative:  # releases are sorted too, and they may be negative
        rows = (rows * np.where(np.arange(rows.size).reshape(rows.shape) % 3, 1, -1)).astype(rows.dtype)
    order, values = sort(rows)
    expected = plain_order(rows)
    assert (order - np.arange(len(rows))[:, None] * rows.shape[1] == expected).all()
    assert same_bits(values, np.take_along_axis(rows, expected, axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(BLOCK // 10 * 3 + 7, 10), (40, 1000), (1, BLOCK + 1), (3, BLOCK), (2, 50_000)])
def test_blocks_and_long_rows(shape, dtype):
    """Scores that repeat, and float64 ones a last bit apart: in a long row both are everywhere."""
    rng = np.random.default_rng(5)
    rows = (rng.integers(1, 300, size=shape) * (1 + rng.integers(0, 3, size=shape) * 2.0**-52)).astype(dtype)
    order, values = packed_sort(rows)
    columns = np.broadcast_to(np.arange(shape[1]), shape)
    expected = np.lexsort((-columns, rows), axis=1)
    assert (order % shape[1] == expected).all()
    assert same_bits(values, np.take_along_axis(rows, expected, axis=1))


@settings(max_examples=200)
@given(hostile_rows(), st.sampled_from(["scores", "everywhere"]), st.sampled_from([0.0, 0.2, 1e-3]), st.booleans())
def test_any_release_is_repaired_as_by_the_obvious_loop(rows, where, shift, signed_zeros):
    scores = np.sort(np.abs(rows), axis=1)
    values = (scores * 1.5 - shift).astype(rows.dtype)
    if signed_zeros:
        values[:, 0] = -0.0
    values[: len(values) // 2] = np.sort(values[: len(values) // 2], axis=1)[:, ::-1]  # out of order altogether
    given_scores = scores if where == "scores" else None
    expected = plain_rise(given_scores, values)
    assert same_bits(rise_where(given_scores, values.copy()), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [*range(1, 34), 100])
@pytest.mark.parametrize("rows", [1, 63, 64, 5000])
def test_sums_are_numpys_own_to_the_last_bit(rows, classes, dtype):
    values = np.ldexp(1 + np.random.default_rng(classes).random((rows, classes)), -classes % 7).astype(dtype)
    values[::3] *= np.geomspace(1, 1e-12, classes).astype(dtype)
    sums = row_sums(values)
    assert same_bits(sums, np.add.reduce(values, axis=1, dtype=np.float64))
    assert np.allclose(rough_sums(values), sums, rtol=1e-4, atol=0)
    wide = values.astype(np.float64)
    assert same_bits(add_up(wide.copy()), np.cumsum(wide, axis=1))
    assert same_bits(wide * to_each(sums, classes), wide * sums[:, None])


@pytest.mark.parametrize("rows", [1, 64, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "spoil", [(np.nan, 0), (np.inf, 0), (-np.inf, 0), (-1e-9, 0), (None, 1.0011), (None, 0.9989), (None, 1.0009)]
)
def test_the_rough_check_refuses_what_the_exact_one_does(rows, dtype, spoil):
    """NaN, infinities, negative scores, sums that miss by a little more, or less, than is let through."""
    number, total = spoil
    scores = np.random.default_rng(2).dirichlet(np.ones(10), size=rows)
    scores[rows // 2] *= total or 1.0
    if number is not None:
        spoilt = scores[rows // 2]
        spoilt[4] += spoilt[3] if np.isfinite(number) else 0.0  # the sum must not give a negative score away
        spoilt[3] = number
    found = []
    for check in (check_rows, check_rows_alone):
        try:
            check(scores.astype(dtype))
            found.append("")
        except ValueError as error:
            found.append(str(error))
    assert found[0] == found[1]
    assert bool(found[0]) == (total != 1.0009)
