"""From a finished run to a sealed one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.experiment import TrainingOutcome, open_run, train_run, trained_data
from privee.vfl.matched_tables import Tell
from privee.vfl.run_format import embedding_defenses_of, seals_of
from privee.vfl.runs import RunFolder
from privee.vfl.seal.records import check_sensitive
from privee.vfl.seal.settings import Seal, with_sensitive
from privee.vfl.training import OnStep, TrainingSettings

LONGER = 2
"""Codes take more passes over the records to settle than embeddings do."""


def seal_run(
    run: Path,
    target: Path,
    seal: Seal,
    *,
    only: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    files: Mapping[str, Path] | None = None,
    epochs: int | None = None,
    data_dir: Path | None = None,
    threads: int | None = None,
    on_step: OnStep = lambda *_: None,
    aligning: Progress | None = None,
    tell: Tell = lambda line: None,
) -> TrainingOutcome:
    """Train a sealed model into a folder of its own, beginning with a finished run's.

    Args:
        run: the finished run.
        target: the folder of the sealed one; an interrupted sealing goes on there.
        seal: of every passive party, or of those in `only`.
        only: the passive parties to seal.
        sensitive: columns that the codes should tell little of.
        files: the parties' tables, for a run on tables.
        epochs: at most; twice the run's by default.
        data_dir: folder with dataset files.
        threads: of torch.
        on_step: told how far it is.
        aligning: told how far an alignment is.
        tell: takes a line if there is one.
    """
    config = RunFolder.open(run).config
    if seals_of(config):
        raise PriveeError(f"{run} is sealed already; seal the run that it was made from")
    if embedding_defenses_of(config):
        raise PriveeError(f"{run} has embedding defenses, which a sealed party has no embedding for; seal one without")
    passive = list(config["parties"])[1:]
    for name in only:
        if name not in passive:
            raise PriveeError(f"{run} has no passive party called {name!r}; there are {', '.join(passive)}")
    teacher, new = open_run(run, files, data_dir, progress=aligning, tell=tell)
    data = trained_data(run, new)
    seals = with_sensitive({name: seal for name in passive if not only or name in only}, sensitive)
    check_sensitive(data.described, seals, sensitive)
    settings = longer(TrainingSettings(**config["training"]), epochs)
    return train_run(
        target, data, config["model"], settings, on_step=on_step, threads=threads, seals=seals, teacher=teacher
    )


def longer(settings: TrainingSettings, epochs: int | None = None) -> TrainingSettings:
    """As a model that is not sealed is trained, for so many epochs or twice as long."""
    return dataclasses.replace(
        settings,
        epochs=epochs or LONGER * settings.epochs,
        patience=settings.patience and LONGER * settings.patience,
    )
