"""Attacks by name, and the settings of the paper's tables as presets."""

from __future__ import annotations

from typing import Any

from privee.attacks.base import Attack
from privee.errors import SettingError
from privee.registry import Registry

ATTACKS: Registry[Attack] = Registry("attack", ("privee.attacks",), "privee.attacks")

register = ATTACKS.register
known_attacks = ATTACKS.known

_GIA = {"loss": "probability", "iterations": 500, "learning_rate": 0.1}
_CIFAR_GIA = {"loss": "probability", "iterations": 100, "learning_rate": 1e-3}

PAPER: dict[str, dict[str, dict[str, Any]]] = {
    "mnist": {"grna-paper": {"epochs": 50, "learning_rate": 0.1}, "gradient-inversion": _GIA},
    "drive": {"grna-paper": {"epochs": 100, "learning_rate": 0.01}, "gradient-inversion": _GIA},
    "adult": {"grna-paper": {"epochs": 100, "learning_rate": 0.01}, "gradient-inversion": _GIA},
    "cifar10": {
        "grna-paper": {"epochs": 10, "learning_rate": 0.01, "step_per_batch": True},
        "gradient-inversion": _CIFAR_GIA,
    },
    "cifar100": {
        "grna-paper": {"epochs": 100, "learning_rate": 0.01, "batch_size": 512, "step_per_batch": True},
        "gradient-inversion": _CIFAR_GIA,
    },
}
"""The paper's attack settings by dataset and attack."""


def attack(name: str, **settings: Any) -> Attack:
    """Make an attack from its name and settings, or from a spec.

    Example:
        >>> attack("gradient-inversion:loss=probability,iterations=100").iterations
        100
        >>> attack("repeated-query:inner=equation-solving").inner
        EquationSolving(start='zero')
    """
    return ATTACKS.make(name, **settings)


def paper_attack(name: str, dataset: str) -> Attack:
    """An attack with the paper's settings for a dataset."""
    settings = PAPER.get(dataset, {}).get(name)
    if settings is None:
        raise SettingError(f"the paper has no settings for {name} on {dataset}")
    return attack(name, **settings)
