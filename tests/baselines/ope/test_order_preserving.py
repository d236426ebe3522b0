"""Order-preserving encryption as a defense: the order, the round trip, the key, and what it gives away."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privee
from privee.baselines import OrderPreservingEncryption
from privee.baselines.ope.order_preserving import straighten
from tests._support.scores import softmax_rows

STEPS = 2**24 - 1


def rounded(scores, steps=STEPS):
    return np.rint(np.asarray(scores, dtype=np.float64) * steps) / steps


def mean_square(estimate, scores):
    return float(np.square(estimate - scores).mean())


# --- the defense -----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(0, 1, allow_subnormal=True), min_size=2, max_size=30), st.sampled_from([np.float32, np.float64])
)
def test_the_order_of_any_numbers_is_kept(values, dtype):
    scores = np.array(values, dtype=dtype)
    release = OrderPreservingEncryption(seed=1).release(scores, check_sum=False)
    assert privee.theory.order_is_kept(scores[None], release[None])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [3, 5000, 100_000])
def test_the_order_of_hard_rows_is_kept(classes, dtype):
    """Saturated softmax rows, near ties, scores far below a step, and rows that sum to millions."""
    tiny = np.finfo(dtype).smallest_subnormal
    near = np.full(classes, 1 / classes, dtype=dtype)
    near[: classes // 2] = np.nextafter(near[0], dtype(0))
    rows = [softmax_rows(1, classes, 60.0)[0], near, np.arange(classes) * tiny, np.linspace(0, 1000, classes)]
    for row in rows:
        scores = np.asarray(row, dtype=dtype)
        release = OrderPreservingEncryption(seed=2).release(scores, check_sum=False)
        assert privee.theory.order_is_kept(scores[None], release[None])


@pytest.mark.parametrize(("bits", "out"), [(24, 48), (8, 20), (20, 50), (45, 50)])
@pytest.mark.parametrize("classes", [2, 10, 3000])
def test_the_key_holder_gets_the_rounded_scores_back(bits, out, classes):
    holder = OrderPreservingEncryption(bits, out, seed=5)
    near = np.full((1, classes), 1 / classes) * (1 + 1e-15 * np.arange(classes))
    scores = np.concatenate([softmax_rows(5, classes, 1.0), softmax_rows(5, classes, 30.0), near])
    expected = rounded(scores, 2**bits - 1)
    assert (holder.decrypt(holder.encrypt(scores)) == expected).all()
    assert (holder.decrypt_release(holder.release(scores)) == expected).all()
    assert holder.encrypt(scores).dtype == np.uint64
    assert (holder.encrypt(scores[0]) == holder.encrypt(scores)[0]).all()
    assert holder.decrypt_release(holder.release(scores[0])).shape == (classes,)


def test_what_cannot_be_decrypted_is_refused():
    holder = OrderPreservingEncryption(seed=1)
    release = holder.release(softmax_rows(3, 4))
    with pytest.raises(privee.PriveeError, match="12 of 12 ciphertexts were not made with this key"):
        OrderPreservingEncryption(seed=2).decrypt_release(release)
    with pytest.raises(privee.PriveeError, match="only float64 releases"):
        holder.decrypt_release(release.astype(np.float32))
    with pytest.raises(privee.PriveeError, match="whole numbers"):
        holder.decrypt(release)
    for outside in (1e300, -1e300, 1.0):
        with pytest.raises(privee.PriveeError, match="between 0 and"):
            holder.decrypt_release([0.5, outside])


def test_keys_from_files_seeds_and_nowhere(tmp_path, scores):
    file = tmp_path / "key"
    file.write_bytes(bytes(range(32)))
    file.chmod(0o600)
    spec = f"ope:key_file={file}"
    keyed = [privee.defense(spec).release(scores) for _ in range(2)]
    assert (keyed[0] == keyed[1]).all()
    seeded = [OrderPreservingEncryption(seed=1).release(scores) for _ in range(2)]
    assert (seeded[0] == seeded[1]).all()
    fresh = OrderPreservingEncryption()
    assert (fresh.release(scores) == fresh.release(scores)).all()
    releases = [keyed[0], seeded[0], fresh.release(scores), OrderPreservingEncryption().release(scores)]
    releases.append(OrderPreservingEncryption(seed=2).release(scores))
    for one, other in itertools.combinations(releases, 2):
        assert (one != other).mean() > 0.99
    assert privee.defense(**privee.defense(spec).settings()) == privee.defense(spec)


def test_copies_read_the_key_file_again_or_have_a_fresh_key(tmp_path, scores):
    file = tmp_path / "key"
    file.write_bytes(bytes(range(32)))
    file.chmod(0o600)
    for copied in (copy.copy, copy.deepcopy, lambda defense: pickle.loads(pickle.dumps(defense))):  # noqa: S301
        held, fresh = OrderPreservingEncryption(key_file=str(file)), OrderPreservingEncryption()
        assert (copied(held).release(scores) == held.release(scores)).all()
        assert copied(fresh) == fresh
        assert (copied(fresh).release(scores) != fresh.release(scores)).mean() > 0.99


def test_the_key_never_shows(tmp_path):
    key = privee.new_key()
    file = tmp_path / "key"
    file.write_bytes(key)
    file.chmod(0o600)
    defense = OrderPreservingEncryption(key_file=str(file))
    defense.release([0.5, 0.5])
    cipher_inside = defense._cipher_of_key
    shown = [repr(defense), str(defense.settings()), defense.spec, repr(vars(defense)), repr(vars(cipher_inside))]
    shown += [repr(pickle.dumps(defense)), repr(defense.guarantee(3))]
    for text in shown:
        assert repr(key)[2:-1] not in text
        assert key.hex() not in text
    assert key not in pickle.dumps(defense)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"plaintext_bits": 0}, "plaintext_bits must be a whole number from 1 to 47"),
        ({"plaintext_bits": 24.0}, "plaintext_bits must be"),
        ({"plaintext_bits": 24, "ciphertext_bits": 26}, "ciphertext_bits must be a whole number from 27 to 50"),
        ({"ciphertext_bits": 51}, "ciphertext_bits must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 1, "key_file": "x"}, "not both"),
        ({"key_file": 7}, "name of a file"),
        ({"key_file": "no-such-file"}, "cannot read the key file no-such-file"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(privee.PriveeError, match=message):
        OrderPreservingEncryption(**settings)


def test_bad_key_files_are_refused(tmp_path):
    file = tmp_path / "key"
    file.write_bytes(b"short")
    file.chmod(0o600)
    with pytest.raises(privee.SettingError, match="at least 16 bytes"):
        OrderPreservingEncryption(key_file=str(file))
    file.chmod(0o644)
    with pytest.raises(privee.SettingError, match="everybody can read"):
        OrderPreservingEncryption(key_file=str(file))


# --- what it gives away ----------------------------------------------------------------------------------------------


def test_sums_of_many_vectors_under_one_key_give_more_away():
    """One vector: the sum takes off a fifth of the error and more. 400 together: nine tenths (mean of 5 keys)."""
    scores = softmax_rows(400, 10)
    raw, alone, together = [], [], []
    for seed in range(5):
        defense = OrderPreservingEncryption(seed=seed)
        release = defense.release(scores)
        raw.append(mean_square(release, scores))
        alone.append(mean_square(np.stack([defense.estimate_scores(one) for one in release[:60]]), scores[:60]))
        together.append(mean_square(defense.estimate_scores(release), scores))
    raw, alone, together = (math.sqrt(np.mean(errors)) for errors in (raw, alone, together))
    assert raw < 1e-4
    assert alone < 0.85 * raw
    assert together < 0.12 * raw


@pytest.mark.parametrize(
    ("rows", "classes", "bits", "spread", "factor"),
    [(300, 2, 24, 1, 1), (500, 2, 16, 3, 0.6), (200, 3, 12, 1, 1), (300, 10, 8, 1, 1), (40, 1000, 16, 1, 0.5)],
)
def test_the_inverse_beats_the_release_itself(rows, classes, bits, spread, factor):
    """In mean square over 5 keys; also where plaintexts are coarse, and where only sums of two are known."""
    scores = softmax_rows(rows, classes, spread)
    errors = []
    for seed in range(5):
        defense = OrderPreservingEncryption(bits, 48, seed=seed)
        release = defense.release(scores)
        errors.append((mean_square(defense.estimate_scores(release), scores), mean_square(release, scores)))
    inverse, raw = np.mean(errors, axis=0)
    assert inverse < factor * raw


def test_straightening_takes_any_release():
    for rows in (np.zeros((3, 4)), np.ones((3, 4)), np.full((2, 3), 7.0), np.full((2, 3), -7.0), np.eye(4)):
        found = straighten(rows, 1 << 24)
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx(1)


def test_the_guarantee_is_plain():
    guarantee = OrderPreservingEncryption(seed=0).guarantee(10)
    assert guarantee.proven.startswith("none about magnitudes")
    assert guarantee.epsilon is None
    assert guarantee.figures["bits_given_away"] == pytest.approx(13)


def test_an_attackers_copy_has_a_key_of_its_own(tmp_path):
    """What an attacker simulates with must tell nothing of the key in use."""
    file = tmp_path / "key"
    file.write_bytes(privee.new_key())
    file.chmod(0o600)
    scores = softmax_rows(20, 5)
    for holder in (
        OrderPreservingEncryption(),
        OrderPreservingEncryption(seed=1),
        privee.defense(f"ope:key_file={file}"),
    ):
        copy = holder.public_copy()
        assert not np.array_equal(copy.release(scores), holder.release(scores))
        assert (copy.plaintext_bits, copy.ciphertext_bits) == (holder.plaintext_bits, holder.ciphertext_bits)
        assert (copy.key_file, copy.seed) == (None, None)
        np.testing.assert_array_equal(
            copy.estimate_scores(holder.release(scores)), holder.estimate_scores(holder.release(scores))
        )
