"""`privee align`, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
import typer
from typer.testing import CliRunner

import privee
from privee.cli.align import align_command


def run(*arguments):
    app = typer.Typer()
    app.command()(align_command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


BANK_CSV = (
    b'\xef\xbb\xbfcustomer_id,note,x\r\n007,"a, ""b""\r\nsecond line",1.50\r\n\r\n7,plain,1e3\r\n"42",  kept ,\xc3\xa9'
)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "bank.csv").write_bytes(BANK_CSV)
    numbers = pa.table(
        {
            "key": pa.array([42, 5, 7], pa.int32()),
            "day": pa.array([None, 1, 2], pa.date32()),
            "list": [[1.5], [], [2.0, None]],
        }
    )
    arrow_parquet.write_table(numbers, tmp_path / "shop.parquet")
    return tmp_path


def arguments(folder, *more):
    parties = "-p", f"bank={folder / 'bank.csv'}", "-p", f"shop={folder / 'shop.parquet'}"
    return *parties, "--active", "bank", "--id", "customer_id", "--id", "shop:key", "--out", folder / "out", *more


def test_command_writes_own_rows_in_common_order(files):
    result = run(*arguments(files))
    assert result.exit_code == 0, result.output
    assert "2 common records" in result.output
    assert (files / "out" / "bank.csv").read_bytes() == (
        b'\xef\xbb\xbfcustomer_id,note,x\r\n"42",  kept ,\xc3\xa9\r\n7,plain,1e3\r\n'
    )
    before, after = (arrow_parquet.read_table(files / p) for p in ("shop.parquet", "out/shop.parquet"))
    assert after.schema == before.schema
    assert after.to_pylist() == [before.to_pylist()[0], before.to_pylist()[2]]
    assert sorted(p.name for p in (files / "out").iterdir()) == ["bank.csv", "shop.parquet"]


def test_cells_with_quotes_and_newlines_stay_whole(tmp_path):
    (tmp_path / "bank.csv").write_bytes(BANK_CSV)
    (tmp_path / "shop.tsv").write_bytes(b"customer_id\tz\n42\t,\n007\t1\n")
    parties = "-p", f"bank={tmp_path / 'bank.csv'}", "-p", f"shop={tmp_path / 'shop.tsv'}"
    result = run(*parties, "--active", "shop", "--id", "customer_id", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "bank.csv").read_bytes() == (
        b'\xef\xbb\xbfcustomer_id,note,x\r\n007,"a, ""b""\r\nsecond line",1.50\r\n"42",  kept ,\xc3\xa9\r\n'
    )
    assert (tmp_path / "out" / "shop.tsv").read_bytes() == b"customer_id\tz\n007\t1\n42\t,\n"


def test_delimiters_are_found(tmp_path):
    (tmp_path / "bank.csv").write_bytes(b"\xef\xbb\xbfid;x\n1;1,5\n2;2,5\n")
    (tmp_path / "shop.csv").write_bytes(b"id|x\n2|a;b\n1|c\n")
    parties = "-p", f"bank={tmp_path / 'bank.csv'}", "-p", f"shop={tmp_path / 'shop.csv'}"
    assert run(*parties, "--active", "bank", "--id", "id", "-o", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "shop.csv").read_bytes() == b"id|x\n1|c\n2|a;b\n"


def test_command_json(files):
    told = json.loads(run(*arguments(files, "--json")).output)
    assert told["common"] == 2
    assert told["active"] == "bank"
    assert told["seconds"] > 0
    assert {name: party["records"] for name, party in told["parties"].items()} == {"bank": 3, "shop": 3}
    assert told["parties"]["bank"]["bytes_sent"] == told["parties"]["shop"]["bytes_received"] > 300
    assert told["parties"]["shop"]["out"] == str(files / "out" / "shop.parquet")


def test_existing_files_are_refused_before_the_work(files):
    assert run(*arguments(files)).exit_code == 0
    (files / "bank.csv").unlink()
    assert "bank.csv exists already; use --force" in str(run(*arguments(files)).exception)
    assert "bank.csv: no such file" in str(run(*arguments(files, "--force")).exception)


def test_existing_files_are_safe_without_force(files):
    (files / "out").mkdir()
    (files / "out" / "shop.parquet").write_text("precious")
    result = run(*arguments(files))
    assert isinstance(result.exception, privee.PriveeError)
    assert "shop.parquet exists already; use --force" in str(result.exception)
    assert [p.read_text() for p in (files / "out").iterdir()] == ["precious"]
    assert run(*arguments(files, "--force")).exit_code == 0
    assert arrow_parquet.read_table(files / "out" / "shop.parquet").num_rows == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.uint64()])
def test_parquet_id_types(files, kind):
    number = pa.types.is_integer(kind)
    ids = [2**64 - 1, 42, 7] if number else ["x", "42", "007"]
    arrow_parquet.write_table(pa.table({"key": pa.array(ids, kind)}), files / "shop.parquet")
    assert run(*arguments(files)).exit_code == 0
    assert arrow_parquet.read_table(files / "out" / "shop.parquet")["key"].to_pylist() == (
        [42, 7] if number else ["007", "42"]
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bank.csv", b"customer_id,x\n7,1\n7,2\n", "party bank has 1 duplicate id; first at data rows 1 and 2"),
        ("bank.csv", b"customer_id,x\n7,1\n,2\n", "party bank has 1 missing id; first at data row 2"),
        ("bank.csv", b"customer_id,x\n7,1\n8\n", "bank.csv: data row 2 has 1 cells where the header has 2"),
        ("bank.csv", b"id,x\n7,1\n", "bank.csv: no column is called 'customer_id'; the columns are id, x"),
        ("bank.csv", b"customer_id,customer_id\n7,1\n", "the column name 'customer_id' appears twice"),
        ("bank.csv", b"", "no column is called 'customer_id'; the columns are none"),
        ("bank.csv", b"customer_id,x\n", "party bank has no ids"),
        ("bank.csv", b'customer_id,x\n7,1\n8,"open\n', "bank.csv: line 3 cannot be read as CSV"),
        ("bank.csv", b"customer_id,x\n7,1\n8,\xff\n", "bank.csv: line 3 is not UTF-8 text"),
        ("bank.csv", b"customer_id,x\n9999,1\n", "parties bank and shop have no common ids"),
        ("shop.parquet", b"not parquet", "shop.parquet: this is not a readable Parquet file"),
        ("shop.parquet", pa.table({"key": [1.0]}), "column 'key' holds double; ids must be text or whole numbers"),
        ("shop.parquet", pa.table({"key": [1, None]}), "party shop has 1 missing id; first at data row 2"),
        ("shop.parquet", pa.table({"other": [1]}), "no column is called 'key'"),
    ],
)
def test_bad_files_leave_nothing(files, name, content, message):
    if isinstance(content, bytes):
        (files / name).write_bytes(content)
    else:
        arrow_parquet.write_table(content, files / name)
    result = run(*arguments(files))
    assert isinstance(result.exception, privee.PriveeError)
    assert message in str(result.exception)
    assert "9999" not in str(result.exception)
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["-p", "x"], "--party takes NAME=FILE"),
        (["-p", "bank=y.csv"], "party bank is given twice"),
        (["-p", "a/b=y.csv"], "a party's name becomes a file name"),
        (["-p", "z=y.csv"], "y.csv: no such file"),
        (["-p", "z=y.npy"], "y.npy: cannot tell the format"),
        (["--id", "other"], "more than one column for all parties"),
        (["--active", "nobody"], "no party is called 'nobody'; there are bank, shop"),
        (["--delimiter", ";;"], "the delimiter must be one character"),
        (["--out", __file__], "is a file; give a folder"),
    ],
)
def test_bad_arguments(files, change, message):
    result = run(*arguments(files, *change))
    assert isinstance(result.exception, privee.PriveeError)
    assert message in str(result.exception)
    assert not (files / "out").exists()


def test_an_id_column_is_needed_for_every_party(files):
    parties = "-p", f"bank={files / 'bank.csv'}", "-p", f"shop={files / 'shop.parquet'}"
    result = run(*parties, "--active", "bank", "--id", "shop:key", "--out", files / "out")
    assert "which column holds the ids of bank? Give --id COLUMN or --id PARTY:COLUMN" in str(result.exception)


def test_help_has_an_example_and_says_what_it_is_for():
    words = " ".join(run("--help").output.split())
    assert "Example: `privee align" in words or "Example: privee align" in words
    assert "across organisations" in words


def test_neither_privee_nor_the_command_loads_the_psi_library_or_arrow():
    code = "import sys, privee, privee.cli.align; print({'private_set_intersection', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--engine", "rr22"), "no engine is called 'rr22'; there are openmined, spu"),
        (("--engine", "spu"), "the engine spu needs a Python of its own, which PRIVEE_SPU_PYTHON names"),
        (("--engine", "spu", "--link", "bank=10.0.0.1:7001"), "a link needs TLS on both sides"),
        (("--link", "bank=10.0.0.1:7001"), "a link is for the engine spu"),
    ],
)
def test_engines_that_cannot_be_used_are_one_line(files, monkeypatch, more, words):
    monkeypatch.delenv("PRIVEE_SPU_PYTHON", raising=False)
    result = run(*arguments(files, *more))
    assert isinstance(result.exception, privee.PriveeError)
    assert words in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not (files / "out").exists()


def test_the_second_engine_writes_the_same_files(files, monkeypatch, tmp_path):
    """With a Python whose spu is the stand-in of the tests."""
    stand_in = Path(__file__).parents[1] / "_support" / "stand_in_worker.py"
    monkeypatch.setattr("privee.data.alignment.spu.pipe.spu_command", lambda: [sys.executable, str(stand_in)])
    monkeypatch.setattr("privee.data.alignment.spu.one_machine.spu_command", lambda: [])
    assert run(*arguments(files)).exit_code == 0
    expected = {path.name: path.read_bytes() for path in (files / "out").iterdir()}
    result = run(*arguments(files, "--engine", "spu", "--force", "--json"))
    assert result.exit_code == 0, result.output
    assert {path.name: path.read_bytes() for path in (files / "out").iterdir()} == expected
    told = json.loads(result.stdout)
    assert told["common"] == 2
    assert set(told["parties"]["bank"]) == {"records", "out"}  # traffic is not counted
    assert "sent" not in run(*arguments(files, "--engine", "spu", "--force")).stdout
