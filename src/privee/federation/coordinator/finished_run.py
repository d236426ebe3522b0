"""The coordinator's part of a start from a finished run: its top of then, whose scores the sealed model learns from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from privee.errors import PriveeError
from privee.federation.coordinator.exchange import Exchange
from privee.federation.errors import SiteError
from privee.federation.settings import JobSettings
from privee.federation.wire.frames import Note
from privee.federation.wire.reply_checks import ReplyChecks
from privee.federation.wire.tensors import packed, unpacked
from privee.vfl.coordinator import Coordinator
from privee.vfl.joint_model import COORDINATOR, make_top
from privee.vfl.models import architecture
from privee.vfl.run_format import WEIGHTS, is_finished_run, read_config
from privee.vfl.seal.warm_start import put_middles
from privee.vfl.weights import load_tensors

SAME = ("model", "parties", "classes", "rows", "data")
"""What a run to start from has in common with the one that starts."""


def check_finished(path: Path, config: Mapping[str, Any]) -> None:
    """Refuse a run that cannot be started from, before anything is written."""
    if not is_finished_run(path):
        raise PriveeError(f"there is no finished run called {path.name} at the server to start from")
    found = read_config(path)
    if found.get("seals") or found.get("embedding_defenses"):
        raise PriveeError(f"the run {path.name} has seals or embedding defenses; start from one without")
    for name in SAME:
        if found[name] != config[name]:
            raise PriveeError(f"the run {path.name} has other {name} than this one, so it cannot be started from")


def start_from(path: Path, job: JobSettings, exchange: Exchange, coordinator: Coordinator, rows: Tensor) -> None:
    """Put what a finished run knows into one that is to be sealed, each part where it is.

    Args:
        path: the finished run, at the coordinator.
        job: what to do.
        exchange: the line to the sites, whose models are built.
        coordinator: of the new run; takes the middles of codes.
        rows: numbers of the training rows.
    """
    n_classes = len(read_config(path)["classes"])
    replies = exchange.notes({site: Note("begin") for site in job.parties}, job.align_seconds)
    width = architecture(job.model).width(n_classes)
    for place, site in enumerate(job.parties):
        if replies[site].body:
            put_middles(coordinator.learner.model, place, _middles(job, site, replies[site].body, width))
    sealed, exchange.fitting = exchange.fitting, ReplyChecks(width)  # embeddings, as when that run ended
    scores = _teacher(path, job, exchange, n_classes).scores(rows)
    exchange.fitting = sealed
    bodies = {job.active: packed(scores)}
    notes = {site: Note("believe", {}, bodies.get(site, b"")) for site in job.parties}
    exchange.notes(notes, job.align_seconds)


def _teacher(path: Path, job: JobSettings, exchange: Exchange, n_classes: int) -> Coordinator:
    top = make_top(job.model, job.parties, n_classes, job.training.seed)
    found = Coordinator(top, exchange, job.parties, job.active)
    found.learner.load_weights(load_tensors(path / COORDINATOR / WEIGHTS, COORDINATOR), COORDINATOR)
    return found


def _middles(job: JobSettings, site: str, body: bytes, width: int) -> Tensor:
    """One vector for each code of a site whose codes are learned."""
    try:
        found = unpacked(body)
    except PriveeError as error:
        raise SiteError(f"site {site} sent no proper middles of codes: {error}") from None
    seal = job.seals.get(site)
    if seal is None or tuple(found.shape) != (seal.codes, width) or found.dtype is not torch.float32:
        raise SiteError(f"site {site} sent something else than the middles of its codes")
    return found
