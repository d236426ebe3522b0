"""Saved runs: resumed after a kill with the same weights, refused when damaged, no pickle anywhere."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import privee
from privee.atomic import alone_in
from privee.data.datasets import Dataset
from privee.data.partition import split_columns, split_image
from privee.errors import PriveeError
from privee.vfl.experiment import describe_parties, open_run, train_run
from privee.vfl.joint_data import JointData, from_dataset
from privee.vfl.own_tables import from_tables
from privee.vfl.runs import RunFolder
from privee.vfl.training import TrainingSettings
from tests._support.weights import all_weights, equal

SETTINGS = TrainingSettings(epochs=4, batch_size=16, learning_rate=1e-2)


def small(pictures: bool = False) -> JointData:
    """A tiny dataset, a table or pictures, in two parts."""
    rng = np.random.default_rng(0)
    shape = (48, 3, 8, 8) if pictures else (48, 10)
    x, y = rng.random(shape, dtype=np.float32), np.arange(48) % 3
    extra = {} if pictures else {"column_names": tuple("abcdefghij"), "groups": tuple((k,) for k in range(10))}
    data = Dataset("tiny", x, y, x[:12], y[:12], class_names=("a", "b", "c"), **extra)
    return from_dataset(data, split_image((3, 8, 8)) if pictures else split_columns(10))


class PowerCutError(Exception):
    pass


@pytest.mark.parametrize("kind", ["logistic", "mlp", "resnet"])
@pytest.mark.parametrize(("patience", "optimizer"), [(None, "adam"), (2, "adam"), (None, "sgd")])
def test_a_broken_run_resumes_to_the_same_weights(tmp_path, kind, patience, optimizer):
    data = small(pictures=kind == "resnet")
    settings = TrainingSettings(epochs=4, batch_size=16, learning_rate=1e-2, patience=patience, optimizer=optimizer)
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


def test_a_training_that_comes_apart_says_so(tmp_path):
    """Not a row of scores later on, nor a log of losses that no JSON reader takes."""
    settings = TrainingSettings(epochs=4, batch_size=16, learning_rate=1e30, optimizer="sgd")
    with pytest.raises(PriveeError, match=r"came apart in epoch [1-4]: .* a learning rate below 1e\+30 may help"):
        train_run(tmp_path / "run", small(), "mlp", settings)
    metrics = tmp_path / "run" / "metrics.jsonl"
    assert not metrics.exists() or "NaN" not in metrics.read_text()


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
        "utility.json",
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


def test_a_run_is_trained_by_one_process_at_a_time(tmp_path):
    """Two would write over each other's checkpoints and mix their metrics; who comes too late changes nothing."""
    path, refused = tmp_path / "run", []

    def another(epoch: int, *_: int) -> None:
        if epoch == 1:
            with pytest.raises(privee.PriveeError, match="is being trained by another process") as error:
                train_run(path, small(), "mlp", SETTINGS)
            refused.append(str(error.value))

    train_run(path, small(), "mlp", SETTINGS, on_step=another)
    assert refused
    assert all(str(path) in said and "\n" not in said for said in refused)
    train_run(tmp_path / "alone", small(), "mlp", SETTINGS)
    assert equal(all_weights(path), all_weights(tmp_path / "alone"))
    epochs = [record["epoch"] for record in RunFolder(path).metrics()]
    assert epochs == [record["epoch"] for record in RunFolder(tmp_path / "alone").metrics()]


def test_a_training_that_was_killed_holds_nothing(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from privee.atomic import alone_in\n"
        "with alone_in(Path(sys.argv[1]), ''): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 (our own code)
        try:
            assert child.stdout.readline() == "held\n"
            with pytest.raises(privee.PriveeError, match="taken"), alone_in(tmp_path, "taken"):
                pass
        finally:
            child.kill()
    with alone_in(tmp_path, "taken"):
        assert not list(tmp_path.iterdir())


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
