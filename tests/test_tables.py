"""A party's table: awkward cells read right, damage named, features always in [0, 1], saved settings exact."""

import csv
import datetime
import decimal
import json
import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privee
from privee.data.files import arrow
from privee.data.tables import Labels, PartyTable, Preprocessing, fit_labels, fit_preprocessing, read_party_table
from privee.data.tables.encoders import NumericColumn


def _csv(tmp_path, text, name="bank.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _parquet(tmp_path, columns, name="bank.parquet"):
    arrow_parquet.write_table(pa.table(columns), tmp_path / name)
    return tmp_path / name


def _table(**columns):
    """A table in memory: floats (None or NaN is missing) or text per column."""
    arrow = {}
    for name, values in columns.items():
        text = any(isinstance(value, str) for value in values)
        arrow[name] = pa.chunked_array([pa.array(values, pa.string() if text else pa.float64())])
    rows = len(next(iter(columns.values())))
    return PartyTable("bank", tuple(str(k) for k in range(rows)), arrow)


def _values(table, name):
    return table.columns[name].to_pylist()


def _fitted(table, **settings):
    """Fit, save, load and apply, as every user does; the saved settings must change nothing."""
    fitted = fit_preprocessing(table, **settings)
    loaded = Preprocessing.from_dict(json.loads(json.dumps(fitted.as_dict(), allow_nan=False)))
    assert loaded == fitted
    features = fitted.apply(table)
    assert (loaded.apply(table).view(np.uint32) == features.view(np.uint32)).all()
    assert features.dtype == np.float32
    assert features.shape == (len(table), len(fitted.feature_names))
    assert np.isfinite(features).all()
    assert features.min() >= 0
    assert features.max() <= 1
    assert [position for group in fitted.groups for position in group] == list(range(features.shape[1]))
    return fitted, features


# Reading CSV


def test_ids_labels_and_text_survive_as_they_are(tmp_path):
    path = _csv(
        tmp_path,
        '\ufeffid,note,income,age\n007,"a ""b"", c", <=50K,1\n7,"zwei\nZeilen",>50K,2\n'
        " 7,Zürich 北京,>50K,3\n1e3,x,1,4\n",
    )
    table = read_party_table(path, id_column="id", label_column="income")
    assert table.name == "bank"
    assert table.ids == ("007", "7", " 7", "1e3")
    assert table.labels == ["<=50K", ">50K", ">50K", "1"]
    assert _values(table, "note") == ['a "b", c', "zwei\nZeilen", "Zürich 北京", "x"]
    assert _values(table, "age") == [1, 2, 3, 4]
    assert list(table.columns) == ["note", "age"]
    assert read_party_table(path, id_column="id").labels is None


@pytest.mark.parametrize("marker", ["", "NA", "NaN", "nan", "?", "null", "NULL", " ? ", '"NA"', '""'])
def test_missing_markers(tmp_path, marker):
    table = read_party_table(_csv(tmp_path, f"id,n,t\n1,5,a\n2,{marker},{marker}\n"), id_column="id")
    assert _values(table, "n") == [5, None]
    assert _values(table, "t") == ["a", None]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2.5", "+3", ".5", "1e5"], [1, -2.5, 3, 0.5, 1e5]),
        (["1e-400", "5e-324"], [0, 5e-324]),
        (["9007199254740993", "123456789012345678901234567890"], [9007199254740992, 123456789012345678901234567890.0]),
        (["1e400", "1"], [float("inf"), 1]),
        (["inf", "-Infinity"], [float("inf"), float("-inf")]),
        (["inf", "sup"], ["inf", "sup"]),
        (["1", "12 kg"], ["1", "12 kg"]),
        (["0x10", "1"], ["0x10", "1"]),
        (["1_000", "1"], ["1_000", "1"]),
        (["true", "False"], ["true", "False"]),
        (["", "?"], [None, None]),
    ],
)
def test_a_column_is_numeric_if_every_cell_is_a_number(tmp_path, cells, expected):
    rows = "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))
    assert _values(read_party_table(_csv(tmp_path, "id,x\n" + rows), id_column="id"), "x") == expected


