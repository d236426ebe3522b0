"""The command line, run as a user runs it: in a process of its own."""

import json
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest

import privee
from tests._support.commands import good, run, start
from tests._support.scores import softmax_rows

NAMES = [f"p_{k}" for k in range(6)]


@pytest.fixture
def table() -> pa.Table:
    """Saturated scores, so that the order hangs on last bits, beside ids that a careless reader would spoil."""
    scores = softmax_rows(300, 6, 40.0)
    ids = [f"{i:05d}" for i in range(300)]
    return pa.table({"customer_id": ids} | {name: scores[:, k] for k, name in enumerate(NAMES)})


def as_scores(table: pa.Table) -> np.ndarray:
    return np.stack([table[name].to_numpy() for name in NAMES], axis=1)


def read_csv(path: Path) -> pa.Table:
    return arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(column_types={"customer_id": pa.string()}))


def test_protect_csv_keeps_ids_columns_and_order_bit_for_bit(tmp_path, table):
    arrow_csv.write_csv(table, tmp_path / "scores.csv")
    out = good("protect", "scores.csv", "-d", "privee-u:rho=0.1", "-o", "out.csv", cwd=tmp_path)
    assert "300 rows, 6 classes" in out
    assert "ranking kept 100.0%" in out
    released = read_csv(tmp_path / "out.csv")
    assert released.schema.names == table.schema.names
    assert released["customer_id"].to_pylist() == table["customer_id"].to_pylist()
    assert privee.theory.order_is_kept(as_scores(table), as_scores(released))
    assert (as_scores(table) != as_scores(released)).mean() > 0.9
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "scores.csv"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_protect_parquet_keeps_types(tmp_path, table, dtype):
    columns = {"row": pa.array(range(300)), "when": pa.array([None] * 300, pa.timestamp("ms"))}
    columns |= {name: as_scores(table).astype(dtype)[:, k] for k, name in enumerate(NAMES)}
    arrow_parquet.write_table(pa.table(columns), tmp_path / "scores.parquet")
    keep = ("--id", "row", "--id", "when")
    good("protect", "scores.parquet", *keep, "-d", "ranking-only", "-o", "out.parquet", cwd=tmp_path)
    released = arrow_parquet.read_table(tmp_path / "out.parquet")
    assert released.schema.types == pa.table(columns).schema.types
    assert released["row"].to_pylist() == list(range(300))
    assert privee.theory.order_is_kept(as_scores(table).astype(dtype), as_scores(released))


@pytest.mark.parametrize("shape", [(50, 6), (6,)])
def test_protect_npy(tmp_path, shape):
    scores = softmax_rows(50, 6).astype(np.float32)[: 1 if len(shape) == 1 else None].reshape(shape)
    np.save(tmp_path / "scores.npy", scores)
    good("protect", "scores.npy", "-d", "privee-u:rho=0.1", "-o", "out.npy", cwd=tmp_path)
    released = np.load(tmp_path / "out.npy", allow_pickle=False)
    assert released.shape == scores.shape
    assert released.dtype == np.float32
    assert privee.theory.order_is_kept(scores, released)


def test_blocks_join_up(tmp_path):
    """More rows than a block holds: the file equals one release of the whole array with the same seed."""
    scores = softmax_rows(70_000, 10)
    np.save(tmp_path / "scores.npy", scores)
    good("protect", "scores.npy", "-d", "privee-u:rho=0.1", "-o", "out.npy", "--seed", 3, cwd=tmp_path)
    whole = privee.PriveeU(rho=0.1).release(scores, draws=privee.seeded(3))
    assert (np.load(tmp_path / "out.npy") == whole).all()
    good("protect", "scores.npy", "-d", "privee-u:rho=0.1", "-o", "out.parquet", "--seed", 3, cwd=tmp_path)
    columns = arrow_parquet.read_table(tmp_path / "out.parquet")
    assert columns.schema.names == [f"class_{k}" for k in range(10)]
    assert (np.stack([c.to_numpy() for c in columns.columns], axis=1) == whole).all()


def test_without_a_seed_every_run_differs(tmp_path):
    np.save(tmp_path / "s.npy", softmax_rows(5, 6))
    for name in ("a.npy", "b.npy"):
        good("protect", "s.npy", "-d", "privee-u:rho=0.1", "-o", name, cwd=tmp_path)
    assert (np.load(tmp_path / "a.npy") != np.load(tmp_path / "b.npy")).any(axis=1).all()


