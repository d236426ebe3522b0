"""Quick releases against the slow and obvious ones, bit for bit: PRIVEE-U, Ordered-DP's noise, rows in batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privee
from privee.defenses import discrete_laplace
from privee.defenses.ordered_shape import fill_tail
from privee.defenses.repeatable import Repeatable
from privee.defenses.row_draws import RowDraws, stream_keys
from privee.theory import order_is_kept
from tests._support.plain_release import as_scores, hostile_rows, plain_privee_u

KEY = bytes(range(32))
STRENGTHS = [privee.PriveeU(rho=0.1), privee.PriveeU(rho=0.7, transform="identity"), privee.PriveeU(rho=1e-9)]
APART = [
    privee.defense(spec)
    for cls in privee.known_defenses().values()
    if cls.rows_apart and not cls.slow
    for spec in dict.fromkeys((cls.example or cls.name, *cls.audited, *cls.benched))
] + [
    privee.OrderedDP(0.5, spend="all"),
    privee.OrderedDP(8.0, keep_top=2, tail=0.7, prior=(4.0, 1.0)),
    privee.PriveeU(rho=0.5, transform="identity"),
    privee.RecordOrder(0.5, positive=1),
]
apart = pytest.mark.parametrize("defense", APART, ids=[d.spec for d in APART])


@settings(max_examples=150)
@given(hostile_rows(), st.sampled_from(STRENGTHS), st.integers(0, 99))
def test_privee_u_is_its_formula_and_the_obvious_repair(rows, defense, seed):
    scores = as_scores(rows)
    release = defense.release(scores, draws=privee.seeded(seed))
    assert release.tobytes() == plain_privee_u(defense, scores, privee.seeded(seed)).tobytes()
    assert order_is_kept(scores, release)


@settings(max_examples=50)
@given(hostile_rows(), st.sampled_from([d for d in APART if d.preserves_order]), st.integers(0, 99))
def test_order_holds_for_every_defense_that_promises_it(rows, defense, seed):
    scores = as_scores(rows)
    assert order_is_kept(scores, defense.release(scores, draws=privee.seeded(seed)))


@pytest.mark.parametrize("step", [1e-7, 1e-3, 0.00217, 0.1, 3.0])
def test_noise_by_table_is_noise_by_search(step):
    """At every threshold, beside it, and for words at random."""
    edges = discrete_laplace._thresholds(step)
    one = np.uint64(1)
    words = np.concatenate([edges, edges - one, edges + one, privee.seeded(1).words(50_000)])
    words = np.append(words, np.array([0, 2**64 - 1], dtype=np.uint64))
    found = discrete_laplace._found(step, words)
    assert (found == edges.searchsorted(words, side="right")).all()
    assert len(np.unique(found)) > 10


@pytest.mark.parametrize("classes", [2, 3, 9, 10, 33, 40])
@pytest.mark.parametrize("tail", [0.0, 0.4, 3.0])
def test_a_tail_is_the_same_in_both_layouts_and_alone(classes, tail):
    top = np.linspace(1.02 / classes, 1 - 1e-6, 200)[:, None]
    alone = np.concatenate([fill_tail(row[None], classes, tail) for row in top])
    assert (fill_tail(top, classes, tail, alone=True) == alone).all()
    assert np.allclose(fill_tail(top, classes, tail), alone, rtol=0, atol=1e-15)


@apart
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "classes"), [(90, 2), (200, 10), (70, 40), (3, 1000)])
def test_keyed_rows_in_batches_are_those_drawn_one_by_one(defense, dtype, rows, classes):
    """Each row alone, with the public `keyed` draws of the message that the documents give."""
    spread = np.random.default_rng(classes).normal(size=(rows, classes)) * np.linspace(0.1, 40, rows)[:, None]
    scores = np.exp(spread - spread.max(axis=1, keepdims=True))
    scores = (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)
    keys = [f"row {i}".encode() for i in range(rows)]
    made = defense.release(scores, draws=RowDraws(stream_keys(KEY, b"start ")(keys)), check_sum=False)
    alone = [
        defense.release(row, draws=privee.keyed(KEY, b"start " + key), check_sum=False)
        for row, key in zip(scores, keys, strict=True)
    ]
    assert made.tobytes() == np.stack(alone).tobytes()


@pytest.mark.parametrize("length", [16, 32, 64, 65, 200])
def test_stream_keys_are_those_of_keyed_draws(length):
    key, messages = bytes(range(length)), [b"", b"a", b"\0" * 300]
    found = RowDraws(stream_keys(key, b"start")(messages)).words(3 * 4097).reshape(3, -1)
    for words, message in zip(found, messages, strict=True):
        assert (words == privee.keyed(key, b"start" + message).words(4097)).all()


def test_rows_go_on_with_their_own_streams():
    keys = stream_keys(KEY, b"")([b"a", b"b"])
    draws, a, b = RowDraws(keys), privee.keyed(KEY, b"a"), privee.keyed(KEY, b"b")
    for each in (1, 3, 1000):
        assert (draws.uniform((2, each)) == [a.uniform(each), b.uniform(each)]).all()
    with pytest.raises(privee.PriveeError, match="cannot share 3 words out evenly to 2 rows"):
        draws.words(3)
    assert draws.words(0).size == RowDraws([]).words(0).size == 0


def test_batches_of_queries_are_encoded_as_one_by_one():
    """As a list of rows every query is encoded by itself, as an array all at once; any numeric dtype, and shapes."""
    scores = np.full((70, 4), 0.25)
    held = Repeatable(privee.RankingOnly(), key=KEY, model_version="v")
    numbers = np.random.default_rng(1).integers(-3, 3, size=(70, 2, 3))
    for asked in (numbers, numbers.astype(np.float32), numbers > 0, numbers[:, 0], numbers[:, 0, :0], -0.0 * numbers):
        at_once = held.release(scores, entities=range(70), queries=asked)
        assert at_once.tobytes() == held.release(scores, entities=range(70), queries=list(asked)).tobytes()
    with pytest.raises(privee.PriveeError, match="the query of row 69 holds a NaN"):
        held.release(scores, entities=range(70), queries=np.where(np.arange(70) == 69, np.nan, 1.0)[:, None])
