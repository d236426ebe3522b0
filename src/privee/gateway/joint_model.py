"""The coordinator's part of a saved run: it joins embeddings into scores, and holds no party's weights."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from privee.errors import PriveeError
from privee.vfl.federation import COORDINATOR
from privee.vfl.learner import Learner
from privee.vfl.models import architecture
from privee.vfl.runs import RunFolder
from privee.vfl.weights import load_tensors


@dataclasses.dataclass(frozen=True, eq=False)
class JointModel:
    """What the gateway knows of a model.

    Attributes:
        name: as it is asked for.
        version: changes with any role's weights.
        parties: in the order in which `top` takes their embeddings; the first is the active one.
        classes: what the columns of a release stand for.
        weights: the checksum of each party's weights file.
        top: takes the list of embeddings and gives logits.
    """

    name: str
    version: str
    parties: tuple[str, ...]
    classes: tuple[str, ...]
    weights: Mapping[str, str]
    top: nn.Module

    def scores(self, embeddings: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float64]:
        """Class confidences in double precision: float32 scores of confident models are mostly ties at 0 and 1."""
        parts = [torch.from_numpy(embeddings[party]) for party in self.parties]
        with torch.inference_mode():
            try:
                logits: torch.Tensor = self.top(parts)
            except RuntimeError:
                raise PriveeError(
                    "the parties' embeddings do not fit this model; do they serve the same run?"
                ) from None
            return torch.softmax(logits.double(), dim=1).numpy()


def load_joint_model(run: Path, name: str | None = None) -> JointModel:
    """Read the coordinator's part of a finished run; the parties' folders need not be there."""
    folder = RunFolder.open(run)
    config = folder.config
    _, make_top = architecture(config["model"])
    learner = Learner(make_top(len(config["parties"]), len(config["classes"])))
    _check_own_weights(folder, config)
    learner.load_weights(load_tensors(folder.part(COORDINATOR) / "model.safetensors", COORDINATOR), COORDINATOR)
    return JointModel(
        name=name or run.resolve().name,
        version=hashlib.sha256(json.dumps(config["files"], sort_keys=True).encode()).hexdigest()[:16],
        parties=tuple(config["parties"]),
        classes=tuple(str(label) for label in config["classes"]),
        weights={party: config["files"][f"parties/{party}/model.safetensors"] for party in config["parties"]},
        top=learner.model,
    )


def _check_own_weights(folder: RunFolder, config: Mapping[str, Any]) -> None:
    file = folder.part(COORDINATOR) / "model.safetensors"
    try:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise PriveeError(f"{file} is missing") from None
    if found != config["files"][f"{COORDINATOR}/model.safetensors"]:
        raise PriveeError(f"{file} is damaged: its checksum is not the one recorded when the run finished")
