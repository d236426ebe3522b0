"""What is chosen where nothing was said, and what class weights, penalty, schedule and threads do."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from privee.errors import SettingError
from privee.vfl import ActiveParty, JointModel, TrainingSettings, make_models
from privee.vfl.defaults import LEFT_OPEN, filled_settings, left_open, suited_settings
from privee.vfl.learner import Learner
from privee.vfl.messages import Logits
from privee.vfl.threads import threads_for, torch_threads


@pytest.mark.parametrize("model", ["logistic", "mlp"])
@pytest.mark.parametrize("rows", [1, 240, 3000, 32_000, 5_000_000])
def test_suited_settings_are_settings_for_tables_of_every_size(model, rows):
    suited = suited_settings(model, rows=rows, n_classes=2)
    assert set(suited) == set(LEFT_OPEN)
    settings = TrainingSettings(**suited)
    assert 20 <= settings.epochs <= 200
    assert 32 <= settings.batch_size <= 256
    assert (settings.patience is None) == (model == "logistic")


def test_a_small_table_gets_more_epochs_of_smaller_batches():
    small, large = (suited_settings("mlp", rows=rows, n_classes=2) for rows in (300, 40_000))
    assert small["epochs"] > 3 * large["epochs"]
    assert small["batch_size"] < large["batch_size"]
    assert small["validation_share"] > large["validation_share"]


def test_what_was_given_stays_and_pictures_are_left_alone():
    given = {"epochs": 7, "scaling": "none"}
    left = left_open(given, dataset="breast-cancer")
    assert set(left) == set(LEFT_OPEN) - set(given)
    filled = filled_settings(TrainingSettings(**given), left, model="mlp", rows=400, n_classes=2)
    assert (filled.epochs, filled.scaling) == (7, "none")
    assert filled.patience is not None
    assert left_open(given, dataset="digits") == ()
    assert left_open({}, dataset=None) == LEFT_OPEN


def test_the_rate_falls_to_nothing_and_plain_settings_are_written_as_before():
    falling = TrainingSettings(epochs=10, learning_rate=0.5, schedule="cosine")
    rates = [falling.rate(epoch) for epoch in range(11)]
    assert rates[0] == 0.5
    assert rates[10] == pytest.approx(0, abs=1e-12)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates))
    assert TrainingSettings().rate(20) == 1e-3
    before = {"epochs", "batch_size", "learning_rate", "seed", "patience", "validation_share"}
    assert set(TrainingSettings().as_dict()) == before
    assert TrainingSettings(**falling.as_dict()) == falling
    for bad in ({"penalty": -1}, {"class_weights": "some"}, {"schedule": "steps"}, {"optimizer": "adagrad"}):
        with pytest.raises(SettingError, match=next(iter(bad))):
            TrainingSettings(**bad)


def test_sgd_goes_on_with_nine_tenths_of_its_last_step():
    learner = Learner(nn.Linear(3, 2, bias=False))
    before = learner.model.weight.detach().clone()
    learner.start(0.01, optimizer="sgd")
    for _ in range(2):
        learner.step(learner.model(torch.eye(3)), torch.ones(3, 2))  # a gradient of 1 for every weight
    assert torch.allclose(before - learner.model.weight, torch.full((2, 3), 0.01 + 0.019))
    assert "optimizer" not in TrainingSettings().as_dict()
    assert TrainingSettings(optimizer="sgd").as_dict()["optimizer"] == "sgd"


def test_the_penalty_pulls_at_weights_and_not_at_biases():
    learner = Learner(nn.Linear(3, 2))
    nn.init.constant_(learner.model.weight, 0.5)
    weight, bias = learner.model.weight.clone(), learner.model.bias.clone()
    learner.start(0.01, decay=1.0)
    learner.step(learner.model(torch.zeros(4, 3)), torch.zeros(4, 2))
    assert (learner.model.weight.abs() < weight.abs()).all()
    assert torch.equal(learner.model.bias, bias)
    learner.set_rate(0.0)
    settled = learner.model.weight.clone()
    learner.step(learner.model(torch.ones(4, 3)), torch.ones(4, 2))
    assert torch.equal(learner.model.weight, settled)


@pytest.mark.parametrize("kind", ["none", "balanced"])
def test_the_gradient_is_that_of_the_weighted_loss(kind):
    labels = torch.tensor([0] * 18 + [1] * 2 + [2])  # the third class is not among the training rows
    party = ActiveParty("bank", torch.zeros(21, 1), nn.Linear(1, 3), labels)
    party.prepare(torch.arange(20), class_weights=kind)
    logits = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    found = party.handle(Logits(logits.detach(), torch.arange(20), train=True)).values
    weights = torch.tensor([20 / 36, 20 / 4, 1.0]) if kind == "balanced" else torch.ones(3)
    loss = functional.cross_entropy(logits, labels[:20], weights, reduction="sum") / 20
    loss.backward()
    assert torch.allclose(found, logits.grad, atol=1e-7)
    assert party._report().loss == pytest.approx(float(loss.detach()), rel=1e-5)


def joint(model: str, shape: tuple[int, ...]) -> JointModel:
    shapes = {"a": shape, "b": shape}
    bottoms, top = make_models(model, shapes, 2, 0)
    columns = {name: np.zeros((3, *shape), dtype=np.float32) for name in shapes}
    return JointModel(columns, np.zeros(3, dtype=np.int64), bottoms, top)


def test_small_models_take_one_thread_and_the_number_is_put_back():
    with torch_threads(3):
        assert threads_for(joint("mlp", (40,)), 256) == 1
        assert threads_for(joint("mlp", (4000,)), 2048) == 3
        assert threads_for(joint("resnet", (1, 8, 8)), 1) == 3
        with pytest.raises(ZeroDivisionError), torch_threads(1):
            1 / 0  # noqa: B018
        assert torch.get_num_threads() == 3
    with pytest.raises(SettingError, match="threads"), torch_threads(0):
        pass
