"""A site's party: its part of the model around its own columns, and what it keeps of its seal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from privee.errors import PriveeError
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.site.own_columns import SiteData
from privee.federation.site.sealed_runs import SealedRuns
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, noise_width
from privee.vfl.embedding_defenses.noise import NoisyParty, NoisyRecords, kept_noise_secret
from privee.vfl.joint_model import make_bottom
from privee.vfl.party import ActiveParty, PassiveParty
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.drawing import kept_secret
from privee.vfl.seal.encoders import Encoder, OwnEncoder
from privee.vfl.seal.party import SealedParty, SealedRecords
from privee.vfl.seal.records import CODES, put_sent_codes, sensitive_places, write_codes
from privee.vfl.seal.steps import start_steps
from privee.vfl.training import TrainingSettings, split_validation, total_steps


def make_party(name: str, job: JobSettings, data: SiteData, n_classes: int, folder: Path) -> PassiveParty:
    """The party before its first step, with the same weights as in one process.

    Args:
        name: its own.
        job: what was agreed on.
        data: its own columns.
        n_classes: of the joint model.
        folder: where it keeps its part of the run, and the secret of its seal or of its noise.
    """
    seal, defense = job.seals.get(name), job.embedding_defenses.get(name)
    model = make_bottom(job.model, name, data.columns.shape[1:], n_classes, job.training.seed, seal, defense)
    columns = torch.from_numpy(np.array(data.columns, dtype=np.float32))
    if seal is not None and isinstance(model, Encoder):
        check_own_sensitive(data, name, seal)
        places = sensitive_places(data.described, name, seal.sensitive)
        records = SealedRecords(secret=kept_secret(folder), entities=data.ids, sensitive=places)
        return SealedParty(name, columns, model, records=records)
    if isinstance(model, DefendedBottom) and noise_width(model):
        return NoisyParty(name, columns, model, records=NoisyRecords(kept_noise_secret(folder), data.ids))
    if data.labels is None:
        return PassiveParty(name, columns, model)
    return ActiveParty(name, columns, model, torch.as_tensor(data.labels, dtype=torch.int64))


def prepare(party: PassiveParty, data: SiteData, training: TrainingSettings, folder: Path) -> None:
    """What comes before the first step.

    Codes of a party's own columns are drawn here, and written before any of them is sent; those that an earlier attempt
    wrote are sent again.
    """
    rows = torch.from_numpy(data.train)
    party.prepare(rows, scaling=training.scaling, class_weights=training.class_weights, seed=training.seed)
    party.learner.start(training.rate(0), training.decay(len(rows)), training.optimizer)
    start_steps(party.learner.model, training.seed, total_steps(len(split_validation(rows, training)[0]), training))
    if not isinstance(party, SealedParty):
        return
    if (folder / CODES).is_file():
        put_sent_codes(party, folder)
    elif isinstance(party.encoder, OwnEncoder):
        keep_codes(party, folder)


def keep_codes(party: PassiveParty, folder: Path) -> None:
    """The training is over: draw the code of every record, once, and keep it."""
    if not isinstance(party, SealedParty):
        raise PriveeError("this site is not sealed in this job")
    codes = party.seal_records()
    if not (folder / CODES).is_file():
        write_codes(folder, party.entities, codes)


def check_own_sensitive(data: SiteData, name: str, seal: Seal) -> None:
    """A column that is not there would be taken for protected."""
    own = {column.name for column in data.described if column.party == name}
    for column in seal.sensitive:
        if column not in own:
            raise PriveeError(f"this site has no column called {column[:80]!r}, which the job marks as sensitive")


def check_training(rows: Tensor, data: SiteData) -> None:
    """Other records than those of the training have one code in all their life, so none before codes are drawn."""
    if not data.trained_on[rows.numpy()].all():
        raise PriveeError("until its codes are drawn, a sealed site answers for the records of the training alone")


def check_trained_on(rows: Tensor, data: SiteData) -> None:
    """Draws of a training come from its seed, which everybody has: they hide nothing of other records."""
    if not data.trained_on[rows.numpy()].all():
        raise PriveeError("a site with a noisy embedding trains on the records of the training alone")


def check_seal(name: str, job: JobSettings, settings: SiteSettings) -> None:
    """Refuse a job that lets more leave this site than the site itself allows."""
    found = job.seals.get(name)
    if settings.seal is not None:
        wanted = parse_seal(settings.seal)
        if found is None or not found.is_as_tight_as(wanted):
            raise PriveeError(f"this site takes part sealed with {wanted.spec} or tighter; the job has {_said(found)}")
    if found is not None:
        SealedRuns(settings.folder, settings.lifetime).check(job.run, found)
    elif settings.lifetime:
        raise PriveeError(
            "this site's codes have a lifetime, so it takes part sealed alone; the job has no seal for it"
        )


def _said(seal: Seal | None) -> str:
    return "no seal for it" if seal is None else seal.spec
