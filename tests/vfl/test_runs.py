"""Saved runs: resumed after a kill with the same weights, refused when damaged, no pickle anywhere."""

import json
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv
import pytest
import torch
from safetensors.torch import load_file

import privee
from privee.data.datasets import Dataset
from privee.data.partition import split_columns, split_image
from privee.vfl.experiment import describe_parties, open_run, train_run
from privee.vfl.joint_data import JointData, from_dataset, from_tables
from privee.vfl.runs import RunFolder
from privee.vfl.training import TrainingSettings
from tests._support.commands import good, run, start

SETTINGS = TrainingSettings(epochs=4, batch_size=16, learning_rate=1e-2)


def small(pictures: bool = False) -> JointData:
    """A tiny dataset, a table or pictures, in two parts."""
    rng = np.random.default_rng(0)
    shape = (48, 3, 8, 8) if pictures else (48, 10)
    x, y = rng.random(shape, dtype=np.float32), np.arange(48) % 3
    extra = {} if pictures else {"column_names": tuple("abcdefghij"), "groups": tuple((k,) for k in range(10))}
    data = Dataset("tiny", x, y, x[:12], y[:12], class_names=("a", "b", "c"), **extra)
    return from_dataset(data, split_image((3, 8, 8)) if pictures else split_columns(10))


