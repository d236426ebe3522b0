"""`privee train` and `privee predict`, run as a user runs them."""

import json
import re
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv
import pytest
import torch

import privee
from privee.vfl.experiment import open_run
from privee.vfl.runs import RunFolder
from tests._support.commands import good, run, start
from tests._support.federation import write_tables
from tests._support.weights import all_weights, equal


@pytest.mark.slow
def test_a_killed_process_resumes_to_the_same_weights(tmp_path):
    """SIGKILL in the middle of training, then the same command again; SIGINT likewise, with a word on how to go on."""
    command = ["train", "digits", "--model", "mlp", "--epochs", "14", "--batch-size", "8", "--out"]
    good(*command, "whole", cwd=tmp_path)
    for how, expected in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        folder = tmp_path / how.name
        process = start(*command, how.name, cwd=tmp_path)
        deadline = time.monotonic() + 90
        while len(RunFolder(folder).metrics()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
        assert process.returncode == expected
        assert not RunFolder(folder).finished
        if how == signal.SIGINT:
            assert "goes on after the last finished epoch" in err
        code, _, err = run("predict", how.name, "-d", "none", "-o", "x.csv", cwd=tmp_path)
        assert code == 2
        assert "not finished" in err
        good(*command, how.name, cwd=tmp_path)
        assert equal(all_weights(tmp_path / "whole"), all_weights(folder))


def test_predictions_of_a_run_are_releases(tmp_path):
    said = good("train", "digits", "--model", "logistic", "--epochs", "3", "--out", "run", cwd=tmp_path)
    for row in ("joint model", "own columns alone", "majority class"):
        assert re.search(rf"^{row} +(\d\S+ +){{6}}\d\S+$", said, re.MULTILINE)
    assert "learned from 899 training records" in said
    assert "The joint model adds nothing to active's own columns here." in said  # so it is, after three epochs
    said = good("predict", "run", "-d", "none", "-o", "t.npy", "--rows", "train", cwd=tmp_path)
    assert "measured on 899 TRAINING records" in said
    for name, spec in (("a.npy", "none"), ("b.npy", "privee-u:rho=0.1"), ("c.csv", "ranking-only")):
        good("predict", "run", "-d", spec, "-o", name, cwd=tmp_path)
    scores, release = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
    federation, data = open_run(tmp_path / "run")
    assert np.array_equal(scores, federation.scores(torch.from_numpy(data.test)))
    assert privee.theory.order_is_kept(scores, release)
    table = arrow_csv.read_csv(tmp_path / "c.csv")
    assert table.schema.names == ["row", *(f"class_{k}" for k in range(10))]
    assert table["row"].to_pylist() == data.test.tolist()
    code, _, err = run("predict", "run", "-o", "d.csv", cwd=tmp_path)
    assert code == 2
    assert "--defense" in err


def tables(folder: Path, rows: int = 120) -> None:
    """Two parties with overlapping customers; the risk depends on both parties' columns."""
    rng = np.random.default_rng(1)
    income, age, basket = rng.random(rows), rng.random(rows), rng.random(rows)
    city = rng.choice(["north", "south"], rows)
    risk = np.where(income + basket + (city == "south") > 1.4, "high", "low")
    bank = ["customer,income,age,risk", *(f"{i:04d},{income[i]},{age[i]},{risk[i]}" for i in range(100))]
    shop = ["customer,basket,city", *(f"{i:04d},{basket[i]},{city[i]}" for i in range(20, rows))]
    (folder / "bank.csv").write_text("\n".join(bank) + "\n")
    (folder / "shop.csv").write_text("\n".join(shop) + "\n")


OWN = ["--party", "bank=bank.csv", "--party", "shop=shop.csv"]


def test_own_tables_end_to_end(tmp_path):
    tables(tmp_path)
    who = ["--active", "bank", "--id", "customer", "--label", "risk", "--seed", 1]
    told = json.loads(good("train", *OWN, *who, "--epochs", 60, "--out", "run", "--json", cwd=tmp_path))
    assert told["train"]["rows"] + told["test"]["rows"] == 80
    assert told["test"]["accuracy"] >= 0.75
    shop = json.loads((tmp_path / "run/parties/shop/preprocessing.json").read_text())
    assert "city" in json.dumps(shop)
    for elsewhere in ("config.json", "parties/bank/preprocessing.json", "coordinator/model.safetensors"):
        assert b"south" not in (tmp_path / "run" / elsewhere).read_bytes()
    assert told["active"] == "bank"
    assert told["positive_class"] == "low"
    assert told["own_columns"]["auc"] < told["utility"]["auc"]
    assert told["majority"]["auc"] == 0.5
    assert told["utility"] == json.loads((tmp_path / "run/utility.json").read_text())["utility"]
    good("predict", "run", *OWN, "-d", "label-only", "-o", "out.csv", cwd=tmp_path)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == '"customer","class_high","class_low"'
    assert len(lines) == 81
    assert re.match(r'"00\d\d",', lines[1])
    said = good("predict", "run", *OWN, "-d", "privee-u:rho=0.1", "-o", "w.csv", cwd=tmp_path)
    assert "order within records 100.0%" in said
    assert re.search(r"order between records 0\.\d\d \(Kendall", said)
    assert "F1, AUC and average precision: of class low" in said
    assert "measured on 16 records that the model was not trained on, 64 training records left out" in said
    assert re.search(r"^release +(\S+ +){5}- +-$", said, re.MULTILINE)
    bank = (tmp_path / "bank.csv").read_text()
    (tmp_path / "bank.csv").write_text(bank.replace("high", "High").replace("low", "Low"))
    assert "utility is not measured" in good("predict", "run", *OWN, "-d", "none", "-o", "v.csv", cwd=tmp_path)
    code, _, err = run("predict", "run", *OWN[:2], "-d", "none", "-o", "y.csv", cwd=tmp_path)
    assert code == 2
    assert "needs the columns of shop" in err


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, ["--id", "customer", "--label", "risk"], "which party holds the labels"),
        ({}, ["--active", "bank", "--label", "risk"], "which column holds the ids"),
        ({}, ["--active", "bank", "--id", "customer"], "which column of bank holds the labels"),
        ({}, ["--active", "bank", "--id", "customer", "--label", "rosk"], "no column 'rosk'"),
        ({}, ["--active", "bank", "--id", "number", "--label", "risk"], "no column 'number'"),
        ({"shop.csv": "customer,basket\nx,1\ny,2\n"}, [], "no common ids"),
        ({"shop.csv": "customer,basket\n0030,1\n0030,2\n"}, [], "duplicate id"),
        ({"bank.csv": "customer,income,risk\n0030,1,a\n0031,2,a\n0032,3,a\n"}, [], "single class"),
        ({"shop.csv": "customer,basket\n0030,1\n0031,1\n0032,1\n"}, [], "constant"),
        ({"shop.csv": "customer,basket\n0030,1\n0031,inf\n0032,1\n0033,2\n0034,5\n0035,5\n"}, [], "basket"),
        ({"shop.csv": "customer,basket\n0030,1\n0031\n"}, [], "damaged or cut off"),
    ],
)
def test_bad_tables_are_named(tmp_path, change, arguments, message, privee):
    tables(tmp_path)
    for name, text in change.items():
        (tmp_path / name).write_text(text)
    usual = ["--active", "bank", "--id", "customer", "--label", "risk"]
    code, _, err = privee("train", *OWN, *(arguments or usual), "--epochs", 1, "--out", "run")
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    left = {file.name for file in (tmp_path / "run").rglob("*") if file.is_file()}
    assert left <= {"alignment.parquet"}  # which the next attempt need not make again


