"""Are joint models of tables as good as what one would fit if all columns were in one table?

Each dataset is trained as `privee train` trains it without any further option, and beside it, on the joined columns
and the same rows: scikit-learn's LogisticRegression (numbers standard-scaled, categories one-hot) and
HistGradientBoosting as they come. AUC on the test rows, macro over the classes one against the rest where there are
more than two.

    python -m benchmarks.tabular_models                # all, three seeds: some ten minutes on one core
    python -m benchmarks.tabular_models --beside       # how long a training takes alone and beside a busy core

Adult and Drive need their files (PRIVEE_DATA_DIR); without them they are left out, and said to be.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks._shared.hard_tables import ACTIVE, HARD_TABLES, ID, LABEL, write_tables
from privee.data.datasets import load_dataset
from privee.errors import PriveeError
from privee.scores import utility_of
from privee.vfl.defaults import LEFT_OPEN, filled_settings
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import JointData, from_dataset, from_tables
from privee.vfl.joint_model import JointModel, make_models
from privee.vfl.threads import torch_threads
from privee.vfl.training import TrainingSettings, train

RESULTS = Path(__file__).parent / "results" / "tabular_models.json"
DATASETS = {"adult": 3, "breast-cancer": 2, "drive": 2}
BARS = {"logistic": 0.005, "mlp": 0.02}
RIVALS = {"logistic": "LogisticRegression", "mlp": "HistGradientBoosting"}


def joint_data(name: str, seed: int) -> JointData:
    """A dataset's columns dealt out to parties, or a made table through its files."""
    if name in DATASETS:
        dataset = load_dataset(name, seed=seed)
        partition = partition_of(dataset, parties=DATASETS[name], adversary_fraction=None, how=None, seed=seed)
        return from_dataset(dataset, partition)
    with tempfile.TemporaryDirectory() as folder:
        files = write_tables(name, Path(folder), seed)
        columns = dict.fromkeys(files, ID)
        return from_tables(files, active=ACTIVE, id_columns=columns, label=LABEL, test_share=0.2, seed=seed)


def default_settings(data: JointData, model: str, seed: int) -> TrainingSettings:
    """What `privee train` takes where nothing is said."""
    given = TrainingSettings(seed=seed)
    return filled_settings(given, LEFT_OPEN, model=model, rows=len(data.train), n_classes=len(data.class_names))


def joint_auc(data: JointData, model: str, seed: int) -> dict[str, Any]:
    """Train into a folder that is thrown away; AUC, calibration error and seconds, own columns alone not counted."""
    started, ended = time.perf_counter(), [0.0]
    with tempfile.TemporaryDirectory() as folder:

        def told(*_: int) -> None:
            ended[0] = time.perf_counter()

        settings = default_settings(data, model, seed)
        outcome = train_run(Path(folder) / "run", data, model, settings, on_step=told)
    assert outcome.worth is not None  # noqa: S101 (a local run has it)
    found = outcome.worth.utility
    words = {"auc": found.auc, "calibration_error": found.calibration_error, "epochs": outcome.epochs}
    return words | {"seconds": round(ended[0] - started, 2)}


def rival_auc(data: JointData, model: str) -> float:
    """The same rows with all columns in one table."""
    columns = np.concatenate([part.reshape(len(part), -1) for part in data.columns.values()], axis=1).astype(float)
    train, test = data.train, data.test
    if model == "logistic":
        columns, rival = _standard(columns, train), LogisticRegression(max_iter=1000)
    else:
        rival = HistGradientBoostingClassifier(random_state=0)
    with threadpool_limits(1):
        scores = rival.fit(columns[train], data.labels[train]).predict_proba(columns[test])
    return float(utility_of(scores, data.labels[test]).auc or 0)


def _standard(columns: Any, train: Any) -> Any:
    numbers = ~((columns[train] == 0) | (columns[train] == 1)).all(axis=0)
    middle, spread = columns[train].mean(axis=0), columns[train].std(axis=0)
    return np.where(numbers, (columns - middle) / np.where(spread == 0, 1, spread), columns)


def compared(name: str, seed: int) -> list[dict[str, Any]]:
    """Both models of a dataset, each beside its rival."""
    data = joint_data(name, seed)
    rows = []
    for model, bar in BARS.items():
        found, rival = joint_auc(data, model, seed), rival_auc(data, model)
        row = {"dataset": name, "model": model, "seed": seed, "parties": len(data.columns), "train": len(data.train)}
        rows.append(row | found | {"rival": RIVALS[model], "rival_auc": rival, "bar": bar})
        print(f"{name:24} {model:9} seed {seed}  {found['auc']:.4f}  {RIVALS[model]} {rival:.4f}", end="  ")
        print(f"{found['auc'] - rival:+.4f}  {found['epochs']} epochs, {found['seconds']:.0f} s", flush=True)
    return rows


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per dataset and model, over the seeds: what is asked is that the mean gap stays within the bar."""
    out = []
    for (name, model), group in itertools.groupby(rows, key=lambda row: (row["dataset"], row["model"])):
        some = list(group)
        gaps = [row["auc"] - row["rival_auc"] for row in some]
        about = {"dataset": name, "model": model, "seeds": len(some), "bar": some[0]["bar"]}
        out.append(
            about
            | {key: float(np.mean([row[key] for row in some])) for key in ("auc", "rival_auc", "seconds")}
            | {"mean_gap": float(np.mean(gaps)), "worst_gap": float(min(gaps))}
        )
    return sorted(out, key=lambda row: (row["dataset"], row["model"]))


def beside() -> list[dict[str, Any]]:
    """Seconds of twelve epochs, with one thread and with one for each core, alone and beside as many busy processes."""
    data, found = joint_data("breast-cancer", 0), []
    settings = dataclasses.replace(default_settings(data, "mlp", 0), epochs=12, patience=None)
    cores, rows = multiprocessing.cpu_count(), torch.from_numpy(data.train)
    for busy, threads in itertools.product((0, cores), (1, cores)):
        others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(busy)]
        for other in others:
            other.start()
        bottoms, top = make_models("mlp", data.shapes, len(data.class_names), 0)
        joint = JointModel(data.columns, data.labels, bottoms, top)
        with torch_threads(threads):
            joint.prepare(rows, scaling=settings.scaling)
            started = time.perf_counter()
            train(joint.coordinator, joint.learners, rows, settings)
        seconds = round(time.perf_counter() - started, 2)
        for other in others:
            other.terminate()
        load = round(os.getloadavg()[0], 1)  # of all that ran here: "alone" is only alone on an idle machine
        found.append({"threads": threads, "busy_processes": busy, "seconds": seconds, "load": load})
        print(f"{threads} threads, {busy} busy processes: {seconds:.1f} s (load {load})", flush=True)
    return found


def _spin() -> None:
    while True:
        sum(range(1000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append", help="A dataset; repeatable. The results of others are kept.")
    parser.add_argument("--beside", action="store_true", help="Threads alone and beside other work, nothing else.")
    arguments = parser.parse_args()
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if arguments.beside:
        kept["threads"] = beside()
    else:
        for name in arguments.only or [*DATASETS, *HARD_TABLES]:
            try:
                new = [row for seed in range(arguments.seeds) for row in compared(name, seed)]
            except PriveeError as error:
                print(f"{name} is left out: {error}")
                continue
            kept["rows"] = [row for row in kept.get("rows", []) if row["dataset"] != name] + new
            kept["means"] = means(sorted(kept["rows"], key=lambda row: (row["dataset"], row["model"])))
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