def test_json_summary(tmp_path, table):
    arrow_csv.write_csv(table, tmp_path / "s.csv")
    told = json.loads(good("protect", "s.csv", "-d", "rounding:digits=1", "-o", "o.csv", "--json", cwd=tmp_path))
    assert told["rows"] == 300
    assert told["defense"] == {"name": "rounding", "digits": 1}
    assert told["rows_with_ranking_kept"] < 300


def test_delimiters(tmp_path):
    (tmp_path / "s.csv").write_text("id;a;b\n1;0.25;0.75\n")
    good("protect", "s.csv", "-d", "none", "-o", "o.csv", "--delimiter", ";", cwd=tmp_path)
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == '"1";0.25;0.75'
    (tmp_path / "s.tsv").write_text("id\ta\tb\n1\t0.25\t0.75\n")
    good("protect", "s.tsv", "-d", "none", "-o", "o2.csv", cwd=tmp_path)
    assert (tmp_path / "o2.csv").read_text().splitlines()[1] == '"1",0.25,0.75'


BAD_FILES = {
    "text.csv": ("name,a,b\nx,0.5,0.5\n", "text.csv: data row 1, column 'name' holds 'x', which is not a number"),
    "cell.csv": ("id,a,b\n1,0.5,0.5\n\n2,0.5,n/k\n3,0.5,n/k\n", "data row 2, column 'b' holds 'n/k', which is not"),
    "quoted.csv": (
        'id,a,b\n"1\n",0.5,0.5\n2,"0,5","0,5"\n',
        "data row 2, column 'a' holds '0,5', which is not a number",
    ),
    "long.csv": (f"id,a,b\n1,0.5,{'x' * 500}\n", f"data row 1, column 'b' holds '{'x' * 40}...', which"),
    "sum.csv": ("id,a,b\n1,0.5,0.5\n2,0.5,0.4\n", "data row 2 sums to 0.9, not to 1 within 0.001"),
    "blank.csv": ("a,b\n0.5,0.5\n0.5,\n", "data row 2, column b is not a finite number"),
    "negative.csv": ("a,b\n1.5,-0.5\n", "data row 1, column b is negative"),
    "ragged.csv": ("a,b\n0.5,0.5\n0.5\n", "a row has 1 columns where the header has 2"),
    "empty.csv": ("", "the file is empty"),
    "header.csv": ("a,b\n", "there are no rows"),
    "semicolons.csv": ("id;a;b\n1;0.5;0.5\n", "what parts it seems to be ';': say --delimiter ';'"),
    "tabs.csv": ("\ufeffid\ta\tb\n1\t0.5\t0.5\n", "what parts it seems to be '\\t': call the file .tsv"),
    "names.csv": ("id,h\udcf6ch,b\n1,0.5,0.5\n", "names.csv: this is no UTF-8 text: save it as UTF-8"),
    "ids.csv": ("id,a,b\n\udcfc,0.5,0.5\n", "ids.csv: this is no UTF-8 text: save it as UTF-8"),
    "twice.csv": ("a,a\n0.5,0.5\n", "the column name 'a' appears twice"),
    "empty.parquet": ("", "empty.parquet: the file is empty"),
    "empty.npy": ("", "empty.npy: the file is empty"),
    "fake.parquet": ("not parquet", "not a readable Parquet file"),
    "fake.npy": ("not npy", "not a readable .npy file"),
    "what.xlsx": ("", "cannot tell the format"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_get_one_line_and_leave_nothing(tmp_path, name, privee):
    text, message = BAD_FILES[name]
    (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")  # \udcf6 is the byte f6 alone
    code, out, err = privee("protect", name, "-d", "privee-u:rho=0.1", "-o", "out.csv")
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_pickled_arrays_are_refused(tmp_path, privee):
    np.save(tmp_path / "s.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    code, _, err = privee("protect", "s.npy", "-d", "none", "-o", "o.npy")
    assert (code, err.count("\n")) == (2, 1)
    assert "not a readable .npy file" in err


def test_existing_output_is_safe_without_force(tmp_path):
    (tmp_path / "s.csv").write_text("id,a,b\n1,0.5,0.5\n")
    (tmp_path / "o.csv").write_text("precious")
    code, _, err = run("protect", "s.csv", "-d", "none", "-o", "o.csv", cwd=tmp_path)
    assert code == 2
    assert "--force" in err
    assert (tmp_path / "o.csv").read_text() == "precious"
    good("protect", "s.csv", "-d", "none", "-o", "o.csv", "--force", cwd=tmp_path)
    assert "precious" not in (tmp_path / "o.csv").read_text()
    good("protect", "s.csv", "-d", "label-only", "-o", "s.csv", "--force", cwd=tmp_path)
    assert (tmp_path / "s.csv").read_text().splitlines()[1] == '"1",1,0'


def test_a_failed_run_keeps_the_old_output(tmp_path):
    (tmp_path / "s.csv").write_text("a,b\n0.5,0.5\n0.5,0.9\n")
    (tmp_path / "o.csv").write_text("old")
    code, _, _ = run("protect", "s.csv", "-d", "none", "-o", "o.csv", "--force", cwd=tmp_path)
    assert code == 2
    assert (tmp_path / "o.csv").read_text() == "old"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_runs_never_leave_a_half_written_output(tmp_path, how):
    np.save(tmp_path / "s.npy", np.full((1_500_000, 10), 0.1))
    process = start("protect", "s.npy", "-d", "privee-u:rho=0.1", "-o", "o.csv", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".o.csv.*.partial")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert not (tmp_path / "o.csv").exists()
    if how == signal.SIGINT:
        assert "interrupted" in err
        assert "Traceback" not in err
        assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob(".*.partial"))


def test_one_column_is_a_score_of_two_classes(tmp_path):
    arrow_csv.write_csv(pa.table({"id": ["a", "b", "c"], "p_yes": [0.1, 0.9, 0.25]}), tmp_path / "scores.csv")
    said = good("protect", "scores.csv", "-d", "none", "-o", "out.csv", cwd=tmp_path)
    assert "3 rows, 2 classes" in said
    assert "one score column p: read as two classes, 1 - p and p" in said
    assert arrow_csv.read_csv(tmp_path / "out.csv").column_names == ["id", "not_p_yes", "p_yes"]
    summary = json.loads(good("protect", "scores.csv", "-d", "none", "-o", "out.csv", "-f", "--json", cwd=tmp_path))
    assert summary["read_as_two_classes"] is True


def test_text_in_a_parquet_file_is_quoted_by_example(tmp_path, privee):
    arrow_parquet.write_table(pa.table({"id": [1, 2], "a": ["0.5", "n/k"], "b": [0.5, 0.5]}), tmp_path / "s.parquet")
    code, _, err = privee("protect", "s.parquet", "-d", "none", "-o", "o.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "s.parquet: column 'a' holds string such as '0.5', not scores" in err


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy"])
def test_a_folder_is_not_taken_for_a_file(tmp_path, suffix, privee):
    (tmp_path / f"d{suffix}").mkdir()
    (tmp_path / "s.csv").write_text("id,a,b\n1,0.5,0.5\n")
    for source, target in ((f"d{suffix}", "o.csv"), ("s.csv", f"d{suffix}")):
        code, _, err = privee("protect", source, "-d", "none", "-o", target, "--force")
        assert (code, err.count("\n")) == (2, 1)
        assert f"d{suffix} is a folder; give a file" in err
    code, _, err = privee("protect", "s.csv", "-d", f"ope:key_file=d{suffix}", "-o", "o.csv")
    assert (code, err) == (2, f"privee: the key file d{suffix} is a folder; give a file\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"d{suffix}", "s.csv"])


QUICK = [privee.defense(cls.example or name).spec for name, cls in privee.known_defenses().items() if not cls.slow]


@pytest.mark.parametrize("spec", QUICK)
@pytest.mark.parametrize("row", ["1,0,0", "0.25,0.25,0.5"])
def test_a_constant_file_is_protected_as_any_other(tmp_path, spec, row, good):
    (tmp_path / "s.csv").write_text("a,b,c\n" + f"{row}\n" * 20)
    told = json.loads(good("protect", "s.csv", "-d", spec, "-o", "o.csv", "--json"))
    assert (told["rows"], told["classes"]) == (20, 3)
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 21
