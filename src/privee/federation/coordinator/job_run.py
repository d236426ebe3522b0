"""The coordinator's part of a job, from the first hello to the finished run, over any line.

Every role keeps its own checkpoints, and the coordinator says which epoch counts.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from privee.atomic import read_json
from privee.federation.coordinator.exchange import Exchange
from privee.federation.coordinator.finished_run import check_finished, start_from
from privee.federation.errors import SiteLostError
from privee.federation.settings import JobSettings
from privee.federation.wire.frames import Note
from privee.federation.wire.reply_checks import ReplyChecks, classes_of, column_of, counts_of, files_of
from privee.version import __version__
from privee.vfl.coordinator import Coordinator
from privee.vfl.experiment import TrainingOutcome
from privee.vfl.joint_data import Rows, split_rows
from privee.vfl.joint_model import COORDINATOR, make_top
from privee.vfl.learner import Learner
from privee.vfl.messages import Report
from privee.vfl.models import architecture
from privee.vfl.run_format import WEIGHTS, run_config, write_config
from privee.vfl.runs import RunFolder
from privee.vfl.seal import told_by
from privee.vfl.training import OnStep, TrainingSettings, TrainingState, train

OnPhase = Callable[[str], None]


def coordinate(
    job: JobSettings,
    exchange: Exchange,
    folder: Path,
    *,
    on_phase: OnPhase = lambda phase: None,
    on_step: OnStep = lambda *_: None,
) -> TrainingOutcome:
    """Align, train, evaluate and finish; each role's files are written where that role is.

    Args:
        job: what to do.
        exchange: the line to the sites, all of which are there.
        folder: where the coordinator keeps runs; this one is in `folder/job.run`.
        on_phase: told what is done now.
        on_step: told how far the training is.
    """
    on_phase("preparing")
    known = _hello(job, exchange)
    if "tables" in job.source:
        on_phase("aligning")
        _align(job, exchange)
    on_phase("encoding")
    classes, train_rows, test_rows = _encode(job, exchange)
    run = CoordinatorFolder(folder / job.run)
    training = job.training_on(len(train_rows), len(classes))
    config = _config(job, known, training, classes, (len(train_rows), len(test_rows)))
    finished = None if job.start_from is None else folder / job.start_from
    if finished is not None:
        check_finished(finished, config)
    run.create(run.path, config)
    exchange.notes({site: Note("build", {"n_classes": len(classes)}) for site in job.parties}, job.align_seconds)
    coordinator = _coordinator(job, exchange, len(classes))
    rows = torch.from_numpy(train_rows)
    if finished is not None:
        on_phase("starting from the finished run")
        start_from(finished, job, exchange, coordinator, rows)
    on_phase("training")
    learners = {COORDINATOR: coordinator.learner}
    keeper = FederatedKeeper(run, exchange, job)
    progress = train(coordinator, learners, rows, training, keeper=keeper, on_step=on_step)
    if job.seals:
        on_phase("sealing")
        keeper.seal()
    on_phase("evaluating")
    reports = [coordinator.evaluate(torch.from_numpy(part)) for part in (train_rows, test_rows)]
    run.log({"epoch": progress.epoch, "final": True, "train": _plain(reports[0]), "test": _plain(reports[1])})
    keeper.finish(learners)
    told = {site: told_by(seal) for site, seal in job.seals.items()}
    defended = {site: one.told() for site, one in job.embedding_defenses.items()}
    return TrainingOutcome(job.run, progress.epoch, *reports, seals=told, embedding_defenses=defended)


def _hello(job: JobSettings, exchange: Exchange) -> dict[str, Note]:
    hello = Note("hello", {"version": __version__, "job": job.as_dict()})
    return exchange.notes(dict.fromkeys(job.parties, hello), job.align_seconds)


def _align(job: JobSettings, exchange: Exchange) -> None:
    """Carry the aligners' messages: request and answer with every passive site, then agreement and check."""
    for there, here in (("request", "answer"), ("agreement", "check")):
        for site in job.parties[1:]:
            message = _active(job, exchange, there, site)
            reply = exchange.note(site, Note("align", {"step": here}, message), job.align_seconds)
            _active(job, exchange, "answered" if here == "answer" else "checked", site, reply.body)


