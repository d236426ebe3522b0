"""Checkpoints of a federated run: every role keeps its own, and the coordinator says which epoch counts."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any

from privee.federation.errors import SiteLostError
from privee.federation.exchange import Exchange
from privee.federation.fitting import files_of
from privee.federation.frames import Note
from privee.federation.settings import JobSettings
from privee.vfl.federation import COORDINATOR
from privee.vfl.learner import Learner
from privee.vfl.runs import RunFolder, read_json, write_json
from privee.vfl.training import Progress


class CoordinatorFolder(RunFolder):
    """A run folder with the coordinator's part alone; of the parties' files it has the checksums they sent."""

    sites: dict[str, str] | None = None

    def note_files(self) -> None:
        """Write down the checksums of all parts, wherever they are."""
        own = self.part(COORDINATOR) / "model.safetensors"
        files = {f"{COORDINATOR}/{own.name}": hashlib.sha256(own.read_bytes()).hexdigest()} | (self.sites or {})
        write_json(self.path / "config.json", self.config | {"files": dict(sorted(files.items()))})


class FederatedKeeper:
    """The keeper of a federated training (see `privee.vfl.training.Keeper`).

    The sites save first and keep the epoch before as well, then the coordinator moves its pointer: whenever something
    breaks, every role still has the epoch that the pointer names.
    """

    def __init__(self, run: CoordinatorFolder, exchange: Exchange, job: JobSettings) -> None:
        self._run, self._exchange, self._job = run, exchange, job

    def save(self, progress: Progress, learners: dict[str, Learner], *, best: bool) -> None:
        """Keep a checkpoint at every role."""
        self._tell("save", epoch=progress.epoch, best=best)
        self._run.save(progress, learners, best=best)

    def restore(self, learners: dict[str, Learner]) -> Progress | None:
        """Put the last checkpoint back at every role, if there is one."""
        progress = self._run.restore(learners)
        if progress is not None:
            self._tell("restore", epoch=progress.epoch)
        return progress

    def restore_best(self, learners: dict[str, Learner]) -> None:
        """Put the weights of the best epoch back at every role."""
        progress = Progress.from_dict(read_json(self._run.path / "checkpoint" / "progress.json"))
        self._tell("best", epoch=progress.best_epoch)
        self._run.restore_best(learners)

    def log(self, record: dict[str, Any]) -> None:
        """Append one line of metrics."""
        self._run.log(record)

    def finish(self, learners: dict[str, Learner]) -> None:
        """Write every part of the model at its role; then the checkpoints may go."""
        replies = self._tell("finish")
        files = {site: files_of(reply, site).items() for site, reply in replies.items()}
        self._run.sites = {f"parties/{site}/{name}": sha for site, found in files.items() for name, sha in found}
        self._run.finish(learners)
        with contextlib.suppress(SiteLostError):  # the run is complete: who is gone now keeps a checkpoint, that is all
            self._tell("forget")

    def _tell(self, name: str, **values: Any) -> dict[str, Note]:
        notes = {site: Note(name, values) for site in self._job.parties}
        return self._exchange.notes(notes, self._job.answer_seconds)
