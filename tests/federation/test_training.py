"""A federated run in one process, in real bytes: same result, each step once, nothing private crosses."""

import dataclasses

import pyarrow.parquet as arrow_parquet
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.atomic import read_json
from privee.data.tables import ALIGNED
from privee.errors import PriveeError
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError, SiteLostError
from privee.federation.kits.simulator import assemble
from privee.federation.settings import JobSettings
from privee.federation.wire.frames import decode
from privee.federation.wire.tensors import Packing
from privee.vfl.defaults import LEFT_OPEN
from privee.vfl.experiment import train_run
from privee.vfl.joint_model import COORDINATOR
from privee.vfl.messages import (
    Work,
)
from privee.vfl.own_tables import from_tables
from privee.vfl.runs import RunFolder
from privee.vfl.weights import load_tensors
from tests._support.federation import (
    largest_difference,
    line_to,
    own_tables,
    same_as_local,
    table_job,
    write_tables,
)

# --- the same result -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
@pytest.mark.parametrize("parties", [2, 3, 5])
def test_the_same_weights_as_a_local_run(kind, parties, tmp_path):
    job = digits_job(kind, parties, patience=2, seed=7)
    line = same_as_local(job, tmp_path)
    assert {"training work", "training logits"} <= set(line.cost.as_dict()["kinds"])  # and it did cross the line


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
@pytest.mark.parametrize("pipeline", [False, True])
def test_scaling_weights_penalty_schedule_and_optimizer_cross_no_line_and_change_nothing(kind, pipeline, tmp_path):
    """Each role fits its own; all of it together, and early stopping with it, gives a local run's weights."""
    fitted = {"scaling": "quantile" if kind == "mlp" else "standard", "class_weights": "balanced"}
    more = {"penalty": 2.0, "schedule": "cosine", "patience": 2, "epochs": 4, "pipeline": pipeline, "optimizer": "sgd"}
    same_as_local(digits_job(kind, 3, **fitted, **more), tmp_path)
    names = set(load_tensors(tmp_path / "run" / "parties" / "active" / "model.safetensors", "active"))
    assert {"0.knots", "0.values"} <= names
    top = load_tensors(tmp_path / "run" / "coordinator" / "model.safetensors", COORDINATOR)
    assert not any("knots" in name for name in top)


def test_what_is_left_open_is_chosen_alike_at_every_role(tmp_path):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    left = tuple(name for name in LEFT_OPEN if name != "epochs")
    job = dataclasses.replace(table_job(parties, epochs=3), left_open=left)
    assert JobSettings.from_dict(job.as_dict()) == job
    line, _ = line_to(job, tmp_path, own_tables(tmp_path, files))
    coordinate(job, line, tmp_path / "coordinator")
    assemble(tmp_path / "run", tmp_path / "coordinator" / "run", {s: tmp_path / s / "run" for s in parties})
    columns = dict.fromkeys(parties, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="digit", test_share=0.2, seed=0)
    settings = job.training_on(len(data.train), len(data.class_names))
    assert (settings.epochs, settings.scaling, settings.schedule) == (3, "quantile", "cosine")
    train_run(tmp_path / "local", data, "mlp", settings)
    assert largest_difference(tmp_path / "local", tmp_path / "run") <= 1e-6
    assert RunFolder.open(tmp_path / "run").config["training"] == settings.as_dict()
    with pytest.raises(PriveeError, match="what can be left open"):
        dataclasses.replace(job, left_open=("seed",))