def test_tab_separated_and_other_line_ends(tmp_path):
    table = read_party_table(_csv(tmp_path, "id\ta\r\n1\tx, y\r\n\r\n2\tz", "bank.TSV"), id_column="id")
    assert (table.ids, _values(table, "a")) == (("1", "2"), ["x, y", "z"])


def test_a_quote_inside_a_cell_is_no_damage(tmp_path):
    table = read_party_table(_csv(tmp_path, 'id,size\n1,5" pipe\n2,6 pipe\n'), id_column="id")
    assert _values(table, "size") == ['5" pipe', "6 pipe"]


def test_cells_with_line_ends_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "CSV_BLOCK", 128)
    rows = "".join(f'{k:03},"first\nsecond {k}"\n' for k in range(200))
    table = read_party_table(_csv(tmp_path, "id,t\n" + rows), id_column="id")
    assert table.ids == tuple(f"{k:03}" for k in range(200))
    assert _values(table, "t") == [f"first\nsecond {k}" for k in range(200)]
    with pytest.raises(privee.PriveeError, match=r"^bank\.csv: a row is longer than 128 bytes$"):
        read_party_table(_csv(tmp_path, f"id,t\n1,{'x' * 500}\n2,y\n"), id_column="id")


# Reading Parquet


def test_parquet_keeps_types(tmp_path):
    moment = datetime.datetime(1970, 1, 2, 0, 0, 1, 500_000)
    columns = {
        "id": [7, 2**62 + 1, 1],
        "flag": [True, False, None],
        "dict": pa.array(["a", None, "b"]).dictionary_encode(),
        "codes": [3, 1, None],
        "digits": ["1", "2", None],
        "large": pa.array(["x", "NA", ""], pa.large_string()),
        "whole": pa.array([1, 2**60, None], pa.int64()),
        "small": pa.array([1.5, float("nan"), None], pa.float32()),
        "money": pa.array([decimal.Decimal("1.25"), decimal.Decimal("-3.00"), None]),
        "day": pa.array([datetime.date(1970, 1, 2), datetime.date(1969, 12, 31), None]),
        "day64": pa.array([datetime.date(1970, 1, 2), datetime.date(1969, 12, 31), None], pa.date64()),
        "ns": pa.array([moment, moment, None], pa.timestamp("ns")),
        "zone": pa.array([moment, moment, None], pa.timestamp("ms", "UTC")),
        "clock": pa.array([datetime.time(0, 1), datetime.time(1), None], pa.time32("s")),
        "long": pa.array([datetime.timedelta(seconds=2), datetime.timedelta(0), None], pa.duration("us")),
        "nothing": pa.nulls(3),
        "__index_level_0__": [4, 5, 6],
    }
    table = read_party_table(_parquet(tmp_path, columns), id_column="id", kinds={"codes": "categorical"})
    assert table.ids == ("7", "4611686018427387905", "1")
    assert {name: _values(table, name) for name in table.columns} == {
        "flag": ["true", "false", None],
        "dict": ["a", None, "b"],
        "codes": ["3", "1", None],
        "digits": ["1", "2", None],
        "large": ["x", "NA", ""],
        "whole": [1.0, 2.0**60, None],
        "small": [1.5, None, None],
        "money": [1.25, -3.0, None],
        "day": [86400.0, -86400.0, None],
        "day64": [86400.0, -86400.0, None],
        "ns": [86401.5, 86401.5, None],
        "zone": [86401.5, 86401.5, None],
        "clock": [60.0, 3600.0, None],
        "long": [2.0, 0.0, None],
        "nothing": [None, None, None],
    }
    _fitted(table)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array(["a", " b", None]), ["a", "b", ""]),
        (pa.array([1, 2, None]), ["1", "2", ""]),
        (pa.array([True, False, None]), ["true", "false", ""]),
        (pa.array(["a", "b", None]).dictionary_encode(), ["a", "b", ""]),
        (pa.array([0.0, 1.0, float("nan")]), ["0", "1", "nan"]),
    ],
)
def test_parquet_labels_are_text(tmp_path, labels, expected):
    path = _parquet(tmp_path, {"id": ["1", "2", "3"], "x": [1.0, 2.0, 3.0], "y": labels})
    table = read_party_table(path, id_column="id", label_column="y")
    assert table.labels == expected
    with pytest.raises(privee.PriveeError, match="the label is missing at data row 3"):
        fit_labels(table.labels)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([[1], [2]]), "list"),
        (pa.array([{"secret": 1}, {"secret": 2}]), "struct"),
        (pa.array([b"\xff", b"\x00"]), "binary"),
    ],
)
def test_nested_columns_are_refused_by_name(tmp_path, column, kind):
    path = _parquet(tmp_path, {"id": ["1", "2"], "a": [1, 2], "odd": column})
    with pytest.raises(privee.PriveeError, match=f"^column 'odd' of bank.parquet holds {kind}; features are") as caught:
        read_party_table(path, id_column="id")
    assert "secret" not in str(caught.value)
    with pytest.raises(privee.PriveeError, match=f"holds {kind}; labels are"):
        read_party_table(path, id_column="id", label_column="odd")
    with pytest.raises(privee.PriveeError, match=f"holds {kind}; ids are"):
        read_party_table(path, id_column="odd")