def _active(job: JobSettings, exchange: Exchange, step: str, site: str, body: bytes = b"") -> bytes:
    note = Note("align", {"step": step, "party": site}, body)
    return exchange.note(job.active, note, job.align_seconds).body


def _encode(job: JobSettings, exchange: Exchange) -> tuple[list[str], Rows, Rows]:
    """Classes, training and test rows."""
    replies = exchange.notes({site: Note("encode") for site in job.parties}, job.align_seconds)
    rows, training = counts_of(replies, job.active)
    classes = classes_of(replies[job.active], job.active)
    if "tables" in job.source:
        return classes, *split_rows(rows, float(job.source["tables"]["test_share"]), job.training.seed)
    return classes, np.arange(training), np.arange(training, rows)


def _config(
    job: JobSettings, known: Mapping[str, Note], training: TrainingSettings, classes: list[str], rows: tuple[int, int]
) -> dict[str, Any]:
    """The same config as `privee train` writes."""
    source = dict(job.source)
    if "tables" in source:
        columns = {site: column_of(known[site], "id_column", site) for site in job.parties}
        label = column_of(known[job.active], "label", job.active)
        about = {"parties": list(job.parties), "id_columns": columns, "label": label}
        source = {"tables": about | {"test_share": source["tables"]["test_share"]}}
    return run_config(
        model=job.model,
        parties=job.parties,
        classes=classes,
        rows=rows,
        data=source,
        training=training.as_dict(),
        seals=job.seals,
        embedding_defenses=job.embedding_defenses,
    )


def _coordinator(job: JobSettings, exchange: Exchange, n_classes: int) -> Coordinator:
    top = make_top(job.model, job.parties, n_classes, job.training.seed, job.seals)
    if exchange.fitting is None:
        codes = {site: seal.codes for site, seal in job.seals.items()}
        exchange.fitting = ReplyChecks(architecture(job.model).width(n_classes), codes=codes)
    return Coordinator(top, exchange, job.parties, job.active)


def _plain(report: Report) -> dict[str, Any]:
    return {"loss": report.loss, "accuracy": report.accuracy, "rows": report.rows}


class CoordinatorFolder(RunFolder):
    """A run folder with the coordinator's part alone; of the parties' files it has the checksums they sent."""

    sites: dict[str, str] | None = None

    def note_files(self) -> None:
        """Write down the checksums of all parts, wherever they are."""
        own = self.part(COORDINATOR) / WEIGHTS
        files = {f"{COORDINATOR}/{own.name}": hashlib.sha256(own.read_bytes()).hexdigest()} | (self.sites or {})
        write_config(self.path, self.config | {"files": dict(sorted(files.items()))})


class FederatedKeeper:
    """The keeper of a federated training (see `privee.vfl.training.Keeper`).

    The sites save first and keep the epoch before as well, then the coordinator moves its pointer: whenever something
    breaks, every role still has the epoch that the pointer names.
    """

    def __init__(self, run: CoordinatorFolder, exchange: Exchange, job: JobSettings) -> None:
        self._run, self._exchange, self._job = run, exchange, job

    def save(self, progress: TrainingState, learners: dict[str, Learner], *, best: bool) -> None:
        """Keep a checkpoint at every role."""
        self._tell("save", epoch=progress.epoch, best=best)
        self._run.save(progress, learners, best=best)

    def restore(self, learners: dict[str, Learner]) -> TrainingState | None:
        """Put the last checkpoint back at every role, if there is one."""
        progress = self._run.restore(learners)
        if progress is not None:
            self._tell("restore", epoch=progress.epoch)
        return progress

    def restore_best(self, learners: dict[str, Learner]) -> None:
        """Put the weights of the best epoch back at every role."""
        progress = TrainingState.from_dict(read_json(self._run.path / "checkpoint" / "progress.json"))
        self._tell("best", epoch=progress.best_epoch)
        self._run.restore_best(learners)

    def log(self, record: dict[str, Any]) -> None:
        """Append one line of metrics."""
        self._run.log(record)

    def seal(self) -> None:
        """The training is over: every sealed site draws the codes of its records, before anything is measured."""
        self._exchange.notes({site: Note("seal") for site in self._job.seals}, self._job.align_seconds)

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
