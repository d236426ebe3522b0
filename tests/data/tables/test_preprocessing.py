"""Features are always in [0, 1], and saved settings exact."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privee
from privee.data.tables import (
    PartyTable,
    Preprocessing,
    fit_preprocessing,
    read_party_table,
)
from privee.data.tables.encoders import NumericColumn
from tests._support.tables import fit_and_reload, table_of, write_csv, write_parquet


def test_numbers_are_scaled_filled_and_clipped():
    fitted, features = fit_and_reload(table_of(age=[10, 20, None, 40], height=[1, 2, 3, 5]))
    assert fitted.feature_names == ("age", "age missing", "height")
    assert fitted.groups == ((0, 1), (2,))
    assert features == pytest.approx(np.array([[0, 0, 0], [1 / 3, 0, 0.25], [1 / 3, 1, 0.5], [1, 0, 1]]))
    new = fitted.apply(table_of(age=[-1e308, 1e308, None], height=[None, 1e308, 3]))
    assert new == pytest.approx(np.array([[0, 0, 0.375], [1, 0, 1], [1 / 3, 1, 0.5]]))


def test_categories_are_one_hot_and_new_ones_all_zero():
    fitted, features = fit_and_reload(table_of(job=["nurse", "cook", None, "cook"], town=["x", "y", "x", "y"]))
    assert fitted.feature_names == ("job=cook", "job=nurse", "job missing", "town=x", "town=y")
    assert fitted.groups == ((0, 1, 2), (3, 4))
    assert features.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 0, 1]]
    new = fitted.apply(table_of(job=["astronaut", None, "cook"], town=[None, "Y", "y"]))
    assert new.tolist() == [[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 1]]


def test_constant_columns_are_dropped_by_name():
    table = table_of(
        a=[1, 1, 1], b=["u", "u", "u"], c=[None, None, None], d=[1, 2, 3], e=[5, None, 5], f=["u", None, "u"]
    )
    fitted, features = fit_and_reload(table)
    assert fitted.dropped == ("a", "b", "c")
    assert fitted.feature_names == ("d", "e missing", "f=u", "f missing")
    assert features.tolist() == [[0, 0, 1, 0], [0.5, 1, 0, 1], [1, 0, 1, 0]]
    with pytest.raises(privee.PriveeError, match="every feature column of bank is constant"):
        fit_preprocessing(table_of(a=[1, 1], b=["u", "u"], c=[None, None]))


def test_extreme_numbers(tmp_path):
    huge = 1.7e308
    _, features = fit_and_reload(
        table_of(x=[-huge, 0, huge, None], y=[huge, huge, 0.9 * huge, None], z=[0, 5e-324, 1e-323, None])
    )
    assert features[:, 0] == pytest.approx([0, 0.5, 1, 0.5])
    assert features[:, 2] == pytest.approx([1, 1, 0, 1])
    assert features[:, 4] == pytest.approx([0, 0.5, 1, 0.5])
    _, features = fit_and_reload(table_of(x=[huge, 0.9 * huge, None]))
    assert features[2, 0] == pytest.approx(0.5)
    path = write_csv(tmp_path, "id,x,y\n1,18446744073709551615,1e-400\n2,9007199254740993,1\n3,1,0.5\n")
    _, features = fit_and_reload(read_party_table(path, id_column="id"))
    assert features[:, 0] == pytest.approx([1, 2**53 / 2**64, 0])
    assert features[:, 1] == pytest.approx([0, 1, 0.5])


def test_too_many_categories_are_refused_by_name():
    table = table_of(note=[f"SECRET {k}" for k in range(1200)])
    with pytest.raises(privee.PriveeError, match="column 'note' has 1,200 categories, more than 100: an id") as caught:
        fit_preprocessing(table)
    assert "SECRET" not in str(caught.value)
    assert len(fit_preprocessing(table, max_categories=1200).feature_names) == 1200
    with pytest.raises(privee.SettingError, match="2 or more"):
        fit_preprocessing(table, max_categories=1)


def test_infinite_numbers_are_refused_by_name(tmp_path):
    message = "column 'x' holds an infinite number at data row 2"
    with pytest.raises(privee.PriveeError, match=message):
        fit_preprocessing(read_party_table(write_csv(tmp_path, "id,x\n1,5\n2,-inf\n"), id_column="id"))
    fitted = fit_preprocessing(table_of(x=[1, 2]))
    with pytest.raises(privee.PriveeError, match=message):
        fitted.apply(table_of(x=[1, float("inf")]))


def test_the_last_guard_names_the_column():
    broken = Preprocessing((NumericColumn("x", float("nan"), 1.0, 0.5, False),))
    with pytest.raises(privee.PriveeError, match="column 'x' is not finite after encoding"):
        broken.apply(table_of(x=[1, 2]))


def test_other_columns_are_refused_by_name():
    fitted = fit_preprocessing(table_of(a=[1, 2], b=["u", "v"], c=[3, 3]))
    with pytest.raises(privee.PriveeError, match=r"bank lacks columns the preprocessing was fitted on: b, c$"):
        fitted.apply(table_of(a=[1]))
    with pytest.raises(privee.PriveeError, match=r"bank has columns the preprocessing was not fitted on: d$"):
        fitted.apply(table_of(a=[1], b=["u"], c=[3], d=[4]))
    with pytest.raises(privee.PriveeError, match="column 'a' of bank is categorical, but was numeric in fitting"):
        fitted.apply(table_of(a=["x"], b=["u"], c=[3]))
    reordered = fitted.apply(table_of(c=[9], b=["v"], a=[2]))
    assert reordered.tolist() == [[1, 0, 1]]


def test_a_few_new_rows_are_read_as_the_fitted_ones_were(tmp_path):
    """In a single row the category 01 looks like a number; the fitted kinds say otherwise."""
    fitted = fit_preprocessing(
        read_party_table(write_csv(tmp_path, "id,code,n\n1,01,5\n2,1,6\n3,A,7\n"), id_column="id")
    )
    row = write_csv(tmp_path, "id,code,n\n9,01,6\n")
    with pytest.raises(privee.PriveeError, match=r"column 'code' .* kinds=preprocessing\.kinds"):
        fitted.apply(read_party_table(row, id_column="id"))
    new = read_party_table(row, id_column="id", kinds=fitted.kinds)
    assert fitted.apply(new).tolist() == [[1, 0, 0, 0.5]]
    missing = write_csv(tmp_path, "id,code,n\n9,?,\n")
    for kinds in (None, fitted.kinds):
        assert fitted.apply(read_party_table(missing, id_column="id", kinds=kinds)).tolist() == [[0, 0, 0, 0.5]]
    wrong = write_csv(tmp_path, "id,code,n\n8,01,6\n9,01,SECRET\n")
    message = "^column 'n' of bank.csv must hold numbers; data row 2 holds something else$"
    with pytest.raises(privee.PriveeError, match=message):
        read_party_table(wrong, id_column="id", kinds=fitted.kinds)
    whole = write_parquet(tmp_path, {"id": ["9"], "code": [1], "n": [7]})
    assert fitted.apply(read_party_table(whole, id_column="id", kinds=fitted.kinds)).tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "saved in format 2; this privee reads 1"),
        ({"columns": []}, "no columns"),
        ({"columns": None}, "not a saved preprocessing"),
        ({"dropped": ["x"]}, "one of them twice"),
        (
            {"columns": [{"kind": "numeric", "name": "x", "low": 0, "high": 1, "median": 2, "missing": False}]},
            "changed",
        ),
        (
            {"columns": [{"kind": "numeric", "name": "x", "low": 0, "high": 0, "median": 0, "missing": False}]},
            "changed",
        ),
        (
            {
                "columns": [
                    {"kind": "numeric", "name": "x", "low": 0, "high": float("inf"), "median": 0, "missing": False}
                ]
            },
            "changed",
        ),
        (
            {"columns": [{"kind": "numeric", "name": "x", "low": "0", "high": 1, "median": 0, "missing": False}]},
            "changed",
        ),
        ({"columns": [{"kind": "ordinal", "name": "x", "categories": ["a", "b"], "missing": False}]}, "changed"),
        ({"columns": [{"kind": "categorical", "name": "x", "categories": ["a", "a"], "missing": False}]}, "changed"),
        ({"columns": [{"kind": "categorical", "name": "x", "categories": ["a", 1], "missing": False}]}, "changed"),
        ({"columns": [{"kind": "categorical", "name": "x", "categories": ["a", "b"], "missing": 1}]}, "changed"),
        ({"columns": [{"kind": "categorical", "name": "x"}]}, "changed"),
    ],
)
def test_a_changed_preprocessing_is_refused(change, message):
    saved = fit_preprocessing(table_of(x=[1, 2], y=["a", "b"])).as_dict() | change
    with pytest.raises(privee.PriveeError, match=message):
        Preprocessing.from_dict(saved)


FLOATS = (
    st.floats(allow_infinity=False) | st.none() | st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308, -1e308])
)
TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.lists(FLOATS, min_size=n, max_size=n)] * 4)))
def test_numbers_always_land_between_zero_and_one(columns):
    train, other, new, more = ([None if v is None else float(v) for v in column] for column in columns)
    guard = [float(k) for k in range(len(train))] + [7.5]
    fitted, _ = fit_and_reload(table_of(a=[*train, None], b=[*other, 1.0], guard=guard))
    features = fitted.apply(table_of(a=[*new, None], b=[*more, None], guard=guard))
    assert np.isfinite(features).all()
    assert features.min() >= 0
    assert features.max() <= 1


@given(st.lists(TEXTS, min_size=2, max_size=30), st.lists(TEXTS, min_size=1, max_size=10))
def test_categories_always_give_one_or_none(train, new):
    table = table_of(t=[*train, "a", "b"])
    fitted, features = fit_and_reload(table)
    assert (features.sum(axis=1) == 1).all()
    seen = set(train) | {"a", "b"}
    rows = fitted.apply(table_of(t=[*new, "a"]))
    assert rows.sum(axis=1).tolist() == [float(text in seen) for text in [*new, "a"]]


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40, unique=True))
def test_scaling_keeps_the_order(values):
    _, features = fit_and_reload(table_of(x=values))
    ordered = features[np.argsort(values), 0]
    assert (np.diff(ordered) >= 0).all()
    assert (ordered[0], ordered[-1]) == (0, 1)


def test_chunks_make_no_difference():
    values, texts = [1.0, None, 3.0, 4.0], ["a", None, "b", "a"]
    whole = table_of(x=values, t=texts)
    pieces = PartyTable(
        "bank",
        whole.ids,
        {
            "x": pa.chunked_array([values[:1], [], values[1:]], pa.float64()),
            "t": pa.chunked_array([texts[:2], texts[2:]], pa.string()),
        },
    )
    assert fit_preprocessing(pieces) == fit_preprocessing(whole)
    assert (fit_preprocessing(whole).apply(pieces) == fit_preprocessing(whole).apply(whole)).all()