def test_own_tables_are_aligned_in_the_job(tmp_path):
    parties = ("bank", "shop", "phone")
    files = write_tables(tmp_path, parties)
    job = table_job(parties)
    own = own_tables(tmp_path, files)
    line, loop = line_to(job, tmp_path, own)
    found = coordinate(job, line, tmp_path / "coordinator")
    assemble(tmp_path / "run", tmp_path / "coordinator" / "run", {s: tmp_path / s / "run" for s in parties})
    columns = dict.fromkeys(parties, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="digit", test_share=0.2, seed=0)
    expected = train_run(tmp_path / "local", data, "mlp", job.training)
    assert largest_difference(tmp_path / "local", tmp_path / "run") <= 1e-6
    assert found.test == expected.test
    for file in sorted((tmp_path / "local" / "parties").glob("*/*.json")):
        assert read_json(file) == read_json(tmp_path / "run" / file.relative_to(tmp_path / "local"))
    common = {"customer": list(data.ids)}
    for site in parties:  # the ids that all hold are at every site, and not at the coordinator
        assert arrow_parquet.read_table(tmp_path / "run" / "parties" / site / ALIGNED).to_pydict() == common
        assert (tmp_path / site / "run" / ALIGNED).stat().st_mode & 0o077 == 0
    assert not list((tmp_path / "coordinator").rglob(ALIGNED))
    everything = b"".join(part for _, sent, reply in loop.crossed for part in (sent, reply))
    assert b"id-0" not in everything  # no id crosses in the clear
    RunFolder.open(tmp_path / "run").check_files()


def test_a_passive_site_does_not_take_part_with_a_label_column(tmp_path):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    own = own_tables(tmp_path, files)
    job = table_job(("shop", "bank"))  # a job that makes the wrong party the active one
    line, _ = line_to(job, tmp_path, own)
    with pytest.raises(SiteError, match="label column"):
        coordinate(job, line, tmp_path / "coordinator")


def test_reduced_embeddings_train_nearly_as_well(tmp_path):
    found = {}
    for packing in Packing:
        job = dataclasses.replace(digits_job("mlp", 2, epochs=8), packing=packing)
        line, _ = line_to(job, tmp_path / packing)
        found[packing] = (coordinate(job, line, tmp_path / packing / "c").test.accuracy, line.cost.received)
    assert found["exact"][1] > 1.8 * found["fp16"][1] > 3 * found["int8"][1]
    assert all(accuracy > found["exact"][0] - 0.02 for accuracy, _ in found.values())


# --- after a failure -------------------------------------------------------------------------------------------------


def test_a_lost_site_comes_back_and_the_result_is_the_same(tmp_path):
    """The site's process is new: all it has is its files."""
    job = digits_job("mlp", 3, epochs=4, patience=3)
    unbroken, _ = line_to(job, tmp_path / "unbroken")
    coordinate(job, unbroken, tmp_path / "unbroken" / "coordinator")
    broken = dataclasses.replace(job, answer_seconds=0.05)
    line, loop = line_to(broken, tmp_path / "broken")
    steps = {"passive-2": 0}

    def tamper(site, data):
        content = decode(data).content
        if site == "passive-2" and isinstance(content, Work) and content.train:
            steps[site] += 1
        return [] if site == "passive-2" and steps[site] > 20 else [data]  # dies in the third epoch

    loop.tamper = tamper
    with pytest.raises(SiteLostError, match="passive-2"):
        coordinate(broken, line, tmp_path / "broken" / "coordinator")
    again, _ = line_to(job, tmp_path / "broken")
    asked = []
    coordinate(job, again, tmp_path / "broken" / "coordinator", on_step=lambda epoch, *_: asked.append(epoch))
    assert min(asked) == 3  # and not from the beginning
    for site in job.parties:
        a, b = (load_tensors(tmp_path / x / site / "run" / "model.safetensors", site) for x in ("unbroken", "broken"))
        assert all(torch.equal(a[name], b[name]) for name in a)
    metrics = [(tmp_path / x / "coordinator" / "run" / "metrics.jsonl").read_text() for x in ("unbroken", "broken")]
    assert metrics[0] == metrics[1]


def test_a_run_is_not_mixed_with_another(tmp_path):
    job = digits_job("logistic", 2)
    line, _ = line_to(job, tmp_path)
    coordinate(job, line, tmp_path / "coordinator")
    line, _ = line_to(job, tmp_path)
    with pytest.raises(PriveeError, match="finished"):
        coordinate(job, line, tmp_path / "coordinator")
    other = digits_job("logistic", 2, epochs=3)
    line, _ = line_to(other, tmp_path)
    with pytest.raises(SiteError, match="other settings"):
        coordinate(other, line, tmp_path / "elsewhere")
