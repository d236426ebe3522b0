"""A joint model on digits, and what an attacker sees of it."""

import numpy as np
import torch

import privee
from privee.attacks import (
    AttackerView,
    Auxiliary,
    white_box_of,
)
from privee.attacks.metrics import feature_mse
from privee.data.datasets import load_dataset
from privee.data.partition import split_columns
from privee.vfl import JointModel, TrainingSettings, make_models, train
from privee.vfl.joint_data import from_dataset


class DigitsCase:
    """A logistic model on digits, 8 of 64 columns unknown; releases of its test records on demand."""

    def __init__(self) -> None:
        partition = split_columns(64, adversary_fraction=56 / 64, how="random", seed=1)
        data = from_dataset(load_dataset("digits"), partition)
        joint = JointModel(data.columns, data.labels, *make_models("logistic", data.shapes, 10, 0))
        settings = TrainingSettings(epochs=40, batch_size=32, learning_rate=1e-2)
        train(joint.coordinator, joint.learners, torch.from_numpy(data.train), settings)
        self.model = white_box_of(joint)
        own, unknown = (torch.from_numpy(x).double() for x in data.columns.values())
        self.own, self.truth = own[data.test[:300]], unknown[data.test[:300]]
        self.auxiliary = Auxiliary(own[data.train[:500]], unknown[data.train[:500]])
        self.scores = self.model.scores(self.own, self.truth).numpy()

    def view(self, spec: str, *, adaptive: bool, seed: int = 0, queries: int = 1) -> AttackerView:
        defense = privee.defense(spec)
        releases = [defense.release(self.scores, draws=privee.seeded(seed, query)) for query in range(queries)]
        stacked = torch.from_numpy(np.stack(releases))
        return AttackerView(self.own, self.model, stacked, defense, adaptive, self.auxiliary)

    def error(self, attack, spec: str, **more) -> float:
        return feature_mse(attack.run(self.view(spec, **more)).unknown, self.truth)
