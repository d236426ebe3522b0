"""CSV as other programs write it: what parts the cells, encodings, packed files and decimal commas are found."""

import codecs
import gzip

import pyarrow as pa
import pytest

import privee
from privee.data.files.size_limits import VARIABLE
from privee.data.tables import read_party_table
from tests._support.tables import values_of, write_csv, write_parquet

TEXT = "id;Größe;city\n007;1,5;Zürich\n8;-1.234,25;Köln, am Rhein\n9;;Bern\n"


def check(path, found):
    table = read_party_table(path, id_column="id")
    assert table.ids == ("007", "8", "9")
    assert values_of(table, "Größe") == [1.5, -1234.25, None]
    assert values_of(table, "city") == ["Zürich", "Köln, am Rhein", "Bern"]
    assert table.found == found


@pytest.mark.parametrize(
    ("encode", "found"),
    [
        (lambda text: text.encode(), ("semicolon", "decimal comma")),
        (lambda text: text.encode("utf-8-sig"), ("semicolon", "decimal comma", "BOM")),
        (lambda text: text.encode("utf-16"), ("semicolon", "decimal comma", "UTF-16", "BOM")),
        (
            lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
            ("semicolon", "decimal comma", "UTF-16", "BOM"),
        ),
        (lambda text: text.encode("utf-16-le"), ("semicolon", "decimal comma", "UTF-16")),
        (lambda text: text.encode("utf-16-be"), ("semicolon", "decimal comma", "UTF-16")),
        (lambda text: text.encode("latin-1"), ("semicolon", "decimal comma", "Windows-1252")),
        (lambda text: gzip.compress(text.encode("cp1252")), ("semicolon", "decimal comma", "Windows-1252", "gzip")),
    ],
)
def test_encodings_and_packed_files(tmp_path, encode, found):
    check(write_csv(tmp_path, encode(TEXT)), found)
    check(write_csv(tmp_path, encode(TEXT), "bank.csv.gz"), found)  # what it holds counts, not what it is called


@pytest.mark.parametrize(
    ("text", "delimiter", "found", "columns"),
    [
        ("id,a,b\n1,x,2\n2,y;z,3\n", "", "comma", 2),
        ("id;a,b;c\n1;x,y;2\n2;z;3\n", "", "semicolon", 2),
        ("id\ta\n1\tx,y\n2\tz,u\n", "", "tab", 1),
        ("id|a\n1|x\n2|y\n", "", "bar", 1),
        ('"id";"a;b"\n1;"x;y"\n2;"z"\n', "", "semicolon", 1),
        ("id;a\n1;x\n2\n", "", None, 1),  # ragged by every reading: the header decides, and the row is named
        ("id:a\n1:x,y\n", ":", "':'", 1),
    ],
)
def test_what_parts_the_cells(tmp_path, text, delimiter, found, columns):
    path = write_csv(tmp_path, text)
    if found is None:
        with pytest.raises(privee.PriveeError, match="data row 2: the header has 2 cells, this row 1"):
            read_party_table(path, id_column="id")
        return
    table = read_party_table(path, id_column="id", delimiter=delimiter)
    assert table.found[0] == found
    assert table.ids[0] == "1"
    assert len(table.columns) == columns


@pytest.mark.parametrize(
    ("head", "cells", "expected"),
    [
        ("id;x", ["1,5", "2"], [1.5, 2]),
        ("id;x", [",5", "+2,0e3"], [0.5, 2000]),
        ("id;x", ["1.234", "999", "12,5"], [1234, 999, 12.5]),
        ("id;x", ["1,234", "5"], [1.234, 5]),
        ("id;x", ["1,5", "n. v."], ["1,5", "n. v."]),
        ("id;x", ["1.5", "2"], [1.5, 2]),
        ("id,x", ['"1,5"', "2"], [1.5, 2]),
        ("id,x", ['"1,234"', "5"], ["1,234", "5"]),  # a thousand or one and a bit: nobody knows
    ],
)
def test_decimal_commas(tmp_path, head, cells, expected):
    rows = "".join(f"{k}{head[2]}{cell}\n" for k, cell in enumerate(cells))
    table = read_party_table(write_csv(tmp_path, f"{head}\n{rows}"), id_column="id")
    assert values_of(table, "x") == expected
    numbers = not isinstance(expected[0], str)
    assert ("decimal comma" in table.found) == (numbers and any("," in cell for cell in cells))


def test_dots_between_thousands_where_other_columns_have_decimal_commas(tmp_path):
    path = write_csv(tmp_path, "id;x;y;z\n1;1.234;0,5;0.125\n2;999;1;0.25\n")
    table = read_party_table(path, id_column="id")
    assert [values_of(table, name) for name in "xyz"] == [[1234, 999], [0.5, 1], [0.125, 0.25]]


@pytest.mark.parametrize("comma", [".", ","])
def test_text_among_numbers_is_shown_to_the_owner_alone(tmp_path, comma):
    cells = [f"{k}{comma}5" for k in range(60)]
    cells[40] = "SECRET"
    path = write_csv(tmp_path, "id;x\n" + "".join(f"{k};{cell}\n" for k, cell in enumerate(cells)))
    with pytest.raises(privee.errors.TableError) as caught:
        read_party_table(path, id_column="id")
    told = str(caught.value)
    assert told.startswith(
        "column 'x' of bank.csv holds numbers, but 1 of 60 cells is something else, first at data row 41"
    )
    assert "SECRET" not in told
    assert caught.value.of_party("shop").to_owner() == f"party shop: {told}; it is 'SECRET'"
    assert values_of(read_party_table(path, id_column="id", kinds={"x": "categorical"}), "x") == cells
    with pytest.raises(privee.PriveeError, match="no feature columns"):
        read_party_table(path, id_column="id", drop=["x"])


@pytest.mark.parametrize(
    ("ids", "whole"),
    [
        (["1", "20"], True),
        (["0", "-3"], True),
        (["1", "02"], False),
        (["1", "a"], False),
        (["1", "1e3"], False),
        (["1", "12345678901234567890"], False),
    ],
)
def test_whole_ids(tmp_path, ids, whole):
    table = read_party_table(write_csv(tmp_path, "id,x\n" + "".join(f"{one},1\n" for one in ids)), id_column="id")
    assert table.ids == tuple(ids)
    assert table.whole_ids is whole
    assert table.take([0]).whole_ids is whole


@pytest.mark.parametrize(
    ("column", "whole"),
    [
        (pa.array([7, 2**62 + 1]), True),
        (pa.array([7, 8], pa.uint64()), True),
        (pa.array([7, 2**64 - 1], pa.uint64()), False),
        (pa.array(["7", "8"]), False),  # text by its type, so text in what is written
        (pa.array(["7", "8"]).dictionary_encode(), False),
    ],
)
def test_whole_ids_of_parquet(tmp_path, column, whole):
    path = write_parquet(tmp_path, {"id": column, "x": [1.0, 2.0]})
    assert read_party_table(path, id_column="id").whole_ids is whole


def test_a_packed_file_that_stands_for_too_much(tmp_path, monkeypatch):
    path = write_csv(tmp_path, gzip.compress(b"id,x\n" + b"1,2\n" * 10_000_000), "bank.csv.gz")
    monkeypatch.setenv(VARIABLE, str(20 << 20))
    with pytest.raises(privee.PriveeError, match=r"bank\.csv\.gz takes some 0\.0 GB once it is read"):
        read_party_table(path, id_column="id")