# Errors of reading


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "bank.csv has no column 'id'; its columns are a, b"),
        ("id,b\n1,2\n", "bank.csv has no column 'income'; its columns are id, b"),
        ("id,income\n1,2\n", "bank.csv has no feature columns beside the id and the label"),
        ("id,income,a\n", "bank.csv has no rows"),
        ("id,income,a", "bank.csv has no rows"),
        ("", "bank.csv is empty"),
        ("id,income,a,a\n1,2,3,4\n", "bank.csv has two columns called 'a'; rename one"),
        ("id,income, a,a\n1,2,3,4\n", "bank.csv has two columns called 'a'; rename one"),
        (",id,income\n0,1,2\n", "column 1 of bank.csv has no name; name it or remove it"),
        ("id,income,a\n1,y,3\n,y,3\n", "column 'id' of bank.csv has no id at data row 2"),
        ("id,income,a\n1,y,3\n2,y\n", "bank.csv, data row 2: the header has 3 cells, this row 2; the file is damaged"),
        ("id,income,a\n1,y,SECRET,4\n", "bank.csv, data row 1: the header has 3 cells, this row 4"),
        ('id,income,a\n1,y,3\n2,y,"cut off', "bank.csv is damaged: a quoted cell has no end"),
        (b"id,income,a\n1,y,caf\xe9\n", "bank.csv, data row 1: not UTF-8 text; save the file as UTF-8"),
        (b"\xff\xfei\x00d\x00", "bank.csv is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_errors_of_csv_name_what_is_wrong(tmp_path, text, message):
    with pytest.raises(privee.PriveeError) as caught:
        read_party_table(_csv(tmp_path, text), id_column="id", label_column="income")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_errors_of_files(tmp_path):
    with pytest.raises(privee.PriveeError, match=r"absent.csv: no such file"):
        read_party_table(tmp_path / "absent.csv", id_column="id")
    with pytest.raises(privee.PriveeError, match=r"cannot tell the format; use one of .csv, .tsv, .parquet, .pq"):
        read_party_table(_csv(tmp_path, "id,a\n1,2\n", "bank.xlsx"), id_column="id")
    with pytest.raises(privee.PriveeError, match="cannot be both the id and the label"):
        read_party_table(_csv(tmp_path, "id,a\n1,2\n"), id_column="id", label_column="id")
    with pytest.raises(privee.PriveeError, match=r"^bank\.parquet is damaged"):
        read_party_table(_csv(tmp_path, "id,a\n1,2\n", "bank.parquet"), id_column="id")
    with pytest.raises(privee.PriveeError, match=r"a, b, c, d, e, f, g, h, i, j, k, l and 1 more$"):
        read_party_table(_csv(tmp_path, ",".join("abcdefghijklm") + "\n"), id_column="id")
    names = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("a", pa.int64())])
    arrow_parquet.write_table(pa.table([[1], [2], [3]], schema=names), tmp_path / "twice.parquet")
    with pytest.raises(privee.PriveeError, match=r"twice\.parquet has two columns called 'a'"):
        read_party_table(tmp_path / "twice.parquet", id_column="id")
    with pytest.raises(privee.PriveeError, match=r"bank\.parquet has no rows"):
        read_party_table(_parquet(tmp_path, {"id": pa.array([], pa.int64()), "a": []}), id_column="id")
    latin = pa.array([b"caf\xe9", b"tea"]).cast(pa.string(), safe=False)
    with pytest.raises(privee.PriveeError, match=r"^bank\.parquet is damaged"):
        read_party_table(_parquet(tmp_path, {"id": [1, 2], "a": latin}), id_column="id")
    with pytest.raises(privee.PriveeError, match=r"column 'id' of bank\.parquet holds double; ids are"):
        read_party_table(_parquet(tmp_path, {"id": [1.0], "a": [2]}), id_column="id")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads every file")
