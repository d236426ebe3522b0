"""Tables of pandas, polars and Arrow in and out: the same releases as of arrays, everything else as it was."""

import numpy as np
import pytest

import privee
from privee.errors import PriveeError

SCORES = np.random.default_rng(0).dirichlet(np.ones(3), 40)
SPEC = "ordered-dp:epsilon=4"
IDS, NAMES = [f"c{k}" for k in range(40)], ["no", "perhaps", "yes"]


def pandas_table(scores, **more):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    columns = dict(zip(NAMES, scores.T, strict=True))
    return pandas.DataFrame(more | columns, index=pandas.Index(range(100, 140), name="row"))


def polars_table(scores, **more):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.DataFrame(more | {k: np.ascontiguousarray(v) for k, v in zip(NAMES, scores.T, strict=True)})


def arrow_table(scores, **more):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = arrow.table(more | dict(zip(NAMES, map(np.ascontiguousarray, scores.T), strict=True)))
    return table.replace_schema_metadata({"owner": "bank"})


def arrow_batch(scores, **more):
    (batch,) = arrow_table(scores, **more).to_batches()
    return batch


MAKERS = [pandas_table, polars_table, arrow_table, arrow_batch]


def numbers(table):
    return np.stack([np.asarray(table[name].to_numpy()) for name in NAMES], axis=1)


def names_of(table):
    return list(table.schema.names if hasattr(table, "num_rows") else table.columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", MAKERS)
def test_release_gives_the_same_table_with_the_releases_of_the_array(make, dtype):
    table, scores = make(SCORES.astype(dtype)), SCORES.astype(dtype)
    released = privee.defense(SPEC).release(table, draws=privee.seeded(1))
    expected = privee.defense(SPEC).release(scores, draws=privee.seeded(1))
    assert type(released) is type(table)
    assert numbers(released).dtype == dtype
    assert np.array_equal(numbers(released), expected)
    assert np.array_equal(numbers(table), scores)  # the caller's table is left alone
    assert np.array_equal(privee.ranking(table), privee.ranking(scores))
    estimate = privee.defense(SPEC).estimate_scores(released)
    assert np.array_equal(numbers(estimate), privee.defense(SPEC).estimate_scores(expected))


@pytest.mark.parametrize("make", MAKERS)
def test_protect_keeps_other_columns_and_their_order(make):
    table = make(SCORES, customer_id=IDS, segment=list(range(40)))
    released = privee.protect(table, SPEC, keep=["segment"], draws=privee.seeded(1))
    assert np.array_equal(numbers(released), privee.defense(SPEC).release(SCORES, draws=privee.seeded(1)))
    assert [str(one) for one in released["customer_id"]] == IDS
    assert released["segment"].to_numpy().tolist() == list(range(40))
    assert names_of(released) == ["customer_id", "segment", *NAMES]


def test_index_attributes_and_metadata_are_kept():
    table = pandas_table(SCORES, customer_id=IDS)
    table.attrs["owner"] = "bank"
    released = privee.protect(table, SPEC)
    assert released.index.equals(table.index)
    assert released.index.name == "row"
    assert released.attrs == {"owner": "bank"}
    assert arrow_table(SCORES).schema.metadata == privee.protect(arrow_table(SCORES), SPEC).schema.metadata


@pytest.mark.parametrize("kind", ["Float64", "Float32", "double[pyarrow]", "float[pyarrow]"])
def test_the_dtypes_of_pandas_are_kept(kind):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pandas_table(SCORES).astype(kind)
    released = privee.defense(SPEC).release(table)
    assert (released.dtypes == table.dtypes).all()
    assert np.array_equal(privee.ranking(released), privee.ranking(table))
    mixed = table.astype({"yes": "float64", "no": "float32"})
    assert set(map(str, privee.defense("none").release(mixed).dtypes)) <= {"float64", "Float64", "double[pyarrow]"}


def test_chunks_and_repeatable_draws():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    whole = arrow_table(SCORES, customer_id=IDS)
    parts = arrow.concat_tables([whole.slice(0, 7), whole.slice(7)])
    assert parts["no"].num_chunks == 2
    keyed = privee.Repeatable(privee.defense(SPEC), key=bytes(range(32)), model_version="1")
    first = privee.protect(whole, keyed, entities="customer_id")
    assert privee.protect(parts, keyed, entities="customer_id").equals(first)
    # A part that is released again, or by another process, is the same to the last bit.
    assert privee.protect(whole.slice(10, 5), keyed, entities="customer_id").equals(first.slice(10, 5))


@pytest.mark.parametrize("make", [pandas_table, polars_table, arrow_table])
def test_one_score_column_is_read_as_two_classes(make):
    table = make(SCORES, customer_id=IDS)
    table = table.drop(columns=["no", "perhaps"]) if make is pandas_table else table.select(["customer_id", "yes"])
    released = privee.protect(table, "none")
    assert names_of(released) == ["customer_id", "not_yes", "yes"]
    assert np.array_equal(released["yes"].to_numpy(), SCORES[:, 2])
    assert np.array_equal(released["not_yes"].to_numpy(), 1 - SCORES[:, 2])


def test_numbered_columns_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    released = privee.protect(pandas.DataFrame(SCORES), "none")
    assert released.columns.tolist() == [0, 1, 2]
    assert np.array_equal(released.to_numpy(), SCORES)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: privee.defense("none").release(pandas_table(SCORES, name=IDS)), "'name' holds no numbers"),
        (lambda: privee.protect(pandas_table(SCORES, name=IDS), "none"), "'name' holds no numbers"),
        (lambda: privee.protect(pandas_table(SCORES, extra=0.0), "none", scores=NAMES), "extra would be lost"),
        (lambda: privee.protect(pandas_table(SCORES), "none", keep=["absent"]), "no column is called 'absent'"),
        (lambda: privee.protect(SCORES, "none"), "defense.release takes arrays"),
        (lambda: privee.protect(pandas_table(SCORES * 2), "none"), "row 0 sums to"),
        (lambda: privee.protect(pandas_table(SCORES).where(SCORES < 0.5), "none"), "is not a finite number"),
        (lambda: privee.protect(polars_table(SCORES).lazy(), "none"), "collect"),
        (lambda: privee.protect(pandas_table(SCORES).astype("float16"), "none"), "cast to float32"),
        (lambda: privee.protect(pandas_table(SCORES, a=IDS), "none", entities="a"), "for repeatable draws"),
        (
            lambda: privee.protect(
                pandas_table(SCORES), privee.Repeatable(privee.NoDefense(), key=bytes(16), model_version="1")
            ),
            "entities= names",
        ),
        (lambda: privee.defense("none").release(pandas_table(SCORES).set_axis(["a", "a", "b"], axis=1)), "same name"),
    ],
)
def test_what_cannot_be_protected_is_named_in_one_line(call, says):
    with pytest.raises(PriveeError) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
