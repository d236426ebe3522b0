"""Columns on one scale inside a party's part: what it is fitted on, what it leaves alone, what attacks make of it."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from privee.attacks.white_box import white_box_of
from privee.data.datasets import load_dataset
from privee.errors import SettingError
from privee.gateway.coordinator_model import load_coordinator_model
from privee.party.party_model import PartyModel
from privee.vfl import JointModel, TrainingSettings, make_models, train
from privee.vfl.experiment import open_run, partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.models import Scaling, architecture
from privee.vfl.run_format import PartyDescription
from privee.vfl.scaling import PIECES, fit_scaling, knots_of


def heavy(rows: int = 500) -> np.ndarray:
    """A balance with a heavy tail, a plain number, a one-hot feature, a count with ties, and a column of one value."""
    draws = np.random.default_rng(1)
    balance = draws.pareto(1.2, rows)
    columns = [balance / balance.max(), draws.random(rows), draws.random(rows) < 0.1, draws.poisson(0.3, rows) / 8]
    return np.stack([*columns, np.full(rows, 0.25)], axis=1).astype(np.float32)


def scaled(kind: str, columns: np.ndarray, train: np.ndarray) -> np.ndarray:
    layer = Scaling()
    fit_scaling(layer, torch.from_numpy(columns[train]), kind)
    return layer(torch.from_numpy(columns)).numpy()


def test_standard_is_scikit_learns_and_leaves_flags_alone():
    columns, train = heavy(), np.arange(300)
    found = scaled("standard", columns, train)
    numbers = [0, 1, 3]
    expected = StandardScaler().fit(columns[train][:, numbers]).transform(columns[:, numbers])
    assert np.abs(found[:, numbers] - expected).max() < 1e-4
    assert np.array_equal(found[:, [2, 4]], columns[:, [2, 4]])


def test_quantile_fills_the_scale_and_keeps_the_order():
    columns, train = heavy(), np.arange(300)
    plain, found = (scaled(kind, columns, train) for kind in ("standard", "quantile"))
    assert np.array_equal(found[:, [2, 4]], columns[:, [2, 4]])
    for column in (0, 1, 3):
        order = np.argsort(columns[:, column], kind="stable")
        assert (np.diff(found[order, column]) >= 0).all()

    def middle_half(values: np.ndarray) -> float:
        return float(np.subtract(*np.quantile(values[train, 0], [0.75, 0.25])))

    assert middle_half(found) > 3 * middle_half(plain)  # ten times here; a tail no longer presses the rest together
    knots, values = knots_of(columns[train].astype(float), "quantile")
    assert knots.shape == values.shape == (5, PIECES + 1)
    assert (np.diff(knots.astype(np.float32), axis=1) > 0).all()


@pytest.mark.parametrize("kind", ["standard", "quantile"])
def test_it_is_fitted_on_the_partys_training_rows_alone(kind):
    columns, train = heavy(), np.arange(300)
    other = columns.copy()
    other[300:] = other[300:] ** 2
    assert np.array_equal(scaled(kind, columns, train)[:300], scaled(kind, other, train)[:300])
    assert not np.array_equal(scaled(kind, columns, train)[:300], scaled(kind, columns, np.arange(500))[:300])


def test_gradients_pass_through_the_pieces():
    columns = heavy()
    layer = Scaling().double()
    fit_scaling(layer, torch.from_numpy(columns.astype(np.float64)), "quantile")
    rows = torch.rand(4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (rows,))


def test_an_unknown_kind_is_refused():
    with pytest.raises(SettingError, match="scaling must be none, standard, quantile, got 'log'"):
        TrainingSettings(scaling="log")


@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_weights_of_before_there_were_scalings_load_and_new_ones_come_back(model):
    make = architecture(model).bottom
    old = make((5,), 3)
    names = set(old.state_dict())
    assert not any("knots" in name for name in names)  # without a scaling the files are those of before
    fitted = make((5,), 3)
    fit_scaling(fitted, torch.from_numpy(heavy()), "quantile")
    again = make((5,), 3)
    again.load_state_dict(fitted.state_dict())
    rows = torch.rand(7, 5)
    assert torch.equal(again(rows), fitted(rows))
    again.load_state_dict(old.state_dict())
    assert torch.equal(again(rows), old(rows))
    top = architecture(model).top(2, 3)
    top.load_state_dict(architecture(model).top(2, 3).state_dict())


def bundled(seed: int = 0):
    dataset = load_dataset("breast-cancer", seed=seed)
    return from_dataset(dataset, partition_of(dataset, parties=3, adversary_fraction=None, how="contiguous", seed=seed))


LOGISTIC = TrainingSettings(
    epochs=150, batch_size=32, learning_rate=0.02, scaling="standard", penalty=2.0, schedule="cosine"
)


def test_a_joint_logistic_model_is_scikit_learns(tmp_path):
    """Columns of three parties, the same penalty, all rows: the same scores but for what Adam leaves, and on disk."""
    data = bundled()
    train_run(tmp_path / "run", data, "logistic", LOGISTIC)
    assert "bias" in load_file(tmp_path / "run" / "coordinator" / "model.safetensors")
    joint, _ = open_run(tmp_path / "run")
    scores = joint.scores(torch.from_numpy(data.test))
    columns = np.concatenate(list(data.columns.values()), axis=1)
    scaler = StandardScaler().fit(columns[data.train])
    regression = LogisticRegression().fit(scaler.transform(columns[data.train]), data.labels[data.train])
    expected = regression.predict_proba(scaler.transform(columns[data.test]))
    assert np.abs(scores - expected).max() < 0.02
    assert np.abs(scores - expected).mean() < 0.003


def test_equation_solving_still_solves_scaled_logistic_models():
    """Its weights are those of columns in [0, 1], scaling and level apart: one unknown column is found exactly."""
    data = bundled()
    bottoms, top = make_models("logistic", data.shapes, 2, 0)
    joint = JointModel(data.columns, data.labels, bottoms, top)
    rows = torch.from_numpy(data.train)
    joint.prepare(rows, scaling="standard")
    train(joint.coordinator, joint.learners, rows, LOGISTIC)
    box = white_box_of(joint).regrouped(29)
    columns = torch.cat([torch.from_numpy(part).double() for part in data.columns.values()], dim=1)[data.test]
    own, unknown = columns[:, :29], columns[:, 29:]
    assert box.linear is not None
    assert box.linear.shape == (2, 1)
    moved = box.logits(own, unknown + 0.1) - box.logits(own, unknown)
    assert (moved - 0.1 * box.linear.T).abs().max() < 1e-9
    log_scores = box.scores(own, unknown).log()
    wanted = log_scores - box.logits(own, torch.zeros_like(unknown))
    wanted = wanted[:, 1] - wanted[:, 0]
    solved = wanted / (box.linear[1, 0] - box.linear[0, 0])
    assert (solved - unknown[:, 0]).abs().max() < 1e-6


def test_a_scaling_in_pieces_is_no_linear_model():
    data = bundled()
    bottoms, top = make_models("logistic", data.shapes, 2, 0)
    joint = JointModel(data.columns, data.labels, bottoms, top)
    assert white_box_of(joint).linear is not None
    joint.prepare(torch.from_numpy(data.train), scaling="quantile")
    assert white_box_of(joint).linear is None


@pytest.mark.parametrize(("model", "kind"), [("logistic", "standard"), ("mlp", "quantile")])
def test_served_parts_give_the_scores_of_the_run(model, kind, tmp_path):
    """Parties and gateway load their parts from their own files; scaling and level come with them."""
    data = bundled()
    settings = TrainingSettings(epochs=2, scaling=kind, penalty=1.0, schedule="cosine")
    train_run(tmp_path / "run", data, model, settings)
    joint, _ = open_run(tmp_path / "run")
    embeddings = {}
    for party, columns in data.columns.items():
        folder = tmp_path / "run" / "parties" / party
        embeddings[party] = PartyModel(folder, PartyDescription.read(folder)).embed(columns[data.test])
    served = load_coordinator_model(tmp_path / "run").scores(embeddings)
    assert np.abs(served - joint.scores(torch.from_numpy(data.test))).max() < 1e-5