def test_a_file_one_may_not_read(tmp_path):
    path = _csv(tmp_path, "id,a\n1,2\n")
    path.chmod(0)
    with pytest.raises(privee.PriveeError, match=r"bank\.csv cannot be read: Permission denied"):
        read_party_table(path, id_column="id")


def test_a_parquet_file_cut_off_anywhere_is_damaged(tmp_path):
    rng = np.random.default_rng(0)
    path = _parquet(tmp_path, {"id": np.arange(500), "x": rng.random(500), "t": ["a", "b"] * 250})
    whole = path.read_bytes()
    for length in [*range(0, len(whole), len(whole) // 40), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(privee.PriveeError, match=r"^bank\.parquet is damaged"):
            read_party_table(path, id_column="id")


def test_a_damaged_file_is_never_read_wrongly(tmp_path):
    """Any bit flipped, with page checksums: one clear line, or the very same table (the bit did not matter)."""
    rng = np.random.default_rng(0)
    table = pa.table({"id": np.arange(300), "x": rng.random(300), "t": ["ä", "b"] * 150})
    arrow_parquet.write_table(table, tmp_path / "bank.parquet", write_page_checksum=True)
    whole = np.fromfile(tmp_path / "bank.parquet", np.uint8)
    intact, messages = read_party_table(tmp_path / "bank.parquet", id_column="id"), []
    for _ in range(100):
        changed = whole.copy()
        changed[rng.integers(len(whole) * 3 // 4)] ^= 1 << rng.integers(8)  # past that are column names and the like
        changed.tofile(tmp_path / "bank.parquet")
        try:
            assert read_party_table(tmp_path / "bank.parquet", id_column="id") == intact
        except privee.PriveeError as error:
            messages.append(str(error))
    assert set(messages) == {"bank.parquet is damaged, or not a Parquet file"}
    assert len(messages) > 80


# The table


def test_take_follows_the_alignment():
    table = PartyTable("bank", ("a", "b", "c"), _table(x=[1, 2, 3], t=["u", None, "w"]).columns, ["0", "1", "2"])
    taken = table.take(np.array([2, 0]))
    assert (taken.ids, taken.labels, _values(taken, "x"), _values(taken, "t")) == (
        ("c", "a"),
        ["2", "0"],
        [3, 1],
        ["w", "u"],
    )
    empty = table.take([])
    assert len(empty) == 0
    assert fit_preprocessing(table).apply(empty).shape == (0, 4)


def test_a_table_never_prints_what_it_holds():
    table = PartyTable("bank", ("ID-1", "ID-2"), _table(x=["SECRET", "b"]).columns, ["LABEL", "1"])
    assert repr(table) == "PartyTable(name='bank')"
    assert "SECRET" not in repr(fit_preprocessing(table))
    assert "8.25" not in repr(fit_preprocessing(_table(x=[8.25, 2])))


def test_a_table_is_checked():
    columns = _table(x=[1, 2]).columns
    with pytest.raises(privee.PriveeError, match="differ in length"):
        PartyTable("bank", ("1",), columns)
    with pytest.raises(privee.PriveeError, match="differ in length"):
        PartyTable("bank", ("1", "2"), columns, [])
    with pytest.raises(privee.PriveeError, match="column 'x' of bank must be a chunked Arrow array"):
        PartyTable("bank", ("1", "2"), {"x": pa.chunked_array([[1, 2]])})


# Preprocessing


def test_numbers_are_scaled_filled_and_clipped():
    fitted, features = _fitted(_table(age=[10, 20, None, 40], height=[1, 2, 3, 5]))
    assert fitted.feature_names == ("age", "age missing", "height")
    assert fitted.groups == ((0, 1), (2,))
    assert features == pytest.approx(np.array([[0, 0, 0], [1 / 3, 0, 0.25], [1 / 3, 1, 0.5], [1, 0, 1]]))
    new = fitted.apply(_table(age=[-1e308, 1e308, None], height=[None, 1e308, 3]))
    assert new == pytest.approx(np.array([[0, 0, 0.375], [1, 0, 1], [1 / 3, 1, 0.5]]))


def test_categories_are_one_hot_and_new_ones_all_zero():
    fitted, features = _fitted(_table(job=["nurse", "cook", None, "cook"], town=["x", "y", "x", "y"]))
    assert fitted.feature_names == ("job=cook", "job=nurse", "job missing", "town=x", "town=y")
    assert fitted.groups == ((0, 1, 2), (3, 4))
    assert features.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 0, 1]]
    new = fitted.apply(_table(job=["astronaut", None, "cook"], town=[None, "Y", "y"]))
    assert new.tolist() == [[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 1]]


def test_constant_columns_are_dropped_by_name():
    table = _table(
        a=[1, 1, 1], b=["u", "u", "u"], c=[None, None, None], d=[1, 2, 3], e=[5, None, 5], f=["u", None, "u"]
    )
    fitted, features = _fitted(table)
    assert fitted.dropped == ("a", "b", "c")
    assert fitted.feature_names == ("d", "e missing", "f=u", "f missing")
    assert features.tolist() == [[0, 0, 1, 0], [0.5, 1, 0, 1], [1, 0, 1, 0]]
    with pytest.raises(privee.PriveeError, match="every feature column of bank is constant"):
        fit_preprocessing(_table(a=[1, 1], b=["u", "u"], c=[None, None]))


def test_extreme_numbers(tmp_path):
    huge = 1.7e308
    _, features = _fitted(
        _table(x=[-huge, 0, huge, None], y=[huge, huge, 0.9 * huge, None], z=[0, 5e-324, 1e-323, None])
    )
    assert features[:, 0] == pytest.approx([0, 0.5, 1, 0.5])
    assert features[:, 2] == pytest.approx([1, 1, 0, 1])
    assert features[:, 4] == pytest.approx([0, 0.5, 1, 0.5])
    _, features = _fitted(_table(x=[huge, 0.9 * huge, None]))
    assert features[2, 0] == pytest.approx(0.5)
    path = _csv(tmp_path, "id,x,y\n1,18446744073709551615,1e-400\n2,9007199254740993,1\n3,1,0.5\n")
    _, features = _fitted(read_party_table(path, id_column="id"))
    assert features[:, 0] == pytest.approx([1, 2**53 / 2**64, 0])
    assert features[:, 1] == pytest.approx([0, 1, 0.5])


def test_too_many_categories_are_refused_by_name():
    table = _table(note=[f"SECRET {k}" for k in range(1200)])
    with pytest.raises(privee.PriveeError, match="column 'note' has 1,200 categories, more than 100: an id") as caught:
        fit_preprocessing(table)
    assert "SECRET" not in str(caught.value)
    assert len(fit_preprocessing(table, max_categories=1200).feature_names) == 1200
    with pytest.raises(privee.SettingError, match="2 or more"):
        fit_preprocessing(table, max_categories=1)


def test_infinite_numbers_are_refused_by_name(tmp_path):
    message = "column 'x' holds an infinite number at data row 2"
    with pytest.raises(privee.PriveeError, match=message):
        fit_preprocessing(read_party_table(_csv(tmp_path, "id,x\n1,5\n2,-inf\n"), id_column="id"))
    fitted = fit_preprocessing(_table(x=[1, 2]))
    with pytest.raises(privee.PriveeError, match=message):
        fitted.apply(_table(x=[1, float("inf")]))


def test_the_last_guard_names_the_column():
    broken = Preprocessing((NumericColumn("x", float("nan"), 1.0, 0.5, False),))
    with pytest.raises(privee.PriveeError, match="column 'x' is not finite after encoding"):
        broken.apply(_table(x=[1, 2]))


def test_other_columns_are_refused_by_name():
    fitted = fit_preprocessing(_table(a=[1, 2], b=["u", "v"], c=[3, 3]))
    with pytest.raises(privee.PriveeError, match=r"bank lacks columns the preprocessing was fitted on: b, c$"):
        fitted.apply(_table(a=[1]))
    with pytest.raises(privee.PriveeError, match=r"bank has columns the preprocessing was not fitted on: d$"):
        fitted.apply(_table(a=[1], b=["u"], c=[3], d=[4]))
    with pytest.raises(privee.PriveeError, match="column 'a' of bank is categorical, but was numeric in fitting"):
        fitted.apply(_table(a=["x"], b=["u"], c=[3]))
    reordered = fitted.apply(_table(c=[9], b=["v"], a=[2]))
    assert reordered.tolist() == [[1, 0, 1]]


def test_a_few_new_rows_are_read_as_the_fitted_ones_were(tmp_path):
    """In a single row the category 01 looks like a number; the fitted kinds say otherwise."""
    fitted = fit_preprocessing(read_party_table(_csv(tmp_path, "id,code,n\n1,01,5\n2,1,6\n3,A,7\n"), id_column="id"))
    row = _csv(tmp_path, "id,code,n\n9,01,6\n")
    with pytest.raises(privee.PriveeError, match=r"column 'code' .* kinds=preprocessing\.kinds"):
        fitted.apply(read_party_table(row, id_column="id"))
    new = read_party_table(row, id_column="id", kinds=fitted.kinds)
    assert fitted.apply(new).tolist() == [[1, 0, 0, 0.5]]
    missing = _csv(tmp_path, "id,code,n\n9,?,\n")
    for kinds in (None, fitted.kinds):
        assert fitted.apply(read_party_table(missing, id_column="id", kinds=kinds)).tolist() == [[0, 0, 0, 0.5]]
    wrong = _csv(tmp_path, "id,code,n\n8,01,6\n9,01,SECRET\n")
    message = "^column 'n' of bank.csv must hold numbers; data row 2 holds something else$"
    with pytest.raises(privee.PriveeError, match=message):
        read_party_table(wrong, id_column="id", kinds=fitted.kinds)
    whole = _parquet(tmp_path, {"id": ["9"], "code": [1], "n": [7]})
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
    saved = fit_preprocessing(_table(x=[1, 2], y=["a", "b"])).as_dict() | change
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
    fitted, _ = _fitted(_table(a=[*train, None], b=[*other, 1.0], guard=guard))
    features = fitted.apply(_table(a=[*new, None], b=[*more, None], guard=guard))
    assert np.isfinite(features).all()
    assert features.min() >= 0
    assert features.max() <= 1


@given(st.lists(TEXTS, min_size=2, max_size=30), st.lists(TEXTS, min_size=1, max_size=10))
def test_categories_always_give_one_or_none(train, new):
    table = _table(t=[*train, "a", "b"])
    fitted, features = _fitted(table)
    assert (features.sum(axis=1) == 1).all()
    seen = set(train) | {"a", "b"}
    rows = fitted.apply(_table(t=[*new, "a"]))
    assert rows.sum(axis=1).tolist() == [float(text in seen) for text in [*new, "a"]]


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40, unique=True))
def test_scaling_keeps_the_order(values):
    _, features = _fitted(_table(x=values))
    ordered = features[np.argsort(values), 0]
    assert (np.diff(ordered) >= 0).all()
    assert (ordered[0], ordered[-1]) == (0, 1)


