"""The state of frequency-hiding encryption: the tree is that of sequential insertion, and its file is safe."""

import bisect
import itertools
import os
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee.baselines import FrequencyHidingState
from privee.baselines.ope.search_tree import spread, turns
from tests._support.scores import softmax_rows

# Seeds are fixed, so the statistical tests always give the same answer; with other seeds each of their p-values would
# fall below this by chance with this probability.
CHANCE = 1e-6
KEY = bytes(range(32))


# --- the tree --------------------------------------------------------------------------------------------------------


class Sequential:
    """The scheme as published, one value at a time: walk to the gap, take its middle, or spread everything first."""

    def __init__(self, bits: int) -> None:
        self.keys: list[tuple[float, int]] = []
        self.ciphertexts: list[int] = []
        self.bits, self.epoch = bits, 0

    def insert(self, key: tuple[float, int]) -> None:
        at = bisect.bisect_left(self.keys, key)
        low, high = ([0, *self.ciphertexts, 1 << self.bits])[at : at + 2]
        if high - low < 2:
            self.epoch += 1
            self.ciphertexts = spread(len(self.keys), self.bits, self.epoch).tolist()
            return self.insert(key)
        self.keys.insert(at, key)
        self.ciphertexts.insert(at, (low + high) // 2)
        return None


@given(st.data(), st.sampled_from([7, 9, 16, 52]))
def test_batches_give_what_inserting_one_by_one_gives(data, bits):
    """Two batches with many equal values, in spaces so small that there is often no room."""
    ours, theirs = FrequencyHidingState(bits=bits), Sequential(bits)
    for _ in range(2):
        values = np.array(data.draw(st.lists(st.integers(0, 9), max_size=30)), dtype=float)
        words = np.random.default_rng(data.draw(st.integers(0, 1000))).integers(0, 2**64, (2, values.size), np.uint64)
        turn = turns(words[1])
        ours.insert(values, words[0], turn)
        for i in np.argsort(turn):
            theirs.insert((values[i], int(words[0, i])))
        assert ours.plaintexts.tolist() == [value for value, _ in theirs.keys]
        assert ours.ciphertexts.tolist() == theirs.ciphertexts
        assert ours.epoch == theirs.epoch


def test_no_room_was_really_met_above():
    state = FrequencyHidingState(bits=7)
    state.encrypt(np.random.default_rng(1).random(60), privee.seeded(1))
    assert state.epoch > 0
    with pytest.raises(privee.PriveeError, match="7 bits have no room"):
        state.encrypt(np.random.default_rng(1).random(100), privee.seeded(1))


@pytest.mark.parametrize(("count", "bits"), [(1, 7), (40, 7), (63, 7), (1000, 52), (999, 52)])
def test_a_spread_is_even_and_no_earlier_ciphertext_is_in_it(count, bits):
    """Distances are the same but for one, at both ends there is room, and epochs have (nearly) nothing in common."""
    epochs = [spread(count, bits, epoch) for epoch in range(1, 30)]
    for made in epochs:
        steps = np.diff(made)
        assert not steps.size or steps.max() - steps.min() <= 1
        assert made[0] >= 2**bits // (count + 1) * 3 // 4
        assert made[-1] <= 2**bits - 2**bits // (count + 1)
    if bits == 52:
        tree = [k << 40 for k in range(1, 1 << 12)]
        assert len(np.unique(np.concatenate([tree, *epochs]))) == len(tree) + 29 * count


@pytest.mark.parametrize("batches", [1, 3])
def test_every_order_of_equal_values_is_equally_likely(batches):
    """Three equal values, together or one after the other: chi-square over six orders, 3,000 states."""
    seen, draws = Counter(), privee.seeded(4)
    for _ in range(3000):
        state = FrequencyHidingState()
        made = [state.encrypt(np.full(3 // batches, 0.3), draws) for _ in range(batches)]
        seen[tuple(np.argsort(np.concatenate(made)).tolist())] += 1
    assert stats.chisquare([seen[order] for order in itertools.permutations(range(3))]).pvalue > CHANCE


def test_values_are_put_in_in_random_order():
    """The first one gets the middle of all: each of five values equally often. Chi-square, 3,000 states."""
    draws, firsts = privee.seeded(5), []
    for _ in range(3000):
        made = FrequencyHidingState().encrypt(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), draws)
        firsts.append(int(np.flatnonzero(made == 1 << 51)[0]))
    assert stats.chisquare(np.bincount(firsts, minlength=5)).pvalue > CHANCE


def test_order_and_decryption_through_many_spreads():
    state, draws = FrequencyHidingState(bits=14), privee.seeded(6)
    rng = np.random.default_rng(6)
    for _ in range(40):
        values = rng.choice([0.0, 1e-300, 0.25, *rng.random(5)], size=(4, 5))
        made = state.encrypt(values, draws)
        assert (state.decrypt(made) == values).all()
        assert len(np.unique(made)) == values.size
        assert (np.diff(values.ravel()[np.argsort(made, axis=None)]) >= 0).all()
    assert state.epoch > 3
    assert len(state) == 800
    assert (np.diff(state.ciphertexts) > 0).all()


def test_ciphertexts_that_are_not_there_are_refused():
    state = FrequencyHidingState()
    with pytest.raises(privee.PriveeError, match="1 of 1 ciphertexts are not in this state"):
        state.decrypt([5])
    made = state.encrypt(np.array([0.2, 0.8]), privee.seeded(1))
    with pytest.raises(privee.PriveeError, match=r"1 of 3 .* epoch 0"):
        state.decrypt([*made, 5])
    with pytest.raises(privee.PriveeError, match="whole numbers"):
        state.decrypt([0.5])


# --- the file --------------------------------------------------------------------------------------------------------


def some_state() -> FrequencyHidingState:
    state = FrequencyHidingState(bits=20)
    state.encrypt(softmax_rows(30, 5), privee.seeded(2))
    return state


def test_a_saved_state_comes_back(tmp_path):
    state, file = some_state(), tmp_path / "state"
    state.save(file, KEY)
    found = FrequencyHidingState.load(file, KEY)
    for name in ("plaintexts", "ties", "ciphertexts"):
        assert (getattr(found, name) == getattr(state, name)).all()
    assert (found.bits, found.epoch) == (20, state.epoch)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["state"]
    found.encrypt(np.array([0.5]), privee.seeded(3))  # its arrays are its own
    assert (some_state().plaintexts == state.plaintexts).all()


def test_the_file_hides_what_is_in_it(tmp_path):
    state, file = some_state(), tmp_path / "state"
    contents = []
    for _ in range(2):
        state.save(file, KEY)
        contents.append(file.read_bytes())
    assert contents[0][16:] != contents[1][16:]  # a salt and nonce of its own each time
    pieces = [v.tobytes() for v in (state.plaintexts, state.ciphertexts.astype("<i8"))]
    for piece in (*(p[i : i + 8] for p in pieces for i in range(0, 80, 8)), KEY):
        assert piece not in contents[0]


def test_a_wrong_key_or_a_damaged_file_is_refused_in_one_line(tmp_path):
    file = tmp_path / "state"
    some_state().save(file, KEY)
    whole = file.read_bytes()
    damaged = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in (0, 20, 40, 60, len(whole) - 1)]
    for content in (*damaged, whole[:-1], whole[:30], b"", whole + b"x"):
        file.write_bytes(content)
        with pytest.raises(
            privee.PriveeError, match="another key than the one it was written with, or damaged"
        ) as error:
            FrequencyHidingState.load(file, KEY)
        assert "\n" not in str(error.value)
    file.write_bytes(whole)
    with pytest.raises(privee.PriveeError, match="another key"):
        FrequencyHidingState.load(file, bytes(32))
    with pytest.raises(privee.PriveeError, match="cannot read"):
        FrequencyHidingState.load(tmp_path / "none", KEY)
    with pytest.raises(privee.SettingError, match="at least 16 bytes"):
        FrequencyHidingState.load(file, b"short")


def test_a_failed_save_leaves_the_old_state(tmp_path, monkeypatch):
    file = tmp_path / "state"
    some_state().save(file, KEY)
    before = file.read_bytes()

    def fail(path, content):
        with path.open("wb") as partial:
            partial.write(content[:50])
        raise OSError("disk on fire")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="disk on fire"):
        FrequencyHidingState().save(file, KEY)
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["state"]
