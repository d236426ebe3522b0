"""Inference accuracy at the paper's settings, two parties with half of the columns each, beside the printed values.

    python benchmarks/vfl_accuracy.py mnist drive adult cifar10 cifar100      (any of them; PRIVEE_DATA_DIR or download)

Runs are kept in benchmarks/runs (not committed) and resume if interrupted; results go to
benchmarks/results/vfl_accuracy.json, dataset by dataset. `--threads` sets torch's threads (several runs side by side
go faster with one each).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from privee.atomic import whole_file
from privee.data.datasets import load_dataset
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.runs import RunFolder
from privee.vfl.training import TrainingSettings, paper_settings

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "vfl_accuracy.json"
PRINTED = {"mnist": 97.6, "drive": 80.9, "adult": 74.3, "cifar10": 63.2, "cifar100": 59.0}


def run(name: str, seed: int) -> dict[str, object]:
    settings = paper_settings(name)
    model = settings.pop("model")
    dataset = load_dataset(name, seed=seed)
    how = "strips" if dataset.image_shape else "contiguous"
    partition = partition_of(dataset, parties=2, adversary_fraction=0.5, how=how, seed=seed)
    print(f"{name}: {partition.describe()}", flush=True)
    started = time.time()

    def tell(epoch: int, epochs: int, step: int, steps: int) -> None:
        if step == steps:
            print(f"{name} epoch {epoch}/{epochs} {time.time() - started:.0f} s", flush=True)

    folder = HERE / "runs" / f"{name}-seed{seed}"
    train_run(
        folder,
        from_dataset(dataset, partition),
        model,
        TrainingSettings(seed=seed, **settings),
        on_step=tell,
        threads=torch.get_num_threads(),
    )
    final = RunFolder.open(folder).metrics()[-1]
    return {
        "printed": PRINTED[name],
        "test_accuracy": round(100 * final["test"]["accuracy"], 2),
        "train_accuracy": round(100 * final["train"]["accuracy"], 2),
        "train_rows": final["train"]["rows"],
        "test_rows": final["test"]["rows"],
        "seed": seed,
        "settings": {"model": model} | settings,
        "seconds": round(time.time() - started),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=["mnist", "drive", "adult"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for name in arguments.datasets:
        outcome = run(name, arguments.seed)
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[name] = outcome | {"threads": arguments.threads}
        with whole_file(RESULTS, force=True) as partial:
            partial.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name}: test accuracy {outcome['test_accuracy']} % (printed {outcome['printed']} %)", flush=True)


if __name__ == "__main__":
    main()
