"""A saved run: a folder with config, metrics and one weights file per role.

    config.json               what was trained, on what, how; checksums of the weights once finished
    metrics.jsonl             one line per epoch
    utility.json              what the model is worth, beside the own columns alone (see `worth`)
    parties/NAME/             that party's part: party.json (what it is), model.safetensors; with own tables also their
                              preprocessing, and the ids that all parties hold (aligned.parquet)
    coordinator/              the top: model.safetensors
    checkpoint/               while training: last state of every role; gone when finished

A passive party can be handed its folder under parties/ and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from privee.atomic import alone_in, read_json, whole_file, write_json
from privee.data.alignment.kept import LATEST
from privee.data.tables.aligned import AlignedList
from privee.errors import PriveeError
from privee.given import existing_run
from privee.vfl.embedding_defenses.noise import NOISE_KEY
from privee.vfl.joint_model import COORDINATOR
from privee.vfl.learner import Learner
from privee.vfl.run_format import (
    METRICS,
    PART_FILES,
    UTILITY,
    WEIGHTS,
    is_run,
    read_config,
    same_config,
    write_config,
)
from privee.vfl.seal.drawing import KEY
from privee.vfl.training import TrainingState
from privee.vfl.weights import load_tensors, save_tensors


class RunFolder:
    """A run on disk; also the keeper of its checkpoints."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: Mapping[str, Any]) -> RunFolder:
        """Start a run, or find the unfinished one with the same config; anything else there is left alone."""
        run = cls(path)
        if not is_run(path):
            refuse_other(path)
            write_config(path, config)
            return run
        if not same_config(run.config, config):
            raise PriveeError(f"{path} holds a run with other settings; choose another folder")
        if run.finished:
            raise PriveeError(f"{path} holds this run already, finished")
        return run

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other trainings away: two would write over each other's checkpoints."""
        with alone_in(self.path, f"{self.path} is being trained by another process; wait for that, or end it"):
            if self.finished:
                raise PriveeError(f"{self.path} holds this run already, finished")
            yield

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open a finished run."""
        run = cls(existing_run(path))
        if not run.finished:
            raise PriveeError(f"the run in {path} is not finished; train again with the same settings to resume it")
        return run

    @property
    def config(self) -> dict[str, Any]:
        """What was trained, on what, how."""
        return read_config(self.path)

    @property
    def finished(self) -> bool:
        """Are the final weights there?"""
        return "files" in self.config

    def part(self, role: str) -> Path:
        """The folder of one role."""
        if role in ("", ".", "..") or Path(role).name != role:
            raise PriveeError(f"{role[:40]!r} is no name for a party: it would leave the run's folder")
        return self.path / COORDINATOR if role == COORDINATOR else self.path / "parties" / role

    def finish(self, learners: Mapping[str, Learner]) -> None:
        """Write the final weights and their checksums; the checkpoint is no longer needed."""
        for role, learner in learners.items():
            save_tensors(self._weights(role), learner.weights(), role)
        self.note_files()
        shutil.rmtree(self.path / "checkpoint", ignore_errors=True)

    def note_files(self) -> None:
        """Write down the checksums of all parts: from now on they may not change."""
        files = {
            str(f.relative_to(self.path)): _sha256(f)
            for f in sorted(self.path.glob("**/*"))
            if f.is_file() and f.name in {*PART_FILES, UTILITY}
        }
        write_config(self.path, self.config | {"files": files})

    def load_weights(self, learners: Mapping[str, Learner]) -> None:
        """Put the final weights back."""
        for role, learner in learners.items():
            learner.load_weights(load_tensors(self._weights(role), role), role)

    def check_files(self, without: Collection[str] = ()) -> None:
        """Refuse a run whose files have changed since it finished; those of some parties need not be there."""
        gone = tuple(f"parties/{party}/" for party in without)
        for name, expected in self.config["files"].items():
            if name.startswith(gone):
                continue
            file = self.path / name
            if not file.is_file():
                raise PriveeError(f"{file} is missing")
            if _sha256(file) != expected:
                raise PriveeError(f"{file} is damaged: its checksum is not the one recorded when the run finished")

    def _weights(self, role: str) -> Path:
        return self.part(role) / WEIGHTS

    # The keeper's part (see training.Keeper).

    def save(self, progress: TrainingState, learners: dict[str, Learner], *, best: bool) -> None:
        """Write a checkpoint beside the last one, then point to it."""
        folder = self.path / "checkpoint" / f"epoch-{progress.epoch}"
        best_folder = folder.with_name(f"best-{progress.epoch}")
        for role, learner in learners.items():
            save_tensors(folder / f"{role}.safetensors", learner.state(), role)
            if best:
                save_tensors(best_folder / f"{role}.safetensors", learner.weights(), role)
        write_json(self.path / "checkpoint" / "progress.json", progress.as_dict())
        keep = {folder.name, f"best-{progress.best_epoch}"}
        for old in folder.parent.iterdir():
            if old.is_dir() and old.name not in keep:
                shutil.rmtree(old)

    def restore(self, learners: dict[str, Learner]) -> TrainingState | None:
        """Go on from the last checkpoint; metrics of epochs after it are dropped."""
        pointer = self.path / "checkpoint" / "progress.json"
        if not pointer.exists():
            (self.path / METRICS).unlink(missing_ok=True)
            return None
        progress = TrainingState.from_dict(read_json(pointer))
        folder = pointer.parent / f"epoch-{progress.epoch}"
        for role, learner in learners.items():
            learner.load_state(load_tensors(folder / f"{role}.safetensors", role), role)
        self._drop_metrics_after(progress.epoch)
        return progress

    def restore_best(self, learners: dict[str, Learner]) -> None:
        """Put the weights of the best epoch back."""
        progress = TrainingState.from_dict(read_json(self.path / "checkpoint" / "progress.json"))
        folder = self.path / "checkpoint" / f"best-{progress.best_epoch}"
        for role, learner in learners.items():
            learner.load_weights(load_tensors(folder / f"{role}.safetensors", role), role)

    def log(self, record: dict[str, Any]) -> None:
        """Append a line to metrics.jsonl."""
        with (self.path / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """All lines of metrics.jsonl."""
        file = self.path / METRICS
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def _drop_metrics_after(self, epoch: int) -> None:
        kept = [json.dumps(record) + "\n" for record in self.metrics() if record["epoch"] <= epoch]
        with whole_file(self.path / METRICS, force=True) as partial:
            partial.write_text("".join(kept), encoding="utf-8")


def refuse_other(path: Path) -> None:
    """Refuse a place that holds something else than a run, or an alignment or a party's secret for one."""
    held = (file.name for file in path.rglob("*") if not file.is_dir())
    if not is_run(path) and (path.is_file() or any(name not in (LATEST, KEY, NOISE_KEY) for name in held)):
        raise PriveeError(f"{path} exists and is not a run; choose another folder")


def write_private(folder: Path, files: Mapping[str, Any]) -> None:
    """Write a party's own files: the aligned ids as Parquet, everything else as JSON."""
    for name, value in files.items():
        if isinstance(value, AlignedList):
            value.write(folder / name)
            (folder / LATEST).unlink(missing_ok=True)  # the same, from a look at the tables before
        else:
            write_json(folder / name, value)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
