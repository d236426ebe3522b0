"""A party on its own: its folder is served until it is told to stop; there is no web server."""

import importlib.util
import signal
from pathlib import Path

from privee.data.datasets import load_dataset
from privee.processes import start_party
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings

assert importlib.util.find_spec("fastapi") is None
dataset = load_dataset("digits", seed=1)
partition = partition_of(dataset, parties=2, adversary_fraction=None, how="random", seed=1)
train_run(Path("run"), from_dataset(dataset, partition), "logistic", TrainingSettings(epochs=1, seed=1))
server = start_party(Path("run/parties/passive-1"), ["--data", "dataset"], None, Path("party.log")).wait_ready()
assert server.address.startswith("127.0.0.1:")
assert server.stop(signal.SIGTERM) == 0