def all_weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted(folder.glob("**/model.safetensors"))
    assert len(files) == 3
    return {f"{file.parent.name}.{k}": t for file in files for k, t in load_file(file).items()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


class PowerCutError(Exception):
    pass


@pytest.mark.parametrize("kind", ["logistic", "mlp", "resnet"])
@pytest.mark.parametrize("patience", [None, 2])
def test_a_broken_run_resumes_to_the_same_weights(tmp_path, kind, patience):
    data = small(pictures=kind == "resnet")
    settings = TrainingSettings(epochs=4, batch_size=16, learning_rate=1e-2, patience=patience)
    train_run(tmp_path / "whole", data, kind, settings)

    def cut(epoch, epochs, step, steps):
        if (epoch, step) == (3, 2):
            raise PowerCutError

    with pytest.raises(PowerCutError):
        train_run(tmp_path / "broken", data, kind, settings, on_step=cut)
    assert not RunFolder(tmp_path / "broken").finished
    RunFolder(tmp_path / "broken").log({"epoch": 3, "loss": 0.0})  # as if cut between the metrics and the checkpoint
    seen: list[int] = []
    train_run(tmp_path / "broken", data, kind, settings, on_step=lambda epoch, *_: seen.append(epoch))
    assert min(seen) == 3
    assert equal(all_weights(tmp_path / "whole"), all_weights(tmp_path / "broken"))
    whole, broken = (RunFolder(tmp_path / name).metrics() for name in ("whole", "broken"))
    assert whole == broken
    assert not (tmp_path / "broken" / "checkpoint").exists()


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


def test_each_party_has_its_own_file(tmp_path):
    data = small()
    train_run(tmp_path / "run", data, "mlp", SETTINGS)
    parts = {name: load_file(tmp_path / "run" / "parties" / name / "model.safetensors") for name in data.columns}
    for part in parts.values():
        assert {tuple(t.shape) for t in part.values()} == {(128, 5), (128,), (64, 128), (64,)}
    assert not torch.equal(*(part["1.weight"] for part in parts.values()))
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert set(config["files"]) == {
        "parties/active/model.safetensors",
        "parties/active/party.json",
        "parties/passive-1/model.safetensors",
        "parties/passive-1/party.json",
        "coordinator/model.safetensors",
    }


def test_each_party_is_described_for_itself_alone(tmp_path):
    data = small()
    train_run(tmp_path / "run", data, "mlp", SETTINGS)
    files = {name: tmp_path / "run" / "parties" / name / "party.json" for name in data.columns}
    told = {name: json.loads(file.read_text()) for name, file in files.items()}
    common = {"format": 1, "model": "mlp", "shape": [5], "n_classes": 3, "dataset": "tiny", "seed": 0}
    for name, first in (("active", 0), ("passive-1", 5)):
        part = {"name": name, "features": list(range(first, first + 5)), "shape": [5]}
        assert told[name] == common | {"party": name, "active": first == 0, "part": part}
    # A run from before these files: they are written once, with checksums, and never replaced.
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    before = {name: file.read_bytes() for name, file in files.items()}
    for file in files.values():
        file.unlink()
        del config["files"][str(file.relative_to(tmp_path / "run"))]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    assert describe_parties(tmp_path / "run") == list(files.values())
    assert {name: file.read_bytes() for name, file in files.items()} == before
    assert describe_parties(tmp_path / "run") == []
    files["active"].write_text("{}")
    with pytest.raises(privee.PriveeError, match="is damaged"):
        RunFolder.open(tmp_path / "run").check_files()


def test_damage_and_other_versions_are_told(tmp_path, monkeypatch):
    train_run(tmp_path / "good", small(), "mlp", SETTINGS)
    monkeypatch.setattr("privee.vfl.experiment.load_dataset", lambda *_, **__: pytest.fail("checked before loading"))

    def spoiled(name: str) -> Path:
        shutil.copytree(tmp_path / "good", tmp_path / name)
        return tmp_path / name

    weights = "parties/passive-1/model.safetensors"
    flipped = spoiled("flipped")
    raw = bytearray((flipped / weights).read_bytes())
    raw[-1] ^= 1
    (flipped / weights).write_bytes(raw)
    (spoiled("gone") / weights).unlink()
    config = json.loads((tmp_path / "good" / "config.json").read_text())
    (spoiled("future") / "config.json").write_text(json.dumps(config | {"format": 99}))
    (spoiled("torn") / "config.json").write_text("{")
    for name, message in {
        "flipped": "is damaged: its checksum",
        "gone": "is missing",
        "future": "made by another version of privee",
        "torn": "not readable JSON",
        "nowhere": "is not a run",
    }.items():
        with pytest.raises(privee.PriveeError, match=message):
            open_run(tmp_path / name)


def test_a_folder_is_never_overwritten(tmp_path):
    train_run(tmp_path / "run", small(), "mlp", SETTINGS)
    with pytest.raises(privee.PriveeError, match="finished"):
        train_run(tmp_path / "run", small(), "mlp", SETTINGS)
    with pytest.raises(privee.PriveeError, match="other settings"):
        train_run(tmp_path / "run", small(), "logistic", SETTINGS)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    with pytest.raises(privee.PriveeError, match="is not a run"):
        train_run(tmp_path / "other", small(), "mlp", SETTINGS)


def test_predictions_of_a_run_are_releases(tmp_path):
    good("train", "digits", "--model", "logistic", "--epochs", "3", "--out", "run", cwd=tmp_path)
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
    good("predict", "run", *OWN, "-d", "label-only", "-o", "out.csv", cwd=tmp_path)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == '"customer","class_high","class_low"'
    assert len(lines) == 81
    assert re.match(r'"00\d\d",', lines[1])
    code, _, err = run("predict", "run", *OWN[:2], "-d", "none", "-o", "y.csv", cwd=tmp_path)
    assert code == 2
    assert "needs the columns of shop" in err


def test_preprocessing_is_fitted_on_training_records_alone(tmp_path):
    """Basket sizes are row numbers; the smallest and largest are among the test records, and must not be known."""
    (tmp_path / "bank.csv").write_text("id,x,y\n" + "".join(f"{i:03d},{i % 7},{i % 2}\n" for i in range(50)))
    (tmp_path / "shop.csv").write_text("id,basket\n" + "".join(f"{i:03d},{i}\n" for i in range(50)))
    files = {"bank": tmp_path / "bank.csv", "shop": tmp_path / "shop.csv"}
    columns = {"bank": "id", "shop": "id"}
    for seed in range(50):
        data = from_tables(files, active="bank", id_columns=columns, label="y", test_share=0.5, seed=seed)
        if {0, 49} <= set(data.test):
            break
    (basket,) = data.private["shop"]["preprocessing.json"]["columns"]
    assert (basket["low"], basket["high"]) == (data.train.min(), data.train.max())
    assert data.columns["shop"][0] == 0 == data.columns["shop"][data.train.min()]


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
def test_bad_tables_are_named(tmp_path, change, arguments, message):
    tables(tmp_path)
    for name, text in change.items():
        (tmp_path / name).write_text(text)
    usual = ["--active", "bank", "--id", "customer", "--label", "risk"]
    code, _, err = run("train", *OWN, *(arguments or usual), "--epochs", 1, "--out", "run", cwd=tmp_path)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_tuning_resumes_and_refuses_other_studies(tmp_path):
    command = ["tune", "digits", "--model", "logistic", "--epochs", "1", "--out", "s.journal", "--json"]
    first = json.loads(good(*command, "--trials", 2, cwd=tmp_path))
    assert first["trials"] == 2
    again = json.loads(good(*command, "--trials", 3, cwd=tmp_path))
    assert again["trials"] == 3
    assert again["accuracy"] >= first["accuracy"]
    assert 1e-5 <= again["learning_rate"] <= 1e-1
    assert again["batch_size"] in {32, 64, 128, 256, 512, 1024, 2048}
    code, _, err = run(*command, "--trials", 3, "--seed", 5, cwd=tmp_path)
    assert code == 2
    assert "other data or settings" in err
    (tmp_path / "s.journal").write_text("garbage\n")
    code, _, err = run(*command, "--trials", 3, cwd=tmp_path)
    assert code == 2
    assert "not a readable study file" in err


def test_the_package_uses_no_pickle():
    """Neither directly nor through torch.save, torch.load, joblib or NumPy's object arrays."""
    source = Path(privee.__file__).parent
    forbidden = re.compile(r"\b(import pickle|from pickle|torch\.(save|load)\(|joblib\.(dump|load)|allow_pickle=True)")
    found = [path.name for path in source.rglob("*.py") if forbidden.search(path.read_text())]
    assert found == []
