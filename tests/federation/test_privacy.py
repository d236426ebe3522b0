"""Nothing private crosses in a federated run."""

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.federation.coordinator.exchange import Exchange
from privee.federation.coordinator.job_run import coordinate
from privee.federation.settings import SiteSettings
from privee.federation.wire.frames import Note, decode
from privee.federation.wire.reply_checks import ReplyChecks
from privee.vfl.messages import (
    Embedding,
    EmbeddingAndGradient,
    LogitGradient,
    Logits,
    Report,
    ReportRequest,
    Work,
    WorkAndLogits,
)
from tests._support.federation import (
    SESSION,
    Loop,
    door_of,
)

# --- what crosses ----------------------------------------------------------------------------------------------------

FLOATS = {Work: "gradient", Embedding: "values", Logits: "values", LogitGradient: "values"}
NOTES = {"hello", "align", "encode", "build", "restore", "save", "best", "finish", "forget", "done"}


def crossed_numbers(loop: Loop) -> np.ndarray:
    found = []
    for _, sent, reply in loop.crossed:
        for data in (sent, reply):
            content = decode(data).content
            pairs = {WorkAndLogits: ("work", "logits"), EmbeddingAndGradient: ("embedding", "gradient")}
            parts = [getattr(content, name) for name in pairs.get(type(content), ())] or [content]
            for part in parts:
                assert type(part) in (*FLOATS, ReportRequest, Report, Note)
                if isinstance(part, Note):
                    assert part.name in NOTES
                    assert not part.body
                elif (tensor := getattr(part, FLOATS.get(type(part), ""), None)) is not None:
                    found.append(tensor.numpy().ravel())
    return np.unique(np.concatenate(found))


def watched(tmp_path, spoil=lambda party: None, **training):
    """Train in double precision, where private numbers are recognised by their exact values; look after every step."""
    job = digits_job("logistic", 3, **training)
    made = {name: door_of(name, SiteSettings(folder=tmp_path / name)) for name in job.parties}
    for site, _ in made.values():
        _in_doubles(site, spoil if site.name == "passive-1" else lambda party: None)
    sites = [site for site, _ in made.values()]
    loop = Loop({name: door for name, (_, door) in made.items()})
    secrets: list[np.ndarray] = []

    def look(*_):
        for site in sites:
            secrets.extend(t.numpy().ravel().copy() for t in site.party.learner.weights().values())

    exchange = Exchange(loop, SESSION)
    exchange.fitting = ReplyChecks(10, torch.float64)
    coordinate(job, exchange, tmp_path / "c", on_step=look)
    secrets.extend(site.party._features.numpy().ravel() for site in sites)
    return np.intersect1d(crossed_numbers(loop), np.concatenate(secrets))


def _in_doubles(site, spoil) -> None:
    """Let a site train on random doubles, which do not meet by chance."""
    plain_build = site._notes["build"]

    def build(note):
        reply = plain_build(note)
        party = site.party
        party._features = torch.rand(party._features.shape, dtype=torch.float64)
        party.learner.model.double()
        party.learner.start(0.01)
        spoil(party)
        return reply

    site._notes["build"] = build


@pytest.mark.parametrize("pipeline", [False, True])
def test_no_feature_label_or_foreign_parameter_crosses(tmp_path, pipeline):
    assert set(watched(tmp_path, pipeline=pipeline)) <= {0.0, 1.0}


@pytest.mark.parametrize("pipeline", [False, True])
def test_a_leak_would_be_noticed(tmp_path, pipeline):
    """A site that sends a column in place of an embedding is caught by the same look."""

    def spoil(party):
        inner = party._embed

        def leak(rows, *more):
            out = inner(rows, *more)
            return torch.cat([party._features[rows][:, :1], out[:, 1:]], dim=1)

        party._embed = leak

    assert len(watched(tmp_path, spoil, pipeline=pipeline)) > 500
