"""Secure draws never repeat, seeded and keyed ones always do, and all of them are uniform."""

import multiprocessing
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

import privee
from privee.randomness import KeystreamDraws, SecureDraws

# Each statistical test below fails by chance with probability 1e-6 (a p-value below that is a failure).
CHANCE = 1e-6


def test_words_are_the_aes_256_ctr_keystream():
    key = bytes(range(32))
    cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    expected = np.frombuffer(cipher.update(bytes(8 * 10_000)), dtype="<u8")
    assert (KeystreamDraws(key).words(10_000) == expected).all()


@pytest.mark.parametrize("sizes", [[1] * 50, [4095, 1, 1], [4096, 4096], [5000, 3, 9000, 0, 1], [20_000]])
def test_a_stream_does_not_depend_on_how_it_is_cut(sizes):
    whole, parts = privee.seeded(3), privee.seeded(3)
    expected = whole.words(sum(sizes))
    assert (np.concatenate([parts.words(size) for size in sizes]) == expected).all()


def test_uniform_and_words_share_one_position():
    a, b = privee.seeded(3), privee.seeded(3)
    words = a.words(9000)
    mixed = [b.uniform(10), b.words(5).astype(float), b.uniform((3, 2000)), b.uniform(2985)]
    unit = (words >> np.uint64(12)) / 2.0**52
    assert (mixed[0] == unit[:10]).all()
    assert (mixed[2].ravel() == unit[15:6015]).all()
    assert (mixed[3] == unit[6015:]).all()


def test_small_requests_go_on_from_buffer_to_buffer():
    """Floats are made once for a whole buffer: those of the last one must not come again."""
    words, draws = privee.seeded(3).words(14_000), privee.seeded(3)
    found = np.concatenate([draws.uniform(7) for _ in range(2000)])
    assert (found == (words >> np.uint64(12)) / 2.0**52).all()


def test_arrays_belong_to_the_caller():
    draws = privee.seeded(3)
    first = draws.uniform(10)
    kept = first.copy()
    first[:] = -1
    assert (privee.seeded(3).uniform(10) == kept).all()
    assert (draws.uniform(10) >= 0).all()


def test_distributions():
    draws, n = privee.seeded(11), 200_000
    assert stats.kstest(draws.uniform(n), "uniform").pvalue > CHANCE
    assert stats.kstest(draws.normal(n), "norm").pvalue > CHANCE
    assert stats.kstest(draws.exponential(n), "expon").pvalue > CHANCE
    assert stats.kstest(privee.secure().uniform(n), "uniform").pvalue > CHANCE
    pairs = draws.uniform((n, 2))
    assert stats.pearsonr(pairs[:, 0], pairs[:, 1]).pvalue > CHANCE


def test_open_uniform_stays_inside():
    class Zeros(KeystreamDraws):
        def words(self, count):
            return np.zeros(count, dtype=np.uint64)

        def uniform(self, shape):
            return np.zeros(shape)

    draws = Zeros(bytes(32))
    assert (draws.open_uniform(3) > 0).all()
    assert np.isfinite(draws.exponential(3)).all()
    assert np.isfinite(draws.normal(3)).all()
    assert 1 - 2.0**-52 + 2.0**-53 < 1


def test_seeds_and_paths_name_independent_streams():
    streams = [privee.seeded(1), privee.seeded(2), privee.seeded(-1), privee.seeded(1, 2), privee.seeded(1, "2")]
    firsts = {int(stream.words(1)[0]) for stream in streams}
    assert len(firsts) == len(streams)
    assert (privee.seeded(1, "a", 3).uniform(5) == privee.seeded(1, "a", 3).uniform(5)).all()


def test_keyed_draws_repeat_for_the_same_message_only():
    key = os.urandom(32)
    again = [privee.keyed(key, b"query 1").uniform(5) for _ in range(2)]
    assert (again[0] == again[1]).all()
    assert (again[0] != privee.keyed(key, b"query 2").uniform(5)).all()
    assert (again[0] != privee.keyed(os.urandom(32), b"query 1").uniform(5)).all()
    with pytest.raises(privee.SettingError, match="16 bytes"):
        privee.keyed(b"short", b"query")


def test_a_keyed_release_is_repeatable(scores):
    release = [privee.PriveeU(rho=0.1).release(scores, draws=privee.keyed(b"k" * 32, b"m")) for _ in range(2)]
    assert (release[0] == release[1]).all()


def test_default_draws_differ_every_time(scores):
    releases = [privee.PriveeU(rho=0.1).release(scores) for _ in range(3)]
    assert (releases[0] != releases[1]).any(axis=1).all()
    assert (releases[1] != releases[2]).any(axis=1).all()


def test_batch_and_rows_one_by_one_get_the_same_draws(scores):
    for defense in (privee.PriveeU(rho=0.1), privee.RankingOnly(), privee.GaussianNoise(0.5)):
        one_by_one = privee.seeded(5)
        rows = np.stack([defense.release(row, draws=one_by_one) for row in scores])
        assert (rows == defense.release(scores, draws=privee.seeded(5))).all()


@pytest.fixture
def frequent_thread_switches():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("method", ["words", "uniform"])
@pytest.mark.parametrize("make", [SecureDraws, lambda: privee.seeded(1)], ids=["secure", "seeded"])
def test_threads_never_share_words(make, method, frequent_thread_switches):
    """40 bytes of randomness each: two equal rows among them by chance have probability below 1e-80."""
    take = getattr(make(), method)
    with ThreadPoolExecutor(8) as pool:
        taken = np.stack(list(pool.map(take, [5] * 20_000)))
    assert len(np.unique(taken)) == taken.size


def _send_words(pipe, draws) -> None:
    pipe.send_bytes(draws.words(64).tobytes())
    pipe.close()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_workers_never_repeat_their_parents_stream(method):
    context = multiprocessing.get_context(method)
    privee.secure().words(10)  # the parent's buffer is warm when the workers start
    received = []
    for _ in range(3):
        mine, theirs = context.Pipe()
        worker = context.Process(target=_send_words, args=(theirs, privee.secure()))
        worker.start()
        received.append(np.frombuffer(mine.recv_bytes(), dtype=np.uint64))
        worker.join()
    received.append(privee.secure().words(64))
    words = np.concatenate(received)
    assert len(np.unique(words)) == 4 * 64


def test_the_fork_test_would_notice_a_repeat():
    """A seeded stream is the control: a forked copy of it does repeat, so the comparison above can fail."""
    draws = privee.seeded(1)
    draws.words(10)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, draws.words(64).tobytes())
        os._exit(0)
    os.waitpid(pid, 0)
    assert (np.frombuffer(os.read(read, 512), dtype=np.uint64) == draws.words(64)).all()
    os.close(read)
    os.close(write)


def test_streams_are_renewed_from_the_operating_system(monkeypatch):
    asked = []
    system = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or system(n))
    draws = SecureDraws()
    draws.words(1)
    draws.words((1 << 20) + 1)
    draws.words(1 << 20)
    assert asked == [32, 32, 32]


def test_draws_do_not_travel_in_pickles():
    with pytest.raises(TypeError, match="make them there"):
        pickle.dumps(privee.seeded(1))
    with pytest.raises(TypeError, match="make them there"):
        pickle.dumps(privee.keyed(b"k" * 32, b"m"))
    assert isinstance(pickle.loads(pickle.dumps(privee.secure())), SecureDraws)  # noqa: S301 (our own bytes)
