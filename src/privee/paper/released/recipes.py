"""What a scene is played with: the model that a combination attacks, how many records, and the attack's own steps."""

from __future__ import annotations

from typing import Any

from privee.paper.released.inversion import Steps
from privee.paper.released.networks import Recipe
from privee.paper.released.parts import Chosen
from privee.paper.released.scenes import Scene

TRAINING: dict[str, dict[str, Any]] = {
    "mnist": {"epochs": 60, "learning_rate": 5e-5},
    "drive": {"epochs": 450, "learning_rate": 1e-4},
    "adult": {"epochs": 100, "learning_rate": 1e-4},
    "cifar10": {"epochs": 4, "learning_rate": 0.01, "optimizer": "sgd", "rows": 10_000},
    "digits": {"epochs": 30, "learning_rate": 3e-3, "batch_size": 64},
}
"""The paper's, but for CIFAR-10, and CIFAR-100 like it: 4 epochs of 10,000 images at the rate of the paper's CIFAR-100
row: minutes."""
GRNA = {"mnist": (50, 0.1), "drive": (100, 0.01), "adult": (100, 0.01), "cifar10": (10, 0.01), "digits": (50, 0.1)}
GRNA_CIFAR100 = (100, 0.01)
RECORDS = {"grna": 256, "gia": 128}
COSTLY_RECORDS = {"cifar10 grna": 32, "cifar10 gia": 8, "cifar100 grna": 8, "many gia": 32}
"""Where an attack takes minutes."""
MODELS: dict[str, int] = {}
"""Trained models by kind of scene, where there are several; one for every other."""
CIFAR = ("cifar10", "cifar100")
ONCE = (*CIFAR, "drive")
"""Trained once, half of the columns each; at other strengths the attacker holds fewer or more of them."""
CIFAR_BATCH = 128
DEFAULT_RATE = 0.01
TEN = 10


def recipe_of(scene: Scene, parts: Chosen, seed: int = 0) -> Recipe:
    """The model that a combination attacks."""
    swapped = scene.dataset == "cifar100" and "cifar10-for-cifar100" in parts
    dataset = "cifar10" if swapped else scene.dataset
    training = TRAINING["cifar10" if dataset in CIFAR else dataset] | ({"epochs": 6} if "six-epochs" in parts else {})
    return Recipe(
        dataset=dataset,
        known=50 if dataset in ONCE else scene.known,
        parties=scene.parties,
        double="double-softmax" in parts,
        unscaled="unscaled-columns" in parts,
        seed=seed,
        **training,
    )


def records_of(scene: Scene) -> int:
    """How many records are attacked."""
    return COSTLY_RECORDS.get(_kind(scene), RECORDS[scene.attack])


def models_of(scene: Scene) -> int:
    """How many models are trained, with a seed each."""
    return MODELS.get(_kind(scene), 1)


def _kind(scene: Scene) -> str:
    return f"{'many' if scene.parties > 2 else scene.dataset} {scene.attack}"


def steps_of(scene: Scene, parts: Chosen, train_rows: int) -> Steps:
    """The paper's attack settings: GRNA averages its loss over all training rows, on CIFAR over a mini-batch."""
    if scene.attack == "grna":
        epochs, rate = GRNA_CIFAR100 if scene.dataset == "cifar100" else GRNA[scene.dataset]
        rate = DEFAULT_RATE if "default-rate" in parts else rate
        averaged = CIFAR_BATCH if scene.dataset in CIFAR else train_rows
        return Steps(at=(epochs,), learning_rate=rate, normal_start=True, averaged_over=averaged)
    if scene.dataset in CIFAR:
        return Steps(at=(TEN, 100), learning_rate=1e-3, normal_start=False)
    return Steps(at=(500,), learning_rate=0.1, normal_start=False)