def test_chunks_make_no_difference():
    values, texts = [1.0, None, 3.0, 4.0], ["a", None, "b", "a"]
    whole = _table(x=values, t=texts)
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


# Labels


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["yes", "no", "yes"], ("no", "yes")),
        (["10", "9", "-1", "2.5"], ("-1", "2.5", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["1", "01"], ("01", "1")),
    ],
)
def test_classes_are_sorted_and_survive(labels, classes):
    fitted = fit_labels(labels)
    assert fitted.classes == classes
    codes = fitted.encode(labels)
    assert codes.dtype == np.int64
    assert codes.tolist() == [classes.index(label) for label in labels]
    assert fitted.decode(codes) == labels
    assert fitted.decode([]) == []
    assert Labels.from_dict(json.loads(json.dumps(fitted.as_dict()))) == fitted


def test_errors_of_labels():
    for missing in (None, "", "  ", "NA", "?"):
        with pytest.raises(privee.PriveeError, match=r"^the label is missing at data row 2$"):
            fit_labels(["a", missing, "b"])
        with pytest.raises(privee.PriveeError, match=r"^the label is missing at data row 2$"):
            fit_labels(["a", "b"]).encode(["a", missing])
    with pytest.raises(privee.PriveeError, match=r"^the label column has a single class: nothing to learn$"):
        fit_labels(["a", "a"])
    with pytest.raises(privee.PriveeError, match="empty"):
        fit_labels([])
    with pytest.raises(privee.PriveeError, match=r"^the label at data row 3 is not one of the 2 classes fitted$"):
        fit_labels(["a", "b"]).encode(["a", "b", "SECRET"])
    for codes in ([2], [-1], [0.5], ["a"]):
        with pytest.raises(privee.PriveeError, match="run from 0 to 1"):
            fit_labels(["a", "b"]).decode(codes)
    for saved, message in [
        ({"version": 2, "classes": ["a", "b"]}, "saved in format 2"),
        ({"version": 1}, "not saved labels"),
        ({"version": 1, "classes": "ab"}, "list of names"),
        ({"version": 1, "classes": ["a", 1]}, "list of names"),
        ({"version": 1, "classes": ["a"]}, "single class"),
        ({"version": 1, "classes": ["a", "b", "a"]}, "listed twice"),
    ]:
        with pytest.raises(privee.PriveeError, match=message):
            Labels.from_dict(saved)


# Size


def test_fifty_thousand_rows_take_seconds(tmp_path):
    """About a second on two busy cores; 20 s tells a loop over cells from work on whole columns."""
    rng, rows = np.random.default_rng(0), 50_000
    numbers = [np.round(rng.normal(size=rows), 4).astype(str).tolist() for _ in range(20)]
    texts = [rng.choice(["Zürich", "a, b", "?", 'say "x"', "10"], rows).tolist() for _ in range(10)]
    with (tmp_path / "bank.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"n{k}" for k in range(20)), *(f"t{k}" for k in range(10))])
        writer.writerows(zip((f"{k:06}" for k in range(rows)), *numbers, *texts, strict=True))
    start = time.perf_counter()
    table = read_party_table(tmp_path / "bank.csv", id_column="id")
    features = fit_preprocessing(table).apply(table)
    assert time.perf_counter() - start < 20
    assert features.shape == (rows, 20 + 10 * 5)
    assert table.ids[7] == "000007"
    raw = np.array(numbers[3], dtype=float)
    assert features[:, 3] == pytest.approx((raw - raw.min()) / (raw.max() - raw.min()), abs=1e-6)
    assert features[:, 20:25].sum(axis=1).tolist() == [1.0] * rows
