"""Frequency-hiding encryption as a defense: a tree for each vector or one for all, and what it gives away."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import privee
from privee.baselines import FrequencyHidingEncryption, FrequencyHidingState
from privee.baselines.ope import frequency_hiding_encryption
from privee.baselines.ope.frequency_hiding_encryption import FEWEST_ROWS
from privee.baselines.ope.search_tree import turns
from tests._support.scores import softmax_rows

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
