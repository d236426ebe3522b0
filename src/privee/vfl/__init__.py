"""Vertical federated learning: explicit roles that exchange embeddings and gradients, and nothing else."""

from privee.extras import require

require("privee.vfl", "torch", "safetensors", "sklearn", "pyarrow", extra="vfl")

from privee.vfl.coordinator import Coordinator
from privee.vfl.joint_model import JointModel, make_models
from privee.vfl.models import ARCHITECTURES, ConcatTop, SumTop
from privee.vfl.party import ActiveParty, LocalChannel, PassiveParty
from privee.vfl.training import TrainingSettings, train

__all__ = [
    "ARCHITECTURES",
    "ActiveParty",
    "ConcatTop",
    "Coordinator",
    "JointModel",
    "LocalChannel",
    "PassiveParty",
    "SumTop",
    "TrainingSettings",
    "make_models",
    "train",
]
