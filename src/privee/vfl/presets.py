"""The paper's training settings by dataset, from its settings table."""

from __future__ import annotations

from typing import Any

from privee.errors import SettingError

PAPER: dict[str, dict[str, Any]] = {
    "mnist": {"model": "mlp", "epochs": 60, "batch_size": 128, "learning_rate": 5e-5},
    "drive": {"model": "mlp", "epochs": 450, "batch_size": 128, "learning_rate": 1e-4},
    "adult": {"model": "mlp", "epochs": 100, "batch_size": 128, "learning_rate": 1e-4},
    "cifar10": {"model": "resnet", "epochs": 30, "batch_size": 128, "learning_rate": 2.085e-4},
    "cifar100": {"model": "resnet", "epochs": 10, "batch_size": 512, "learning_rate": 0.01},
}


def paper_settings(dataset: str) -> dict[str, Any]:
    """Model and training settings the paper used for a dataset."""
    if dataset not in PAPER:
        raise SettingError(f"the paper has no settings for {dataset}; it has them for {', '.join(PAPER)}")
    return dict(PAPER[dataset])
