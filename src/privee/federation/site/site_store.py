"""What a site writes, on its own disk alone: checkpoints while training, and its part of the model at the end.

FOLDER/RUN/run.json               which settings and records the run belongs to
FOLDER/RUN/checkpoint/            the last two epochs and the best one
FOLDER/RUN/model.safetensors ...  the same files as in parties/NAME of a run of `privee train`
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.vfl.learner import Learner
from privee.vfl.run_format import PARTY, WEIGHTS
from privee.vfl.runs import write_private
from privee.vfl.weights import load_tensors, save_tensors

MARK = "run.json"


def is_finished(folder: Path) -> bool:
    """Whether a folder holds a site's part of a run that ended."""
    return all((folder / name).is_file() for name in (MARK, PARTY, WEIGHTS)) and not (folder / "checkpoint").exists()


class SiteStore:
    """One run's folder at one site."""

    def __init__(self, folder: Path, party: str) -> None:
        self.folder, self._party = folder, party

    def open(self, fingerprint: str, digest: str) -> None:
        """Start a run, or go on with the same one."""
        mark, wanted = self.folder / MARK, {"fingerprint": fingerprint, "records": digest}
        if not mark.exists():
            write_json(mark, wanted)
            return
        found = read_json(mark)
        if found.get("fingerprint") != fingerprint:
            raise PriveeError("there is a run of this name with other settings here; choose another name")
        if found.get("records") != digest:
            raise PriveeError("the data changed since this run was started; choose another name")
        if (self.folder / WEIGHTS).exists() and not (self.folder / "checkpoint").exists():
            raise PriveeError("there is a finished run of this name here; choose another name")

    def save(self, epoch: int, learner: Learner, *, best: bool) -> None:
        """A checkpoint; the one before stays, because the coordinator may still point to it."""
        save_tensors(self._checkpoint(f"epoch-{epoch}"), learner.state(), self._party)
        if best:
            save_tensors(self._checkpoint(f"best-{epoch}"), learner.weights(), self._party)
        for old in (self.folder / "checkpoint").glob("epoch-*.safetensors"):
            if int(old.stem.removeprefix("epoch-")) not in (epoch, epoch - 1):
                old.unlink()

    def restore(self, epoch: int, learner: Learner) -> None:
        """Go on after this epoch."""
        learner.load_state(load_tensors(self._there(f"epoch-{epoch}"), self._party), self._party)

    def restore_best(self, epoch: int, learner: Learner) -> None:
        """Back to the weights of the best epoch."""
        learner.load_weights(load_tensors(self._there(f"best-{epoch}"), self._party), self._party)

    def finish(self, learner: Learner, files: Mapping[str, Any]) -> dict[str, str]:
        """Write the part of the model; returns the checksums of its files."""
        write_private(self.folder, files)
        save_tensors(self.folder / WEIGHTS, learner.weights(), self._party)
        names = sorted([*files, WEIGHTS])
        return {name: hashlib.sha256((self.folder / name).read_bytes()).hexdigest() for name in names}

    def forget(self) -> None:
        """The checkpoints are no longer needed."""
        shutil.rmtree(self.folder / "checkpoint", ignore_errors=True)

    def _checkpoint(self, name: str) -> Path:
        return self.folder / "checkpoint" / f"{name}.safetensors"

    def _there(self, name: str) -> Path:
        path = self._checkpoint(name)
        if not path.exists():
            raise PriveeError(f"the checkpoint {name} is not here; start a new run under another name")
        return path
