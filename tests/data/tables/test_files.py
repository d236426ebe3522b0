"""Files of tables that cannot be read: named in one line, never read wrongly."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import privee
from privee.data.tables import (
    read_party_table,
)
from tests._support.tables import write_csv, write_parquet


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([[1], [2]]), "list"),
        (pa.array([{"secret": 1}, {"secret": 2}]), "struct"),
        (pa.array([b"\xff", b"\x00"]), "binary"),
    ],
)
def test_nested_columns_are_refused_by_name(tmp_path, column, kind):
    path = write_parquet(tmp_path, {"id": ["1", "2"], "a": [1, 2], "odd": column})
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
        ("id,incme,a\n1,y,3\n", "bank.csv has no column 'income'; did you mean 'incme'? its columns are id, incme, a"),
        ("id,Income,a\n1,y,3\n", "bank.csv has no column 'income'; did you mean 'Income'?"),
        (b"id,income,a\n1,\xc3\xa9,caf\xc3\xa9\n2,y,caf\xe9\n", "bank.csv is damaged: line 3 is not UTF-8 text while"),
        (b"\xef\xbb\xbfid,income,a\n1,y,caf\xe9\n", "bank.csv is damaged: line 2 is not UTF-8 text"),
        (b"id,income,a\n1,y,\x81\n", "bank.csv is damaged, or no text in UTF-8 or Windows-1252"),
        (b"\xff\xfei\x00d\x00", "bank.csv has no rows"),
        (b"\xff\xfei\x00d\x00,\x00\x00\xd8", "bank.csv is damaged, or no text in UTF-8 or UTF-16"),
        (b"PK\x03\x04xl/workbook.xml", "bank.csv is a workbook or a zip archive; save the table as CSV"),
        (b"\x1f\x8b\x08\x00cut", "bank.csv is damaged: it cannot be unpacked"),
        (b"\x89PNG\r\n\x1a\n\x00\xff\xd8", "bank.csv is not a text file; save the table as CSV"),
    ],
)
def test_errors_of_csv_name_what_is_wrong(tmp_path, text, message):
    with pytest.raises(privee.PriveeError) as caught:
        read_party_table(write_csv(tmp_path, text), id_column="id", label_column="income")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_errors_of_files(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(privee.PriveeError, match=r"folder\.csv is a folder; give a file$"):
        read_party_table(tmp_path / "folder.csv", id_column="id")
    with pytest.raises(privee.PriveeError, match=r"absent.csv: no such file"):
        read_party_table(tmp_path / "absent.csv", id_column="id")
    with pytest.raises(privee.PriveeError, match=r"cannot tell the format; use one of .csv, .tsv, .parquet, .pq"):
        read_party_table(write_csv(tmp_path, "id,a\n1,2\n", "bank.xlsx"), id_column="id")
    with pytest.raises(privee.PriveeError, match="cannot be both the id and the label"):
        read_party_table(write_csv(tmp_path, "id,a\n1,2\n"), id_column="id", label_column="id")
    with pytest.raises(privee.PriveeError, match=r"^bank\.parquet is damaged"):
        read_party_table(write_csv(tmp_path, "id,a\n1,2\n", "bank.parquet"), id_column="id")
    with pytest.raises(privee.PriveeError, match=r"a, b, c, d, e, f, g, h, i, j, k, l and 1 more$"):
        read_party_table(write_csv(tmp_path, ",".join("abcdefghijklm") + "\n"), id_column="id")
    names = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("a", pa.int64())])
    arrow_parquet.write_table(pa.table([[1], [2], [3]], schema=names), tmp_path / "twice.parquet")
    with pytest.raises(privee.PriveeError, match=r"twice\.parquet has two columns called 'a'"):
        read_party_table(tmp_path / "twice.parquet", id_column="id")
    with pytest.raises(privee.PriveeError, match=r"bank\.parquet has no rows"):
        read_party_table(write_parquet(tmp_path, {"id": pa.array([], pa.int64()), "a": []}), id_column="id")
    latin = pa.array([b"caf\xe9", b"tea"]).cast(pa.string(), safe=False)
    with pytest.raises(privee.PriveeError, match=r"^bank\.parquet is damaged"):
        read_party_table(write_parquet(tmp_path, {"id": [1, 2], "a": latin}), id_column="id")
    with pytest.raises(privee.PriveeError, match=r"column 'id' of bank\.parquet holds double; ids are"):
        read_party_table(write_parquet(tmp_path, {"id": [1.0], "a": [2]}), id_column="id")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads every file")
def test_a_file_one_may_not_read(tmp_path):
    path = write_csv(tmp_path, "id,a\n1,2\n")
    path.chmod(0)
    with pytest.raises(privee.PriveeError, match=r"bank\.csv cannot be read: Permission denied"):
        read_party_table(path, id_column="id")


def test_a_parquet_file_cut_off_anywhere_is_damaged(tmp_path):
    rng = np.random.default_rng(0)
    path = write_parquet(tmp_path, {"id": np.arange(500), "x": rng.random(500), "t": ["a", "b"] * 250})
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