def test_tables_decide_what_was_not_said(tmp_path):
    """The same options as ever, and none: what the run was trained with is in its config."""
    files = write_tables(tmp_path, ("bank", "shop"))
    tables = [word for name, path in files.items() for word in ("--party", f"{name}={path}")]
    command = ["train", *tables, "--active", "bank", "--id", "customer", "--label", "digit", "--epochs", 3, "--json"]
    good(*command, "--out", "suited", cwd=tmp_path)
    chosen = RunFolder.open(tmp_path / "suited").config["training"]
    assert (chosen["epochs"], chosen["scaling"], chosen["batch_size"]) == (3, "quantile", 32)
    assert chosen["patience"] >= 5
    assert "class_weights" not in chosen  # scores stay probabilities unless it is asked for
    plain = ["--scaling", "none", "--patience", 0, "--penalty", 0, "--class-weights", "balanced", "--threads", 1]
    good(*command, *plain, "--out", "plain", cwd=tmp_path)
    chosen = RunFolder.open(tmp_path / "plain").config["training"]
    assert "scaling" not in chosen
    assert "penalty" not in chosen
    assert (chosen["patience"], chosen["class_weights"]) == (None, "balanced")


def test_pictures_are_trained_as_before(tmp_path):
    good("train", "digits", "--model", "logistic", "--epochs", 2, "--out", "run", cwd=tmp_path)
    before = {"epochs": 2, "batch_size": 128, "learning_rate": 0.001, "seed": 0, "patience": None}
    assert RunFolder.open(tmp_path / "run").config["training"] == before | {"validation_share": 0.1}
