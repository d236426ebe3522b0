"""Frequency-hiding encryption: the tree is that of sequential insertion, the state is safe, and what it gives away."""

import bisect
import itertools
import os
import pickle
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee.defenses import FrequencyHidingEncryption, FrequencyHidingState
from privee.defenses.ope import frequency_hiding_encryption
from privee.defenses.ope.pooled_ranks import FEWEST_ROWS
from privee.defenses.ope.search_tree import spread, turns
from tests.conftest import softmax_rows

# Seeds are fixed, so the statistical tests always give the same answer; with other seeds each of their p-values would
# fall below this by chance with this probability.
CHANCE = 1e-6
KEY = bytes(range(32))


@pytest.fixture
def shared(tmp_path) -> FrequencyHidingEncryption:
    return shared_in(tmp_path)


def shared_in(folder: Path) -> FrequencyHidingEncryption:
    (folder / "key").write_bytes(KEY)
    (folder / "key").chmod(0o600)
    return FrequencyHidingEncryption(state_file=str(folder / "state"), key_file=str(folder / "key"))


def root_mean_square(estimate, scores) -> float:
    return float(np.sqrt(np.square(estimate - scores).mean()))


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


def test_processes_side_by_side_lose_nothing(tmp_path):
    """Four processes, ten releases each, into one state: every score is in it, and what was handed out decrypts."""
    defense = shared_in(tmp_path)
    code = (
        "import sys, numpy as np; from privee.defenses import defense\n"
        f"one = defense({defense.spec!r})\n"
        "for i in range(10):\n"
        "    print(*map(float.hex, one.release([0.95 - (7 * i % 10) / 20, 0.05 + (7 * i % 10) / 20]).tolist()))\n"
    )
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]  # noqa: S603
    printed = [process.communicate()[0].splitlines() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert len(defense.state()) == 80
    assert defense.state().epoch == 0
    moved = 7 * np.arange(10) % 10 / 20
    for lines in printed:
        release = np.array([[float.fromhex(x) for x in line.split()] for line in lines])
        assert (defense.decrypt_release(release) == np.stack([0.95 - moved, 0.05 + moved], axis=1)).all()


# --- a tree of its own for every vector -----------------------------------------------------------------------------


def test_own_trees_depend_on_the_ranking_alone():
    """Same ranking, same draws: the same release bit for bit, ties and magnitudes notwithstanding."""
    same = np.array([[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [1 - 1e-9, 9e-10, 1e-10, 0]])
    releases = [FrequencyHidingEncryption().release(row, draws=privee.seeded(8)) for row in same]
    for release in releases[1:]:
        assert (release == releases[0]).all()
    level, falling = np.full(20_000, 1 / 20_000, np.float32), np.linspace(1e-4, 0, 20_000, dtype=np.float32)
    a, b = (FrequencyHidingEncryption().release(x, draws=privee.seeded(2), check_sum=False) for x in (level, falling))
    assert (a == b).all()
    assert privee.theory.order_is_kept(falling[None], a[None])


def test_own_trees_are_those_of_the_state():
    """Each row of a batch is what a state of its own gives for the same turns."""
    words = privee.seeded(3).words(60)
    release = FrequencyHidingEncryption().release(
        np.tile([0.1, 0.2, 0.3, 0.15, 0.25, 0.0], (10, 1)), draws=privee.seeded(3)
    )
    for row, turn in zip(release, turns(words).reshape(10, 6), strict=True):
        state = FrequencyHidingState()
        state.insert(np.arange(6.0), np.zeros(6, np.uint64), turn)
        assert (np.sort(row) * 2**52 == state.ciphertexts).all()


def test_a_batch_and_its_rows_one_by_one_get_the_same_release():
    scores = softmax_rows(40, 7)
    one, many = privee.seeded(9), privee.seeded(9)
    alone = np.stack([FrequencyHidingEncryption().release(row, draws=one) for row in scores])
    assert (alone == FrequencyHidingEncryption().release(scores, draws=many)).all()


def test_own_trees_without_room_are_spread(monkeypatch):
    monkeypatch.setattr(frequency_hiding_encryption, "BITS", 8)
    scores = softmax_rows(30, 100, 1.0)
    release = FrequencyHidingEncryption().release(scores, draws=privee.seeded(1))
    assert privee.theory.order_is_kept(scores, release)
    assert ((release > 0) & (release < 1)).all()
    assert (release * 256 == np.rint(release * 256)).all()


def test_own_trees_cannot_be_decrypted():
    defense = FrequencyHidingEncryption()
    for work in (defense.state, lambda: defense.decrypt([1]), lambda: defense.encrypt([0.5, 0.5])):
        with pytest.raises(privee.PriveeError, match="give state_file and key_file"):
            work()
    assert defense.guarantee(5).epsilon == 0
    assert (defense.estimate_scores([0.1, 0.2, 0.9]) == privee.RankingOnly().estimate_scores([0.1, 0.2, 0.9])).all()


# --- one tree for all -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_shared_state_keeps_order_forms_and_scores(shared, dtype):
    scores = np.concatenate([softmax_rows(50, 6), softmax_rows(20, 6, 60.0), np.eye(6), np.full((2, 6), 1 / 6)])
    scores = scores.astype(dtype)
    release = shared.release(scores)
    assert release.dtype == dtype
    assert privee.theory.order_is_kept(scores, release)
    assert len(shared.state()) == scores.size
    one = shared.release(torch.from_numpy(scores[0]))
    assert isinstance(one, torch.Tensor)
    assert one.shape == (6,)
    assert shared.release(scores[:0]).shape == (0, 6)
    assert (
        np.sort(shared.state().plaintexts[:10]) == np.sort(np.concatenate([scores, scores[:1]]), axis=None)[:10]
    ).all()
    if dtype == np.float64:
        assert (shared.decrypt_release(release) == scores).all()
        assert (shared.decrypt_release(one.numpy()) == scores[0]).all()
    else:
        with pytest.raises(privee.PriveeError, match="only float64"):
            shared.decrypt_release(release)


def test_equal_scores_look_different_and_the_lower_index_is_higher(shared):
    for _ in range(20):
        release = shared.release([0.25, 0.25, 0.25, 0.25])
        assert release[0] > release[1] > release[2] > release[3]
    ciphertexts = shared.encrypt(np.full((5, 4), 0.25))
    assert ciphertexts.dtype == np.uint64
    assert (np.diff(ciphertexts.astype(np.int64), axis=1) < 0).all()
    assert (shared.decrypt(ciphertexts) == 0.25).all()
    assert len(np.unique(shared.state().ciphertexts)) == 100
    for outside in (1e300, -1e300, 1.0):
        with pytest.raises(privee.PriveeError, match="1 of 2 ciphertexts are not in this state"):
            shared.decrypt_release([float(ciphertexts[0, 0]) * 2.0**-52, outside])


def test_a_large_batch_is_one_batch_even_if_there_is_no_room_on_the_way(tmp_path):
    """More scores than a block, in a state whose space runs out several times: the whole release is of one epoch."""
    defense = shared_in(tmp_path)
    FrequencyHidingState(bits=21).save(tmp_path / "state", KEY)
    scores = softmax_rows(8000, 5)
    release = defense.release(scores)
    state = defense.state()
    assert state.epoch > 0
    assert (state.decrypt(np.rint(release * 2**52).astype(np.int64)) == scores).all()


def test_rising_scores_run_out_of_room_and_a_spread_is_seen(shared):
    """Each new top value halves the space above: some 50 releases later everything is spread, and old ones are void."""
    first = shared.release([0.5, 0.5], draws=privee.seeded(99))
    for i in range(60):
        shared.release([0.5 + i / 1000, 0.5 - i / 1000], draws=privee.seeded(i))
    assert shared.state().epoch > 0
    with pytest.raises(privee.PriveeError, match=r"not in this state, which is in epoch"):
        shared.decrypt_release(first)


def test_scores_of_any_size_keep_order(shared):
    scores = np.array([[0.0, 5e-324, 3.0, 1e8], [2.0, 2.0, 1e-300, 0.0]])
    assert privee.theory.order_is_kept(scores, shared.release(scores, check_sum=False))


def test_seeds_repeat_in_states_that_are_equal(tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    releases = []
    for folder in folders:
        folder.mkdir()
        defense = shared_in(folder)
        releases.append([defense.release(softmax_rows(9, 4, seed=i), draws=privee.seeded(i)) for i in range(3)])
    assert np.array_equal(*releases)


def test_settings_and_files_are_checked(tmp_path, shared):
    for settings, message in [
        ({"state_file": "x"}, "go together"),
        ({"key_file": "x"}, "go together"),
        ({"state_file": 3, "key_file": "x"}, "names of files"),
    ]:
        with pytest.raises(privee.SettingError, match=message):
            FrequencyHidingEncryption(**settings)
    assert privee.defense(shared.spec) == shared
    assert pickle.loads(pickle.dumps(shared)) == shared  # noqa: S301
    assert KEY not in pickle.dumps(shared)
    lost = FrequencyHidingEncryption(state_file=str(tmp_path / "no" / "state"), key_file=shared.key_file)
    with pytest.raises(privee.PriveeError, match="cannot lock"):
        lost.release([0.5, 0.5])
    shared.release([0.5, 0.5])
    (tmp_path / "key").write_bytes(bytes(32))
    with pytest.raises(privee.PriveeError, match="another key"):
        shared.release([0.5, 0.5])


# --- what it gives away ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "spread", "factor"), [(10, 3.0, 50), (3, 3.0, 30), (100, 1.0, 5), (10, 1.0, 7)])
def test_one_state_for_500_vectors_gives_the_scores_away(shared, classes, spread, factor):
    """The error that each vector's own ranking leaves, over the error that all ciphertexts together leave."""
    scores = softmax_rows(500, classes, spread, seed=classes)
    release = shared.release(scores, draws=privee.seeded(1))
    by_ranking = root_mean_square(FrequencyHidingEncryption().estimate_scores(release), scores)
    together = root_mean_square(shared.estimate_scores(release), scores)
    assert together < by_ranking / factor


def test_two_classes_leave_the_scale_open_and_few_vectors_the_rest(shared):
    """f(x) + f(1 - x) = 1 has many solutions: the flat prior is taken, still better than the ranking."""
    scores = softmax_rows(500, 2, 1.0)
    release = shared.release(scores)
    by_ranking = root_mean_square(FrequencyHidingEncryption().estimate_scores(release), scores)
    assert root_mean_square(shared.estimate_scores(release), scores) < 0.5 * by_ranking
    few = release[: FEWEST_ROWS - 1]
    assert (shared.estimate_scores(few) == FrequencyHidingEncryption().estimate_scores(few)).all()


def test_the_shared_inverse_gives_scores_for_any_release(shared):
    for rows in (np.tile(np.eye(5), (4, 1)), np.zeros((20, 3)), softmax_rows(20, 400)):
        estimate = shared.estimate_scores(rows)
        assert (estimate >= 0).all()
        assert estimate.sum(axis=1) == pytest.approx(1)


def test_the_shared_guarantee_says_so(shared):
    guarantee = shared.guarantee(10)
    assert guarantee.epsilon is None
    assert any("nearly every score" in line for line in guarantee.not_covered)


def test_an_attackers_copy_leaves_the_state_alone(tmp_path):
    key, state = tmp_path / "key", tmp_path / "state"
    key.write_bytes(privee.new_key())
    key.chmod(0o600)
    holder = FrequencyHidingEncryption(str(state), str(key))
    scores = softmax_rows(20, 5)
    holder.release(scores)
    before = state.read_bytes()
    copy = holder.public_copy()
    made = copy.release(scores)
    assert state.read_bytes() == before
    assert (privee.ranking(made) == privee.ranking(scores)).all()
    key.unlink()  # and it needs no key
    copy.release(scores)
    assert FrequencyHidingEncryption().public_copy() == FrequencyHidingEncryption()
