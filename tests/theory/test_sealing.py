"""The channel of a sealed party: its privacy in exact arithmetic, and draws that follow it word for word."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privee import theory
from privee.errors import SettingError
from privee.randomness import Draws, keyed, seeded
from privee.theory.sealing import LARGEST_EPSILON, WORDS, _exp_below

CHANCE = 1e-6
"""How often each statistical test here would fail by chance, with other seeds."""
CODES = (2, 3, 4, 5, 7, 8, 16, 100, 128, 250, 255, 256)
EPSILONS = (0.0, 5e-324, 1e-300, 1e-15, 1e-12, 1e-11, 1.4e-11, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 30.0)
EPSILONS += (35.0, 36.0, 36.05, 37.0, 40.0, 41.0, 700.0, 709.8, 1e5)


def exp_of(epsilon: float) -> Decimal:
    """e^epsilon to 120 digits, by another library than the one that is tested."""
    with localcontext(prec=120):
        return Decimal(epsilon).exp()


class Words(Draws):
    """Draws that are given."""

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def words(self, count: int) -> np.ndarray:
        assert count == len(self._words)
        return self._words


def assert_private(codes: int, epsilon: float) -> None:
    own, other = theory.response_weights(codes, epsilon)
    with localcontext(prec=120):
        assert Decimal(own) <= Decimal(other) * exp_of(epsilon)
    assert own >= other >= 1
    if own == other:
        assert own == WORDS // codes
    else:
        assert own + (codes - 1) * other == WORDS


@pytest.mark.parametrize("codes", CODES)
def test_no_code_is_more_than_e_to_the_epsilon_times_likelier_in_whole_numbers(codes):
    for epsilon in EPSILONS:
        assert_private(codes, epsilon)


@given(codes=st.integers(2, 256), epsilon=st.floats(0, 50) | st.floats(0, 1e-9))
def test_the_same_for_any_setting(codes, epsilon):
    assert_private(codes, epsilon)


@given(codes=st.integers(2, 256), epsilon=st.floats(2e-11, 45))
def test_no_noise_is_wasted(codes, epsilon):
    """One word less for each other code would break the promise, but for the last word."""
    _, other = theory.response_weights(codes, epsilon)
    less = other - 1
    with localcontext(prec=120):
        assert less == 0 or Decimal(WORDS - (codes - 1) * less) > Decimal(less) * exp_of(epsilon)


@given(epsilon=st.floats(0, 45))
def test_the_fraction_for_e_to_the_epsilon_is_below_it_and_close(epsilon):
    found = _exp_below(epsilon)
    with localcontext(prec=120):
        exact = exp_of(min(epsilon, LARGEST_EPSILON))
        below = 1 - Decimal(found.numerator) / Decimal(found.denominator) / exact
        assert 0 <= below < Decimal(2) ** -118
    assert found >= 1


def test_next_to_no_epsilon_every_record_is_sent_alike():
    """Three codes share 2**52 words unevenly, so the word left over must not go to the own code."""
    assert theory.response_weights(3, 0.0) == (WORDS // 3, WORDS // 3)
    assert theory.response_weights(4, 0.0) == (WORDS // 4, WORDS // 4)
    for codes in CODES:
        for epsilon in (0.0, 1e-16 if WORDS % codes else 0.0):
            rows = theory.channel(codes, epsilon)
            assert (rows == rows[0]).all()
            assert sum(map(Fraction, rows[0].tolist())) == 1
            assert theory.leaked_bits(codes, epsilon) == 0
            assert theory.effective_epsilon(codes, epsilon) == 0


@given(codes=st.integers(2, 256), epsilon=st.floats(0, 800) | st.none())
def test_the_channel_is_its_weights_to_the_last_bit(codes, epsilon):
    own, other = theory.response_weights(codes, epsilon)
    rows = theory.channel(codes, epsilon)
    assert rows.shape == (codes, codes)
    row = [Fraction(share) for share in rows[1].tolist()]
    assert sum(row) == 1
    if own + (codes - 1) * other == WORDS:
        assert row[1] == Fraction(own, WORDS)
        assert {*row[:1], *row[2:]} == {Fraction(other, WORDS)}
        assert (rows.diagonal() == rows[1, 1]).all()
        assert np.count_nonzero(rows == rows[0, 1]) >= codes * (codes - 1)


def test_without_epsilon_codes_are_sent_as_they_are():
    assert theory.response_weights(7, None) == (WORDS, 0)
    assert (theory.channel(7, None) == np.eye(7)).all()
    true = np.array([6, 0, 3], dtype=np.uint8)
    sent = theory.released_codes(true, 7, None, Draws())  # which would fail if it were asked
    assert sent.tolist() == [6, 0, 3]
    assert not np.shares_memory(sent, true)


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-9, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("codes", [2, 3, 4, 6])
def test_every_word_means_the_code_that_the_channel_says(codes, epsilon):
    """Nothing here is statistical: the sent code changes at whole multiples of `other` alone, so the edges tell all."""
    own, other = theory.response_weights(codes, epsilon)
    edges = [other * k for k in range(codes)] + [(codes - 1) * other + own + k for k in range(codes)]
    edges = sorted({edge for edge in edges if edge < WORDS} | {0})
    ends = [*(edge - 1 for edge in edges[1:]), WORDS - 1]
    for true in range(codes):
        first, last = (sent_for(true, codes, epsilon, words) for words in (edges, ends))
        assert first == last
        shares = [Fraction(0)] * codes
        for code, start, end in zip(first, edges, ends, strict=True):
            shares[code] += Fraction(end - start + 1, WORDS)
        assert shares == [Fraction(share) for share in theory.channel(codes, epsilon)[true].tolist()]


def sent_for(true: int, codes: int, epsilon: float, numbers: list[int]) -> list[int]:
    words = Words([(number << 12) + 4095 for number in numbers])  # the lowest bits do not matter
    return theory.released_codes(np.full(len(numbers), true, dtype=np.uint8), codes, epsilon, words).tolist()


@pytest.mark.parametrize(("codes", "epsilon"), [(2, 1.0), (3, 0.0), (8, 2.0), (16, 4.0), (256, 1.0), (256, 6.0)])
def test_codes_come_as_often_as_the_channel_says(codes, epsilon):
    """Each chi-square would fail once in a million by chance; two true codes for each setting."""
    for true in (0, codes - 1):
        sent = theory.released_codes(np.full(200_000, true), codes, epsilon, seeded(5, codes, true))
        assert sent.dtype == np.uint8
        seen = np.bincount(sent, minlength=codes)
        assert stats.chisquare(seen, theory.channel(codes, epsilon)[true] * len(sent)).pvalue > CHANCE


def test_a_chi_square_of_this_size_would_notice_a_wrong_channel():
    """Noise for an epsilon of 2.05 where 2 is promised."""
    sent = theory.released_codes(np.zeros(200_000, dtype=np.uint8), 8, 2.05, seeded(6))
    expected = theory.channel(8, 2.0)[0] * len(sent)
    assert stats.chisquare(np.bincount(sent, minlength=8), expected).pvalue < CHANCE


def test_records_have_noise_of_their_own():
    """Neighbours are moved together as often as independence says; false alarm once in a million."""
    sent = theory.released_codes(np.zeros(200_000, dtype=np.uint8), 4, 1.0, seeded(7)).reshape(-1, 2)
    both = np.bincount(sent[:, 0] * 4 + sent[:, 1], minlength=16)
    row = theory.channel(4, 1.0)[0]
    assert stats.chisquare(both, np.outer(row, row).ravel() * len(sent)).pvalue > CHANCE


def test_a_keyed_draw_is_the_same_draw_and_a_batch_is_its_rows():
    true = np.arange(8, dtype=np.uint8)
    again = [theory.released_codes(true, 8, 0.5, keyed(b"k" * 16, b"entities")).tolist() for _ in range(2)]
    assert again[0] == again[1] != true.tolist()
    assert theory.released_codes(true, 8, 0.5, keyed(b"K" * 16, b"entities")).tolist() != again[0]
    one, stream = seeded(8), seeded(8)
    rows = [int(theory.released_codes([code], 8, 0.5, one)[0]) for code in true]
    assert theory.released_codes(true, 8, 0.5, stream).tolist() == rows


def test_one_word_for_two_true_codes_has_no_epsilon():
    """Why a keyed draw is for one version of a record: with the same word, 0 and 3 sent are both true."""
    own, _ = theory.response_weights(4, 0.1)
    for number in np.linspace(0, WORDS - 1, 1000).astype(int).tolist():
        before, after = (sent_for(true, 4, 0.1, [number])[0] for true in (0, 3))
        assert (before, after) == (0, 3) or after == before - 1
        assert ((before, after) == (0, 3)) == (number >= WORDS - own)


def test_numbers_of_numpy_do_for_settings():
    for codes, epsilon in ((np.uint8(200), np.float32(0.5)), (np.int64(200), np.float64(0.5))):
        assert theory.response_weights(codes, epsilon) == theory.response_weights(200, 0.5)
        assert (theory.channel(codes, epsilon) == theory.channel(200, 0.5)).all()
        assert theory.fact_guess_bound(0.5, epsilon, codes) == theory.fact_guess_bound(0.5, 0.5, 200)
        assert theory.leaked_bits_of_draws(codes, epsilon, 3) == theory.leaked_bits_of_draws(200, 0.5, 3)
        sent = theory.released_codes(np.arange(200), codes, epsilon, seeded(9)).tolist()
        assert sent == theory.released_codes(np.arange(200), 200, 0.5, seeded(9)).tolist()


def test_nothing_goes_in_nothing_comes_out():
    assert theory.released_codes([], 4, 1.0, seeded(1)).shape == (0,)
    assert theory.released_codes(np.array([], dtype=np.uint8), 4, None, seeded(1)).dtype == np.uint8


@pytest.mark.parametrize("codes", [1, 0, -3, 257, 2.0, "8", None])
def test_codes_that_cannot_be_are_refused(codes):
    for call in (
        lambda: theory.response_weights(codes, 1.0),
        lambda: theory.channel(codes, None),
        lambda: theory.released_codes([0], codes, 1.0, seeded(1)),
        lambda: theory.code_bits(codes),
        lambda: theory.leaked_bits(codes, 1.0),
        lambda: theory.SealedChannel(codes, 1.0),
    ):
        with pytest.raises(SettingError, match="whole number from 2 to 256") as error:
            call()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("epsilon", [-1e-300, -1.0, float("nan"), float("inf")])
def test_epsilons_that_cannot_be_are_refused(epsilon):
    for call in (
        lambda: theory.response_weights(4, epsilon),
        lambda: theory.released_codes([0], 4, epsilon, seeded(1)),
        lambda: theory.odds_bound(epsilon),
        lambda: theory.fact_guess_bound(0.5, epsilon),
        lambda: theory.SealedChannel(4, epsilon),
    ):
        with pytest.raises(SettingError, match="0 or more, or None"):
            call()


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_a_row_that_holds_no_code_is_named_and_its_value_is_not(epsilon):
    for wrong in (4, 77, 256, -78):
        with pytest.raises(SettingError, match=r"^row 2 holds none of the 4 codes, which are 0 to 3$"):
            theory.released_codes([0, 3, wrong, 1], 4, epsilon, seeded(1))
    with pytest.raises(SettingError, match="whole numbers"):
        theory.released_codes([0.5, 1.0], 4, epsilon, seeded(1))
    with pytest.raises(SettingError, match="one column"):
        theory.released_codes([[0, 1]], 4, epsilon, seeded(1))
