"""What one code tells at most: each bound against all there is, by brute force. Nothing here is statistical."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privee import theory
from privee.errors import SettingError
from privee.theory.sealed_bounds import _sequences
from privee.theory.sealing import WORDS

SLACK = 1e-12
codes_of = st.integers(2, 6)
epsilons = st.none() | st.floats(0, 10) | st.sampled_from([0.0, 1e-12, 1e-9, 36.0, 700.0])
seeds = st.integers(0, 2**32 - 1)


def guess_right(joint: np.ndarray, answers: np.ndarray) -> float:
    """How often the best guess of an answer is right, given the code: joint is P(record, code)."""
    by_answer = np.stack([joint[answers == answer].sum(axis=0) for answer in np.unique(answers)])
    return float(by_answer.max(axis=0).sum())


def any_case(seed: int, codes: int, epsilon: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Any prior of 12 records, flat to peaked; any encoder; any question: P(record, code), answers, encoder."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(12, rng.choice([0.1, 1.0, 100.0])))
    encoder = rng.integers(codes, size=12)
    answers = rng.integers(rng.integers(2, 12), size=12)
    return prior[:, None] * theory.channel(codes, epsilon)[encoder], answers, encoder


@given(seed=seeds, codes=codes_of, epsilon=epsilons)
def test_no_guess_gains_more_than_the_leaked_bits(seed, codes, epsilon):
    joint, answers, encoder = any_case(seed, codes, epsilon)
    for question in (answers, encoder, np.arange(12)):
        before, after = guess_right(joint.sum(axis=1, keepdims=True), question), guess_right(joint, question)
        assert after <= theory.guess_bound(before, theory.leaked_bits(codes, epsilon)) + SLACK
        assert after <= codes * before + SLACK


@given(seed=seeds, codes=codes_of, epsilon=epsilons)
def test_no_gain_of_any_kind_grows_by_more(seed, codes, epsilon):
    """Not only right or wrong: what a guess is worth may be any table of numbers of 0 or more."""
    joint, _, _ = any_case(seed, codes, epsilon)
    worth = np.random.default_rng(seed).exponential(size=(5, 12))
    before, after = (worth @ joint.sum(axis=1)).max(), (worth @ joint).max(axis=0).sum()
    assert after <= before * 2 ** theory.leaked_bits(codes, epsilon) + SLACK


@given(seed=seeds, codes=codes_of, epsilon=epsilons)
def test_what_is_made_from_the_code_tells_no_more(seed, codes, epsilon):
    """Post-processing, random answers and the same code shown twice included."""
    joint, answers, _ = any_case(seed, codes, epsilon)
    answer = np.random.default_rng(seed).dirichlet(np.ones(9), size=codes)
    assert guess_right(joint @ answer, answers) <= guess_right(joint, answers) + SLACK
    twice = np.zeros((12, codes, codes))
    twice[:, range(codes), range(codes)] = joint
    assert guess_right(twice.reshape(12, -1), answers) == pytest.approx(guess_right(joint, answers))


@given(codes=st.integers(2, 256), epsilon=epsilons)
def test_leaked_bits_are_those_of_the_channel_and_a_flat_prior_has_them(codes, epsilon):
    rows = theory.channel(codes, epsilon)
    bits = theory.leaked_bits(codes, epsilon)
    assert bits == pytest.approx(math.log2(rows.max(axis=0).sum()), abs=1e-12)
    assert guess_right(rows / codes, np.arange(codes)) == pytest.approx(2**bits / codes)
    assert bits <= theory.code_bits(codes) == math.log2(codes)
    if epsilon is None:
        assert bits == math.log2(codes)
    else:
        stated = -math.log2((1 + (codes - 1) * math.exp(-epsilon)) / codes)
        assert stated - 1e-9 < bits <= stated + SLACK
        assert theory.keep_probability(codes, epsilon) == pytest.approx(2**stated / codes, abs=1e-9)


@given(codes=st.integers(2, 256), epsilon=st.floats(0, 800))
def test_the_effective_epsilon_is_that_of_the_channel_and_never_above(codes, epsilon):
    own, other = theory.response_weights(codes, epsilon)
    found = theory.effective_epsilon(codes, epsilon)
    assert 0 <= found <= epsilon
    assert math.exp(found) == pytest.approx(own / other, rel=1e-12)
    if 1e-6 < epsilon < 20:
        assert found == pytest.approx(epsilon, rel=1e-4)
    if epsilon > 37:
        assert found == pytest.approx(math.log(WORDS - codes + 1))
    assert theory.effective_epsilon(codes, None) == math.inf


@given(seed=seeds, codes=codes_of, epsilon=st.floats(0, 10))
def test_odds_of_any_fact_move_by_e_to_the_epsilon_at_most(seed, codes, epsilon):
    joint, answers, _ = any_case(seed, codes, epsilon)
    shares = np.stack([joint[answers == answer].sum(axis=0) for answer in np.unique(answers)])
    given_answer = shares / shares.sum(axis=1, keepdims=True)  # P(code | answer): their ratios are how odds move
    moved = (given_answer[:, None] / given_answer[None, :]).max()
    assert moved <= theory.odds_bound(epsilon) * (1 + 1e-12)


def test_the_odds_bound_is_reached_and_has_no_end():
    rows = theory.channel(4, 2.0)
    assert rows[0, 0] / rows[1, 0] == pytest.approx(theory.odds_bound(2.0), rel=1e-12)
    assert theory.odds_bound(0.0) == 1.0
    assert theory.odds_bound(None) == theory.odds_bound(1e4) == math.inf


def test_one_bit_can_tell_one_fact_whole_and_epsilon_keeps_it():
    """Half of the records say yes, and the encoder is that column."""
    says_yes = np.array([0, 1, 1, 0])
    for epsilon, expected in ((None, 1.0), (1.0, math.e / (1 + math.e)), (0.0, 0.5)):
        joint = np.full((4, 1), 0.25) * theory.channel(2, epsilon)[says_yes]
        assert guess_right(joint, says_yes) == pytest.approx(expected)
        assert theory.fact_guess_bound(0.5, epsilon, 2) == pytest.approx(expected)
    assert theory.code_bits(2) == 1.0
    assert theory.fact_guess_bound(0.5, 0.0, 250) == 0.5  # words left over count too: they are the same for all


@pytest.mark.parametrize("codes", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [None, 0.0, 1e-12, 0.3, 1.0, 3.0, 40.0])
def test_the_best_guess_of_a_fact_over_all_encoders_is_the_bound(codes, epsilon):
    """Four records, two of them with the fact: every one of M^4 encoders."""
    rows, fact = theory.channel(codes, epsilon), np.array([1, 1, 0, 0])
    for prior in (0.0, 0.03, 0.3, 0.5, 0.9):
        weight = np.array([0.2 * prior, 0.8 * prior, 0.5 * (1 - prior), 0.5 * (1 - prior)])[:, None]
        best = max(
            guess_right(weight * rows[list(encoder)], fact) for encoder in itertools.product(range(codes), repeat=4)
        )
        assert best == pytest.approx(theory.fact_guess_bound(prior, epsilon, codes), abs=SLACK)


@given(codes=st.integers(2, 256), epsilon=epsilons, prior=st.floats(0, 1))
def test_more_codes_tell_less_of_a_fact_and_the_bound_of_any_channel_covers_them(codes, epsilon, prior):
    bound = theory.fact_guess_bound(prior, epsilon, codes)
    assert max(prior, 1 - prior) - SLACK <= bound <= 1
    assert bound <= theory.fact_guess_bound(prior, epsilon, 2) + SLACK
    assert bound <= theory.fact_guess_bound(prior, epsilon) + SLACK
    if epsilon is not None and min(prior, 1 - prior) * math.exp(epsilon) <= max(prior, 1 - prior):
        assert bound == pytest.approx(max(prior, 1 - prior))


@given(seed=seeds, first=st.floats(0, 3), second=st.floats(0, 3), prior=st.floats(0, 1))
def test_two_codes_together_tell_no_more_of_a_fact_than_their_total_epsilon(seed, first, second, prior):
    rng = np.random.default_rng(seed)
    left, right = (theory.channel(3, epsilon)[rng.permutation(3)[:2]] for epsilon in (first, second))
    joint = np.array([[prior], [1 - prior]]) * np.stack([np.outer(left[k], right[k]).ravel() for k in (0, 1)])
    assert guess_right(joint, np.arange(2)) <= theory.fact_guess_bound(prior, first + second) + SLACK


@pytest.mark.parametrize("codes", [1, 2, 3, 4])
def test_sequences_are_counted_right(codes):
    for length in range(1, 7):
        most_often = [max(map(s.count, s)) for s in itertools.product(range(codes), repeat=length)]
        for most in range(length + 2):
            assert _sequences(codes, length, most) == sum(count <= most for count in most_often)


@pytest.mark.parametrize(("codes", "draws"), [(2, 1), (2, 2), (2, 7), (3, 2), (3, 5), (4, 4), (5, 3), (6, 2)])
@pytest.mark.parametrize("epsilon", [None, 0.0, 1e-12, 0.2, 1.0, 4.0, 40.0])
def test_bits_of_several_draws_are_those_of_their_joint_channel(codes, draws, epsilon):
    rows = theory.channel(codes, epsilon)
    joint = rows
    for _ in range(draws - 1):
        joint = (joint[:, :, None] * rows[:, None, :]).reshape(codes, -1)
    found = theory.leaked_bits_of_draws(codes, epsilon, draws)
    assert found == pytest.approx(math.log2(joint.max(axis=0).sum()), abs=1e-12)
    if epsilon is not None:  # where all draws agree, epsilons add up exactly
        moved = math.log((joint.max(axis=0) / joint.min(axis=0)).max())
        assert moved == pytest.approx(draws * theory.effective_epsilon(codes, epsilon), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("codes", [2, 8, 256])
def test_a_record_that_is_drawn_often_has_no_noise(codes):
    bits = [theory.leaked_bits_of_draws(codes, 1.0, draws) for draws in (0, 1, 2, 3, 5, 10, 50, 100)]
    assert bits[0] == 0
    assert bits[1] == theory.leaked_bits(codes, 1.0) == pytest.approx(bits[2], abs=1e-12)
    assert all(more > less for less, more in itertools.pairwise(bits[2:]))
    assert all(less <= bits[1] * draws + SLACK for less, draws in zip(bits, (0, 1, 2, 3, 5, 10, 50, 100), strict=True))
    assert bits[-1] <= math.log2(codes)
    assert theory.leaked_bits_of_draws(codes, 6.0, 100) == pytest.approx(math.log2(codes), abs=1e-9)
    assert theory.leaked_bits_of_draws(codes, 0.0, 100) == 0


def test_bad_numbers_are_refused():
    for value in (-0.1, 1.1, float("nan")):
        for call in (lambda v=value: theory.guess_bound(v, 1.0), lambda v=value: theory.fact_guess_bound(v, 1.0, 2)):
            with pytest.raises(SettingError, match="from 0 to 1"):
                call()
    for bits in (-1.0, float("nan")):
        with pytest.raises(SettingError, match="bits must be 0 or more"):
            theory.guess_bound(0.5, bits)
    with pytest.raises(SettingError, match="draws must be 0 or more"):
        theory.leaked_bits_of_draws(4, 1.0, -1)
    assert theory.guess_bound(0.5, 1e9) == 1.0
