"""Small runs with sealed parties on digits: the active party holds the first columns."""

from pathlib import Path

from privee.data.datasets import load_dataset
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.seal import Seal
from privee.vfl.training import TrainingSettings


def sealed_run(path: Path, *seals: Seal | None, epochs: int = 12, model: str = "mlp") -> Path:
    """One passive party for each seal; None leaves it unsealed."""
    dataset = load_dataset("digits")
    partition = partition_of(dataset, parties=len(seals) + 1, adversary_fraction=None, how=None, seed=0)
    settings = TrainingSettings(epochs=epochs, batch_size=32, learning_rate=3e-3, seed=0)
    named = {f"passive-{k + 1}": seal for k, seal in enumerate(seals) if seal is not None}
    train_run(path, from_dataset(dataset, partition), model, settings, seals=named)
    return path
