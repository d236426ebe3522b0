"""Messages of a federated run: each step once, whatever is repeated, late or lost."""

import dataclasses

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError, SiteLostError
from privee.federation.site.executor import NumberedReplies
from privee.federation.wire.frames import Frame, Note, SiteFailure, decode, encode
from privee.vfl.messages import (
    Work,
)
from privee.vfl.weights import load_tensors
from tests._support.federation import (
    SESSION,
    line_to,
    table_job,
)


def counting_door() -> tuple[NumberedReplies, list]:
    handled = []

    def handle(content):
        handled.append(content)
        return Note("done", {"count": len(handled)})

    return NumberedReplies(handle, SESSION), handled


def ask(door: NumberedReplies, step: int, name: str = "work", session: bytes = SESSION):
    return decode(door.answer(encode(Frame(session, step, Note(name))))).content


def test_repeated_late_and_foreign_messages_change_nothing():
    door, handled = counting_door()
    assert ask(door, 1) == Note("done", {"count": 1})
    assert ask(door, 1) == Note("done", {"count": 1})  # repeated: the same reply
    assert ask(door, 2) == Note("done", {"count": 2})
    assert isinstance(ask(door, 1), SiteFailure)  # late
    assert isinstance(ask(door, 4), SiteFailure)  # skips one
    assert isinstance(ask(door, 2, "other"), SiteFailure)  # another message under a number that was used
    assert isinstance(ask(door, 3, session=b"x" * 16), SiteFailure)  # another job's
    assert isinstance(decode(door.answer(b"rubbish")).content, SiteFailure)
    assert len(handled) == 2
    assert ask(door, 3) == Note("done", {"count": 3})


def test_a_bug_at_a_site_tells_its_kind_and_no_value():
    def handle(content):
        raise RuntimeError("secret 42")

    reply = ask(NumberedReplies(handle, SESSION), 1)
    assert isinstance(reply, SiteFailure)
    assert "RuntimeError" in reply.words
    assert "42" not in reply.words


def test_a_training_with_repeated_and_lost_messages_ends_the_same(tmp_path):
    job = digits_job("mlp", 2)
    calm, _ = line_to(job, tmp_path / "calm")
    coordinate(job, calm, tmp_path / "calm" / "coordinator")
    stormy, loop = line_to(job, tmp_path / "stormy")
    rng = np.random.default_rng(0)
    before: dict[str, bytes] = {}

    def tamper(site, data):
        """Some are lost, some come twice, some bring the message before them along."""
        late = before.get(site, data)
        before[site] = data
        luck = rng.integers(8)
        return [] if luck == 0 else [data, data] if luck == 1 else [late, data] if luck == 2 else [data]

    loop.tamper = tamper
    coordinate(job, stormy, tmp_path / "stormy" / "coordinator")
    for site in job.parties:
        a, b = (load_tensors(tmp_path / x / site / "run" / "model.safetensors", site) for x in ("calm", "stormy"))
        assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_silent_site_is_named_after_the_time_it_has(tmp_path):
    job = dataclasses.replace(digits_job("logistic", 2), answer_seconds=0.05)
    line, loop = line_to(job, tmp_path)

    def tamper(site, data):
        training = isinstance(decode(data).content, Work)
        return [] if site == "passive-1" and training else [data]

    loop.tamper = tamper
    with pytest.raises(SiteLostError, match=r"site passive-1 did not answer in 0\.05 s"):
        coordinate(job, line, tmp_path / "coordinator")


def test_a_site_says_why_it_cannot(tmp_path):
    job = table_job(("bank", "shop"))
    line, _ = line_to(job, tmp_path)
    with pytest.raises(SiteError, match="site bank: no table is named here"):
        coordinate(job, line, tmp_path / "coordinator")
