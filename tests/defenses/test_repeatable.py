"""Repeatable draws: the same query gets the same release and nothing else does, and the key never shows."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privee
from privee.defenses.repeatable import Repeatable
from tests._support.scores import softmax_rows

# Keys and seeds are fixed, so the statistical tests below always give the same answer; with other keys each of their
# p-values would fall below this by chance with this probability.
CHANCE = 1e-6
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
U = privee.PriveeU(rho=0.1)
EVERY = [privee.defense(cls.example or cls.name) for cls in privee.known_defenses().values() if not cls.slow]
every = pytest.mark.parametrize("defense", EVERY, ids=[d.spec for d in EVERY])
RANDOMISED = [d for d in EVERY if (d.release(softmax_rows(20, 5)) != d.release(softmax_rows(20, 5))).any()]
randomised = pytest.mark.parametrize("defense", RANDOMISED, ids=[d.spec for d in RANDOMISED])
COLUMNS = np.random.default_rng(1).random((50, 7))
PEOPLE = [f"person {i}" for i in range(50)]


@dataclasses.dataclass(frozen=True)
class Raw(privee.Defense):
    """Hands out the draws themselves, so that tests see them. 208 random bits a row: equal by chance never."""

    name: ClassVar[str] = "raw"
    setting: float = 1.0

    def _release(self, rows, sums, draws):
        return draws.uniform((len(rows), 4))[:, : rows.shape[1]].astype(rows.dtype)

    def _estimate(self, rows):
        return rows

    def guarantee(self, n_classes):
        return privee.Guarantee()


FOUR = np.array([0.4, 0.3, 0.2, 0.1])


def repeatable(defense=U, key=KEY, model_version="v1") -> Repeatable:
    return Repeatable(defense, key=key, model_version=model_version)


def draws_for(entity, query=None, scores=FOUR, **more) -> bytes:
    return repeatable(**({"defense": Raw()} | more)).release(scores, entities=entity, queries=query).tobytes()


# --- the contract, for every registered defense ----------------------------------------------------------------------


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestContract:
    def test_the_same_query_gets_the_same_release(self, defense, dtype, scores):
        scores = scores.astype(dtype)
        first, again = (repeatable(defense).release(scores, entities=PEOPLE, queries=COLUMNS) for _ in range(2))
        assert first.dtype == dtype
        assert first.shape == scores.shape
        assert first.tobytes() == again.tobytes()

    def test_a_row_does_not_depend_on_the_rows_around_it(self, defense, dtype, scores):
        scores = scores.astype(dtype)
        batch = repeatable(defense).release(scores, entities=PEOPLE, queries=COLUMNS)
        held = repeatable(defense)
        alone = [held.release(scores[i], entities=PEOPLE[i], queries=COLUMNS[i]) for i in range(50)]
        assert alone[0].shape == (10,)
        assert np.stack(alone).tobytes() == batch.tobytes()
        mixed = np.random.default_rng(2).permutation(50)
        people = [PEOPLE[i] for i in mixed]
        moved = repeatable(defense).release(scores[mixed], entities=people, queries=COLUMNS[mixed])
        assert moved.tobytes() == batch[mixed].tobytes()

    def test_the_order_promise_holds(self, defense, dtype, scores):
        scores = np.concatenate([scores, np.eye(10), np.full((1, 10), 0.1)]).astype(dtype)
        release = repeatable(defense).release(scores, entities=range(len(scores)))
        assert np.isfinite(release).all()
        if defense.preserves_order:
            assert privee.theory.order_is_kept(scores, release)

    def test_forms(self, defense, dtype, scores):
        scores = scores.astype(dtype)
        batch = repeatable(defense).release(scores, entities=PEOPLE)
        assert repeatable(defense).release(scores[:0], entities=[], queries=COLUMNS[:0]).shape == (0, 10)
        torch = pytest.importorskip("torch")
        tensor = repeatable(defense).release(torch.from_numpy(scores), entities=PEOPLE)
        assert isinstance(tensor, torch.Tensor)
        assert tensor.numpy().tobytes() == batch.tobytes()


@randomised
def test_anything_else_gets_other_draws(defense, scores):
    """As many rows change as between two releases with fresh draws (all of them, where draws are continuous)."""
    release = repeatable(defense).release(scores, entities=PEOPLE, queries=COLUMNS)
    fresh = (defense.release(scores) != defense.release(scores)).any(axis=1).mean()
    others = [
        repeatable(defense).release(scores, entities=PEOPLE[1:] + PEOPLE[:1], queries=COLUMNS),
        repeatable(defense).release(scores, entities=PEOPLE, queries=COLUMNS + 1e-12),
        repeatable(defense).release(scores, entities=PEOPLE),
        repeatable(defense, key=OTHER_KEY).release(scores, entities=PEOPLE, queries=COLUMNS),
        repeatable(defense, model_version="v2").release(scores, entities=PEOPLE, queries=COLUMNS),
    ]
    assert fresh > 0
    for other in others:
        assert (release != other).any(axis=1).mean() >= 0.9 * fresh


@randomised
def test_releases_are_distributed_as_with_fresh_draws(defense):
    """Two-sample Kolmogorov-Smirnov tests, one for each of 5 classes, 2,000 entities against 2,000 fresh releases."""
    scores = np.tile(softmax_rows(1, 5, spread=1.0), (2000, 1))
    keyed = repeatable(defense).release(scores, entities=range(2000))
    fresh = defense.release(scores, draws=privee.seeded(8))
    for j in range(5):
        assert stats.ks_2samp(keyed[:, j], fresh[:, j]).pvalue > CHANCE


@randomised
@pytest.mark.parametrize("apart", ["entity", "query", "model version", "key"])
def test_draws_are_independent(defense, apart):
    """Correlation over 1,000 pairs of releases of equal scores, one test for each of 5 classes."""
    scores = np.tile(softmax_rows(1, 5, spread=1.0), (1001, 1))
    labels = {"entities": range(1001), "queries": ["a"] * 1001}
    first = repeatable(defense).release(scores, **labels)
    other = {
        "entity": lambda: np.roll(first, 1, axis=0),
        "query": lambda: repeatable(defense).release(scores, **(labels | {"queries": ["b"] * 1001})),
        "model version": lambda: repeatable(defense, model_version="v2").release(scores, **labels),
        "key": lambda: repeatable(defense, key=OTHER_KEY).release(scores, **labels),
    }[apart]()
    for j in range(5):
        assert stats.pearsonr(first[1:, j], other[1:, j]).pvalue > CHANCE


# --- what the draws are keyed on -------------------------------------------------------------------------------------


def framed(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(8, "big") + body


def test_the_message_is_the_documented_one():
    """Written out once more: a change of the encoding would change every release, that is give away one more."""
    message = b"privee repeatable v1" + framed(b"d", b'{"name": "raw", "setting": 1}') + framed(b"v", b"v1")
    message += framed(b"t", b"anna") + framed(b"q", framed(b"i", b"\x00\xff")) + framed(b"s", FOUR.tobytes())
    assert draws_for("anna", 255) == privee.keyed(KEY, message).uniform(4).tobytes()
    message = message.replace(framed(b"q", framed(b"i", b"\x00\xff")), b"")
    assert draws_for("anna") == privee.keyed(KEY, message).uniform(4).tobytes()


def test_close_calls_get_different_draws():
    square, wide = np.arange(4.0).reshape(2, 2), np.arange(4.0)
    draws = [
        *(
            draws_for(entity)
            for entity in ("7", 7, b"7", -7, "", b"", 0, -1, 255, 256, 2**200, "\ud800", "?", "a\0", "a")
        ),
        *(draws_for(7, query) for query in ("7", 7, b"7", "", b"", "None", square, wide, wide[None], [7.0], 7.0, [])),
        *(draws_for(a, b) for a, b in (("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("c", "ab"))),
        *(draws_for(7, model_version=version) for version in ("v", "v10", "v1 ", "7")),
        *(draws_for(7, defense=Raw(setting)) for setting in (1.5, 2, 1e-9, float(2**60), 2**60 + 1)),
        draws_for(7, key=OTHER_KEY),
        draws_for(7, key=KEY + b"\1"),
        draws_for(7, scores=FOUR[::-1].copy()),
        draws_for(7, scores=np.array([0.4, 0.3, 0.3])),
    ]
    assert len(set(draws)) == len(draws)


ids = st.one_of(st.text(max_size=3), st.binary(max_size=3), st.integers(-300, 300))
asked = st.one_of(st.none(), ids, st.lists(st.sampled_from([0.0, 1.0, 0.5]), max_size=3))


@given(ids, asked, ids, asked)
def test_two_queries_share_draws_only_if_they_are_the_same(entity, query, other_entity, other_query):
    same = [(type(a), a) for a in (entity, query)] == [(type(a), a) for a in (other_entity, other_query)]
    assert (draws_for(entity, query) == draws_for(other_entity, other_query)) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"entity": 7}, {"entity": np.int64(7)}),
        ({"entity": "7"}, {"entity": np.str_("7")}),
        ({"query": [0.0, 1.0]}, {"query": [-0.0, 1.0]}),
        ({"query": np.float32([0.5, 1.0])}, {"query": np.float64([0.5, 1.0])}),
        ({"scores": [1.0, 0.0, 0.0, 0.0]}, {"scores": [1.0, -0.0, 0.0, 0.0]}),
        ({"defense": Raw(1)}, {"defense": Raw(1.0)}),
    ],
)
def test_the_same_thing_written_otherwise_buys_no_second_release(one, other):
    assert draws_for(**({"entity": 7} | one)) == draws_for(**({"entity": 7} | other))


def test_a_tensor_buys_no_second_release():
    torch = pytest.importorskip("torch")
    assert draws_for(7, np.array([1, 0])) == draws_for(7, torch.tensor([1.0, 0.0]))


def test_equal_scores_in_another_precision_get_the_same_noise():
    scores = softmax_rows(50, 10).astype(np.float32)
    narrow = repeatable().release(scores, entities=PEOPLE)
    wide = repeatable().release(scores.astype(np.float64), entities=PEOPLE)
    assert np.allclose(narrow, wide, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"entities": PEOPLE[:3]}, "got 3 entities for 50 rows"),
        ({"queries": COLUMNS[:3]}, "got 3 queries for 50 rows"),
        ({"entities": "x" * 50}, "entities of a batch must be a list or array"),
        ({"entities": b"x" * 50}, "entities of a batch must be a list or array"),
        ({"entities": iter(PEOPLE)}, "entities of a batch must be a list or array"),
        ({"queries": "x" * 50}, "queries of a batch must be a list or array"),
        ({"entities": [*PEOPLE[:49], 1.5]}, "the entity of row 49 must be text, bytes or a whole number"),
        ({"entities": [*PEOPLE[:49], None]}, "the entity of row 49 must be"),
        ({"entities": [True] * 50}, "the entity of row 0 must be"),
        ({"queries": [None] * 50}, "the query of row 0 must be text, bytes, a whole number or an array of numbers"),
        ({"queries": [True] * 50}, "the query of row 0 must be"),
        ({"queries": [[1.0, "person 3"]] * 50}, "the query of row 0 must be"),
        ({"queries": [[[1.0], [1.0, 2.0]]] * 50}, "the query of row 0 must be"),
        ({"queries": np.where(np.arange(50) == 9, np.nan, 1.0)[:, None]}, "the query of row 9 holds a NaN"),
        ({"scores": softmax_rows(50, 10) * 2}, "row 0 sums to 2, not to 1"),
    ],
)
def test_bad_input_is_named_by_row_and_never_by_value(wrong, says):
    good = {"scores": softmax_rows(50, 10), "entities": PEOPLE, "queries": COLUMNS}
    with pytest.raises(privee.PriveeError, match=says) as caught:
        repeatable().release(**(good | wrong))
    assert "person" not in str(caught.value)


def test_a_tensor_with_gradients_is_no_query():
    torch = pytest.importorskip("torch")
    queries = [torch.ones(2, requires_grad=True)] * 50
    with pytest.raises(privee.PriveeError, match="the query of row 0 must be") as caught:
        repeatable().release(softmax_rows(50, 10), entities=PEOPLE, queries=queries)
    assert "person" not in str(caught.value)


def test_scores_that_do_not_sum_to_one_can_be_let_through():
    release = repeatable().release(2 * FOUR, entities=7, check_sum=False)
    assert (privee.ranking(release) == [0, 1, 2, 3]).all()
