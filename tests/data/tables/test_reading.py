"""A party's table: awkward cells read right, damage named, features always in [0, 1], saved settings exact."""

import csv
import datetime
import decimal
import time

import numpy as np
import pyarrow as pa
import pytest

import privee
from privee.data.files import arrow
from privee.data.tables import PartyTable, fit_preprocessing, read_party_table
from tests._support.tables import fit_and_reload, table_of, values_of, write_csv, write_parquet

# Reading CSV


def test_ids_labels_and_text_survive_as_they_are(tmp_path):
    path = write_csv(
        tmp_path,
        '\ufeffid,note,income,age\n007,"a ""b"", c", <=50K,1\n7,"zwei\nZeilen",>50K,2\n'
        " 7,Zürich 北京,>50K,3\n1e3,x,1,4\n",
    )
    table = read_party_table(path, id_column="id", label_column="income")
    assert table.name == "bank"
    assert table.ids == ("007", "7", " 7", "1e3")
    assert table.labels == ["<=50K", ">50K", ">50K", "1"]
    assert values_of(table, "note") == ['a "b", c', "zwei\nZeilen", "Zürich 北京", "x"]
    assert values_of(table, "age") == [1, 2, 3, 4]
    assert list(table.columns) == ["note", "age"]
    assert read_party_table(path, id_column="id").labels is None


@pytest.mark.parametrize("marker", ["", "NA", "NaN", "nan", "?", "null", "NULL", " ? ", '"NA"', '""'])
def test_missing_markers(tmp_path, marker):
    table = read_party_table(write_csv(tmp_path, f"id,n,t\n1,5,a\n2,{marker},{marker}\n"), id_column="id")
    assert values_of(table, "n") == [5, None]
    assert values_of(table, "t") == ["a", None]


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
    assert values_of(read_party_table(write_csv(tmp_path, "id,x\n" + rows), id_column="id"), "x") == expected


def test_tab_separated_and_other_line_ends(tmp_path):
    table = read_party_table(write_csv(tmp_path, "id\ta\r\n1\tx, y\r\n\r\n2\tz", "bank.TSV"), id_column="id")
    assert (table.ids, values_of(table, "a")) == (("1", "2"), ["x, y", "z"])


def test_a_quote_inside_a_cell_is_no_damage(tmp_path):
    table = read_party_table(write_csv(tmp_path, 'id,size\n1,5" pipe\n2,6 pipe\n'), id_column="id")
    assert values_of(table, "size") == ['5" pipe', "6 pipe"]


def test_cells_with_line_ends_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "CSV_BLOCK", 128)
    rows = "".join(f'{k:03},"first\nsecond {k}"\n' for k in range(200))
    table = read_party_table(write_csv(tmp_path, "id,t\n" + rows), id_column="id")
    assert table.ids == tuple(f"{k:03}" for k in range(200))
    assert values_of(table, "t") == [f"first\nsecond {k}" for k in range(200)]
    with pytest.raises(privee.PriveeError, match=r"^bank\.csv: a row is longer than 128 bytes$"):
        read_party_table(write_csv(tmp_path, f"id,t\n1,{'x' * 500}\n2,y\n"), id_column="id")


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
    table = read_party_table(write_parquet(tmp_path, columns), id_column="id", kinds={"codes": "categorical"})
    assert table.ids == ("7", "4611686018427387905", "1")
    assert {name: values_of(table, name) for name in table.columns} == {
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
    fit_and_reload(table)


# The table


def test_take_follows_the_alignment():
    table = PartyTable("bank", ("a", "b", "c"), table_of(x=[1, 2, 3], t=["u", None, "w"]).columns, ["0", "1", "2"])
    taken = table.take(np.array([2, 0]))
    assert (taken.ids, taken.labels, values_of(taken, "x"), values_of(taken, "t")) == (
        ("c", "a"),
        ["2", "0"],
        [3, 1],
        ["w", "u"],
    )
    empty = table.take([])
    assert len(empty) == 0
    assert fit_preprocessing(table).apply(empty).shape == (0, 4)


def test_a_table_never_prints_what_it_holds():
    table = PartyTable("bank", ("ID-1", "ID-2"), table_of(x=["SECRET", "b"]).columns, ["LABEL", "1"])
    assert repr(table) == "PartyTable(name='bank')"
    assert "SECRET" not in repr(fit_preprocessing(table))
    assert "8.25" not in repr(fit_preprocessing(table_of(x=[8.25, 2])))


def test_a_table_is_checked():
    columns = table_of(x=[1, 2]).columns
    with pytest.raises(privee.PriveeError, match="differ in length"):
        PartyTable("bank", ("1",), columns)
    with pytest.raises(privee.PriveeError, match="differ in length"):
        PartyTable("bank", ("1", "2"), columns, [])
    with pytest.raises(privee.PriveeError, match="column 'x' of bank must be a chunked Arrow array"):
        PartyTable("bank", ("1", "2"), {"x": pa.chunked_array([[1, 2]])})


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
