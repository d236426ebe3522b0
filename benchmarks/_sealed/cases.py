"""The data of the frontier: who holds which columns, how it is trained, and a model that is not sealed."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import torch

from privee.data.datasets import load_dataset
from privee.data.partition import Part, Partition
from privee.vfl.defaults import LEFT_OPEN, filled_settings
from privee.vfl.experiment import open_model, partition_of, train_run
from privee.vfl.joint_data import JointData, from_dataset
from privee.vfl.joint_model import COORDINATOR, JointModel, make_models
from privee.vfl.models._registry import HiddenTop
from privee.vfl.run_format import is_finished_run
from privee.vfl.seal.sealing import longer
from privee.vfl.seeds import build
from privee.vfl.training import TrainingSettings, train

DATASETS = ("digits", "breast-cancer", "drive", "adult", "mnist")
MOST_ROWS = 20_000
"""For training: of more, so many are drawn, by the seed."""
PICTURES = {
    "digits": TrainingSettings(epochs=60, scaling="standard", schedule="cosine"),
    "mnist": TrainingSettings(epochs=15, schedule="cosine"),
}
ADULT_PASSIVE = ("marital-status", "relationship", "capital-gain", "capital-loss", "occupation")
"""With these at the passive party it adds something; with a plain half of the encoded columns it does not."""


@cache
def data_of(name: str, seed: int) -> JointData:
    """Halves of the columns, and of Adult a split in which the passive party adds something."""
    dataset = load_dataset(name, seed=seed)
    if len(dataset.y_train) > MOST_ROWS:
        some = np.random.default_rng(seed).permutation(len(dataset.y_train))[:MOST_ROWS]
        dataset = dataclasses.replace(dataset, x_train=dataset.x_train[some], y_train=dataset.y_train[some])
    if name == "adult":
        theirs = [k for k, column in enumerate(dataset.column_names) if column in ADULT_PASSIVE]
        shares = [
            [p for k, g in enumerate(dataset.groups) if (k in theirs) is passive for p in g]
            for passive in (False, True)
        ]
        parts = [
            Part(name, tuple(places), (len(places),))
            for name, places in zip(("active", "passive-1"), shares, strict=True)
        ]
        return from_dataset(dataset, Partition(tuple(parts), dataset.n_features))
    partition = partition_of(dataset, parties=2, adversary_fraction=None, how=None, seed=seed)
    return from_dataset(dataset, partition)


def trained(name: str, seed: int, *, blind: bool = False, hidden: bool = False) -> JointModel:
    """For comparison: the same model without the passive party's columns, or with the top that sealed models have."""
    data = data_of(name, seed)
    columns = {k: np.zeros_like(v) if blind and k != "active" else v for k, v in data.columns.items()}
    bottoms, top = make_models("mlp", data.shapes, len(data.class_names), seed)
    if hidden:
        top = build(seed, COORDINATOR, lambda: HiddenTop(len(data.class_names)))
    joint = JointModel(columns, data.labels, bottoms, top)
    rows, settings = torch.from_numpy(data.train), settings_of(name, seed)
    joint.prepare(rows, scaling=settings.scaling)
    train(joint.coordinator, joint.learners, rows, longer(settings) if hidden else settings)
    return joint


def settings_of(name: str, seed: int) -> TrainingSettings:
    """As `privee train` would choose them; pictures longer."""
    if name in PICTURES:
        return dataclasses.replace(PICTURES[name], seed=seed)
    data = data_of(name, seed)
    return filled_settings(
        TrainingSettings(seed=seed), LEFT_OPEN, model="mlp", rows=len(data.train), n_classes=len(data.class_names)
    )


@cache
def unsealed(name: str, seed: int, folder: Path) -> JointModel:
    """The model that is not sealed: what accuracy is measured against, and what teaches the sealed ones."""
    path = folder / f"{name}-{seed}-unsealed"
    if not is_finished_run(path):
        train_run(path, data_of(name, seed), "mlp", settings_of(name, seed))
    return open_model(path, data_of(name, seed))
