"""What a joint model is worth, beside the active party's own columns alone and the most frequent class."""

import dataclasses
import json

import numpy as np
import pytest
import torch

import privee
from privee.data.datasets import Dataset
from privee.data.partition import split_columns
from privee.scores import majority_of, utility_of
from privee.vfl import own_columns_alone
from privee.vfl.experiment import describe_parties, open_run, train_run
from privee.vfl.joint_data import JointData, from_dataset
from privee.vfl.own_columns_alone import own_columns_utility
from privee.vfl.training import TrainingSettings
from privee.vfl.worth import read_worth

SETTINGS = TrainingSettings(epochs=12, batch_size=16, learning_rate=2e-2)


def made(weights: list[float], rows: int = 400, classes: int = 2) -> Dataset:
    """Four columns at each of two parties; the class is the sum of all, weighted, in so many equal steps."""
    rng = np.random.default_rng(3)
    x = rng.random((rows, 8), dtype=np.float32)
    total = x @ np.array(weights)
    y = np.searchsorted(np.quantile(total, np.arange(1, classes) / classes), total)
    half = rows // 2
    names = {"column_names": tuple("abcdefgh"), "groups": tuple((k,) for k in range(8))}
    return Dataset("made", x[:half], y[:half], x[half:], y[half:], tuple("NYZ"[:classes]), **names)


def data_of(*given, **more) -> JointData:
    return from_dataset(made(*given, **more), split_columns(8))


BOTH, OWN_ALONE = [1.0] * 8, [1.0] * 4 + [0.0] * 4


def alone(x, y, **more):
    half = len(x) // 2
    return own_columns_utility(x, y, train=np.arange(half), test=np.arange(half, len(x)), **({"n_classes": 2} | more))


def test_the_better_kind_of_model_counts():
    rng = np.random.default_rng(0)
    x = rng.random((1200, 2), dtype=np.float32)
    crossed = ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)).astype(int)
    found = alone(x, crossed)
    assert (found.model, found.trained_on, found.rows) == ("boosted trees", 600, 600)
    assert found.auc > 0.98
    slope = (x.sum(axis=1) + 0.3 * rng.normal(size=1200) > 1).astype(int)
    found = alone(x, slope)
    assert found.model == "logistic regression"
    assert 0.85 < found.auc < 0.97


def test_what_is_learned_is_no_test_record():
    """Labels are coin tosses: a model that had seen them would know them."""
    rng = np.random.default_rng(1)
    found = alone(rng.random((1000, 5)), rng.integers(2, size=1000))
    assert abs(found.auc - 0.5) < 4 * (1 / 12 * (1 / 250 + 1 / 250)) ** 0.5  # four standard errors


def test_odd_training_rows_are_measured_too():
    rng = np.random.default_rng(2)
    pictures, labels = rng.random((60, 1, 3, 4)), np.arange(60) % 3
    assert alone(pictures, labels, n_classes=5).accuracy is not None
    absent = np.where(np.arange(60) < 30, labels % 2, labels)
    assert alone(pictures, absent, n_classes=3).rows == 30
    single = alone(pictures, (np.arange(60) >= 30) * (np.arange(60) % 2))
    assert (single.accuracy, single.auc) == (0.5, 0.5)
    few = own_columns_utility(pictures, labels, train=np.arange(2), test=np.arange(2, 9), n_classes=3)
    assert few.trained_on == 2


@pytest.mark.parametrize(("width", "classes"), [(30, 2), (392, 10), (784, 10), (3072, 10), (1536, 100), (5, 3)])
def test_the_effort_is_bounded(width, classes):
    """By records, columns, classes and steps, in units of which a core does about a billion in a second."""
    for kind in own_columns_alone._kinds(width, classes):
        assert 1000 <= kind.records <= 40_000
        model = kind.make(kind.records)
        steps = model.max_iter
        assert 20 <= steps <= 100
        if kind.name == "boosted trees":
            per_step, most = 1 if classes == 2 else classes, 3e8
        else:
            per_step, most = classes, 4e9
        assert kind.records * width * per_step * steps <= most


def test_a_run_keeps_what_its_model_is_worth(tmp_path, monkeypatch):
    data = data_of(BOTH)
    outcome = train_run(tmp_path / "run", data, "mlp", SETTINGS)
    monkeypatch.setattr("privee.vfl.experiment.load_dataset", lambda *_, **__: made(BOTH))
    joint, _ = open_run(tmp_path / "run")
    truth = data.labels[data.test]
    assert outcome.worth.utility == utility_of(joint.scores(torch.from_numpy(data.test)), truth)
    assert outcome.worth.majority == majority_of(truth, 2)
    assert outcome.worth.utility.accuracy == outcome.test.accuracy
    assert outcome.worth.utility.auc > 0.95
    assert outcome.worth.own_columns.auc < 0.9
    assert not outcome.worth.adds_nothing
    assert (outcome.worth.active, outcome.worth.positive_class) == ("active", "Y")
    assert read_worth(tmp_path / "run") == outcome.worth
    told = json.loads(json.dumps(outcome.as_dict()))
    assert told["utility"]["auc"] == outcome.worth.utility.auc
    assert told["own_columns"]["trained_on"] == 200
    assert {"run", "epochs", "train", "test", "majority"} < set(told)


def test_columns_that_add_nothing_are_called_so(tmp_path):
    worth = train_run(tmp_path / "run", data_of(OWN_ALONE), "mlp", SETTINGS).worth
    assert worth.adds_nothing
    changed = dataclasses.replace(worth.own_columns, auc=worth.utility.auc - 0.004)
    assert dataclasses.replace(worth, own_columns=changed).adds_nothing
    changed = dataclasses.replace(worth.own_columns, auc=worth.utility.auc - 0.006)
    assert not dataclasses.replace(worth, own_columns=changed).adds_nothing
    unknown = dataclasses.replace(worth.own_columns, auc=None)
    assert not dataclasses.replace(worth, own_columns=unknown).adds_nothing


def test_three_classes_have_no_positive_one(tmp_path):
    worth = train_run(tmp_path / "run", data_of(BOTH, classes=3), "mlp", SETTINGS).worth
    assert worth.positive_class is None
    assert worth.majority.accuracy < worth.own_columns.accuracy < worth.utility.accuracy


def test_runs_without_it_still_open(tmp_path, monkeypatch):
    data = data_of(BOTH, rows=60)
    train_run(tmp_path / "run", data, "mlp", SETTINGS)
    monkeypatch.setattr("privee.vfl.experiment.load_dataset", lambda *_, **__: made(BOTH, rows=60))
    (tmp_path / "run" / "utility.json").write_text("{}")
    with pytest.raises(privee.PriveeError, match=r"utility.json is damaged"):
        open_run(tmp_path / "run")
    with pytest.raises(privee.PriveeError, match="damaged, or was changed by hand"):
        read_worth(tmp_path / "run")
    (tmp_path / "run" / "utility.json").write_text('{"format": 2}')
    with pytest.raises(privee.PriveeError, match="of format 2"):
        read_worth(tmp_path / "run")
    (tmp_path / "run" / "utility.json").unlink()
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    del config["files"]["utility.json"]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    assert read_worth(tmp_path / "run") is None
    joint, _ = open_run(tmp_path / "run")
    assert joint.rows == 60
    assert describe_parties(tmp_path / "run") == []
