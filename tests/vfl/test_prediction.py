"""New tables of a trained model: whose labels are known, which records were trained on, and what is measured then."""

import dataclasses
import json

import numpy as np
import pytest
import torch

import privee
from privee.data.tables import ALIGNED
from privee.scores import order_between, utility_of
from privee.vfl.experiment import open_run, train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.prediction import measured, predict
from privee.vfl.training import TrainingSettings

ROWS = 120


def write(folder, rows, *, labels="known", first=0):
    """A bank with labels, a shop with a column that is called the same as the bank's label; ids are rows."""
    rng = np.random.default_rng(0)
    x, basket = rng.random((2, ROWS + 100))
    risk = np.where(x + basket > 1, "1", "0")
    if labels == "some":
        risk[first + 1], risk[first + 2], risk[first + 3] = "", "?", "7"
    numbers = range(first, first + rows)
    own = {True: ["id,x", *(f"k{i},{x[i]}" for i in numbers)]}
    own[False] = ["id,x,risk", *(f"k{i},{x[i]},{risk[i]}" for i in numbers)]
    (folder / "bank.csv").write_text("\n".join(own[labels == "none"]) + "\n")
    (folder / "shop.csv").write_text("id,basket\n" + "".join(f"k{i},{basket[i]}\n" for i in reversed(numbers)))
    return {"bank": folder / "bank.csv", "shop": folder / "shop.csv"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run, and the data it was trained on."""
    folder = tmp_path_factory.mktemp("trained")
    files = write(folder, ROWS)
    columns = dict.fromkeys(files, "id")
    data = from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.25, seed=4)
    train_run(folder / "run", data, "logistic", TrainingSettings(epochs=20, learning_rate=0.05, seed=4))
    return folder / "run", data


def test_the_training_tables_again_are_known_for_what_they_are(trained, tmp_path):
    run, before = trained
    _, data = open_run(run, write(tmp_path, ROWS))
    assert data.labelled.all()
    found = dict(zip(data.ids, zip(data.labels, data.seen, strict=True), strict=True))
    expected = zip(before.labels, np.isin(np.arange(ROWS), before.train), strict=True)
    assert found == dict(zip(before.ids, expected, strict=True))
    assert data.seen.sum() == len(before.train) == 90


def test_new_records_and_unknown_labels(trained, tmp_path):
    run, before = trained
    _, data = open_run(run, write(tmp_path, 50, labels="some", first=ROWS - 10))
    place = {one: row for row, one in enumerate(data.ids)}
    unknown = [place[f"k{ROWS - 10 + i}"] for i in (1, 2, 3)]
    assert np.flatnonzero(~data.labelled).tolist() == sorted(unknown)
    assert (data.labels[unknown] == -1).all()
    new = [place[f"k{i}"] for i in range(ROWS, ROWS + 40)]
    assert not data.seen[new].any()
    assert data.seen.sum() == sum(f"k{i}" in {before.ids[row] for row in before.train} for i in range(110, ROWS)) > 0


def test_without_the_label_column_or_the_ids(trained, tmp_path):
    run, _ = trained
    joint, data = open_run(run, write(tmp_path, 30, labels="none", first=ROWS))
    assert not data.labelled.any()
    assert data.class_names == ("0", "1")
    assert measured(data, data.test, *[joint.scores()] * 2) is None
    (run / "parties" / "bank" / ALIGNED).rename(tmp_path / "away")
    config = run / "config.json"
    kept = config.read_text()
    changed = json.loads(kept)
    del changed["files"][f"parties/bank/{ALIGNED}"]
    config.write_text(json.dumps(changed))
    try:
        _, data = open_run(run, write(tmp_path, 30, first=ROWS))
        assert data.seen is None
        assert data.labelled.all()
        assert measured(data, data.test, *[joint.scores()] * 2)["records"] == "unknown"
    finally:
        config.write_text(kept)
        (tmp_path / "away").rename(run / "parties" / "bank" / ALIGNED)


def test_utility_is_measured_on_records_that_were_not_trained_on(trained, tmp_path):
    run, _ = trained
    files = write(tmp_path, ROWS + 40, labels="some", first=0)
    joint, data = open_run(run, files)
    defense = privee.defense("privee-u:rho=0.1")
    summary = predict(run, tmp_path / "out.npy", defense, files=files, draws=privee.seeded(1))
    scores, release = joint.scores(torch.from_numpy(data.test)), np.load(tmp_path / "out.npy")
    fresh = data.labelled & ~data.seen
    found = summary["utility"]
    assert found["scores"] == utility_of(scores[fresh], data.labels[fresh]).as_dict()
    assert found["release"] == utility_of(release[fresh], data.labels[fresh]).as_dict()
    assert found["release"]["brier"] is None
    assert found["records"] == "new"
    assert found["positive_class"] == "1"
    assert found["without_label"] == 3
    assert found["trained_on_left_out"] == (data.labelled & data.seen).sum() == ROWS + 40 - 3 - fresh.sum()
    assert summary["order_between"] == order_between(scores, release) < 0.95
    assert summary["ranking_kept"] == 1.0


def test_training_records_are_never_shown_as_new_ones(trained, tmp_path):
    run, _ = trained
    joint, data = open_run(run, write(tmp_path, ROWS))
    scores = joint.scores()
    only_seen = np.flatnonzero(data.seen)
    found = measured(data, only_seen, scores[only_seen], scores[only_seen])
    assert (found["records"], found["scores"]["rows"], found["trained_on_left_out"]) == ("training", 90, 0)
    unlabelled = dataclasses.replace(data, labels=np.where(data.seen, data.labels, -1))
    found = measured(unlabelled, data.test, scores, scores)
    assert (found["records"], found["scores"]["rows"], found["without_label"]) == ("training", 90, 30)
