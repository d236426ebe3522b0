"""What several codes add up to, and the figures of docs/sealed_parties.md."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privee import theory
from privee.errors import SettingError
from privee.theory import SealedChannel, after_changes, total

PAGE = Path(__file__).parents[2] / "docs" / "sealed_parties.md"
CODES = (2, 4, 8, 16, 256)
EPSILONS = (None, 1.0, 2.0, 4.0, 8.0)
channels = st.builds(SealedChannel, st.integers(2, 4), st.none() | st.floats(0, 4))


@given(seed=st.integers(0, 2**32 - 1), parts=st.lists(channels, min_size=1, max_size=3))
def test_codes_together_leak_at_most_the_sum(seed, parts):
    """Seven records; each encoder is any, and a later one depends on the codes before it."""
    rng = np.random.default_rng(seed)
    joint = np.ones((7, 1))
    for part in parts:
        rows = theory.channel(part.codes, part.epsilon)
        encoders = rng.integers(part.codes, size=joint.shape)  # one for each course of codes before
        joint = (joint[:, :, None] * rows[encoders]).reshape(7, -1)
    together = total(parts)
    assert math.log2(joint.max(axis=0).sum()) <= together.bits + 1e-9
    if together.epsilon is None:
        assert None in [part.epsilon for part in parts]
    else:
        assert (joint.max(axis=0) <= joint.min(axis=0) * math.exp(together.epsilon) * (1 + 1e-9)).all()


def test_the_sum_is_reached_where_parties_hold_different_columns():
    """Two independent columns, one code each: no smaller sum would do."""
    first, second = SealedChannel(2, 1.0), SealedChannel(4, 2.0)
    joint = np.kron(theory.channel(2, 1.0), theory.channel(4, 2.0))
    together = total([first, second])
    assert math.log2(joint.max(axis=0).sum()) == pytest.approx(together.bits)
    assert math.log((joint.max(axis=0) / joint.min(axis=0)).max()) == pytest.approx(together.epsilon)


def test_the_same_code_is_counted_once_and_codes_without_a_name_each_time():
    bank, shop = SealedChannel(8, 2.0, "bank"), SealedChannel(4, 1.0, "shop")
    assert total([bank, shop, bank, SealedChannel(8, 2.0, "bank")]) == total([bank, shop])
    assert total([bank, shop]) == theory.Lifetime(bank.leaked_bits + shop.leaked_bits, 3.0)
    nameless = SealedChannel(8, 2.0)
    assert total([nameless, nameless]) == theory.Lifetime(2 * nameless.leaked_bits, 4.0)
    assert total([]) == theory.Lifetime(0.0, 0.0)
    with pytest.raises(SettingError, match="two different channels are named bank"):
        total([bank, SealedChannel(8, 1.0, "bank")])


def test_one_code_without_noise_leaves_facts_without_a_bound_but_bits_with_one():
    found = total([SealedChannel(8, 2.0), SealedChannel(4)])
    assert found.epsilon is None
    assert theory.odds_bound(found.epsilon) == math.inf
    assert found.bits == pytest.approx(theory.leaked_bits(8, 2.0) + 2)


@pytest.mark.parametrize("name", [None, "bank"])
def test_every_change_with_a_new_code_costs_again(name):
    channel = SealedChannel(8, 0.5, name)
    assert after_changes(channel, 0) == (channel,)
    changed = total(after_changes(channel, 3))
    assert changed.epsilon == 2.0
    assert changed.bits == pytest.approx(4 * channel.leaked_bits)
    assert theory.leaked_bits_of_draws(8, 0.5, 4) <= changed.bits
    assert total([*after_changes(channel, 3), channel]).epsilon == (2.5 if name is None else 2.0)
    with pytest.raises(SettingError, match="0 times or more"):
        after_changes(channel, -1)


def test_an_encoder_that_was_fitted_on_a_record_is_not_covered_and_why():
    """It swaps all codes if record 0 says yes: others' codes then tell that fact beyond record 0's own epsilon."""
    rows = theory.channel(2, 1.0)
    kept = np.array([rows[0, 0], rows[0, 1]])
    told = {yes: kept if yes == 0 else kept[::-1] for yes in (0, 1)}
    both = {yes: np.outer(told[yes], told[yes]) for yes in (0, 1)}  # two other records, known to be alike
    assert (both[0] / both[1]).max() > theory.odds_bound(1.0) * 2
    assert any("encoder" in line and "fitted on" in line for line in theory.NOT_COVERED)


def cells(*values: str) -> str:
    return f"| {' | '.join(values)} |"


def lines_of_the_page() -> list[str]:
    """Every figure of the page, made by the functions."""
    lines = []
    for codes in CODES:
        settings = [(codes, epsilon) for epsilon in EPSILONS]
        told = [f"{theory.leaked_bits(*one):.4f} / {100 * theory.keep_probability(*one):.2f} %" for one in settings]
        lines.append(cells(str(codes), *told))
    odds = [f"{theory.odds_bound(epsilon):,.1f}" for epsilon in EPSILONS[1:]]
    lines.append(cells("odds of any fact move by a factor of at most", "no bound", *odds))
    for codes in CODES:
        guesses = [f"{theory.fact_guess_bound(0.5, epsilon, codes):.4f}" for epsilon in EPSILONS]
        lines.append(cells(f"{codes} codes", *guesses))
    guesses = [f"{theory.fact_guess_bound(0.5, epsilon):.4f}" for epsilon in EPSILONS]
    lines.append(cells("several, with this total epsilon", *guesses))
    for codes in CODES:
        bits = [f"{theory.leaked_bits_of_draws(codes, 1.0, draws):.4f}" for draws in (1, 2, 4, 8, 16, 64)]
        lines.append(cells(f"{codes}, out of {theory.code_bits(codes):g} bits", *bits))
    return [*lines, *(f"- {line}" for line in theory.NOT_COVERED)]


def test_the_figures_of_the_page_are_those_of_the_functions():
    page = PAGE.read_text(encoding="utf-8").splitlines()
    for line in lines_of_the_page():
        assert line in page
