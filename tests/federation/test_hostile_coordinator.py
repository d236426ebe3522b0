"""A coordinator that asks a site for what no coordinator asks: refused, and nothing is changed or written elsewhere."""

import dataclasses
import json
import tracemalloc
from pathlib import Path

import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.errors import PriveeError
from privee.federation.settings import SiteSettings
from privee.federation.wire.frames import Content, Frame, Note, SiteFailure, decode, encode
from privee.version import __version__
from privee.vfl.messages import Embedding, Logits, ReportRequest, Work
from tests._support.federation import SESSION, door_of

MEMORY = 256 << 20


class Asker:
    """Sends a site one message after the other."""

    def __init__(self, folder: Path, job=None) -> None:
        self.job = job or digits_job("mlp", 2)
        self.site, self._door = door_of("passive-1", SiteSettings(folder=folder))
        self._step = 0

    def __call__(self, content: Content) -> Content:
        self._step += 1
        return decode(self._door.answer(encode(Frame(SESSION, self._step, content)))).content

    def hello(self, **changes: object) -> Content:
        plain = json.loads(json.dumps(self.job.as_dict())) | changes
        return self(Note("hello", {"version": __version__, "job": plain}))

    def ready(self) -> "Asker":
        for reply in (self.hello(), self(Note("encode")), self(Note("build", {"n_classes": 10}))):
            assert isinstance(reply, Note), reply
        return self


def rows_of(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int64)


CRAFTED = {
    "a row that is not there": Work(None, rows_of(0, 1797), True),
    "the last possible row": Work(None, rows_of(2**32 - 1), False),
    "more rows than there are": Work(None, torch.zeros(3_000_000, dtype=torch.int64), False),
    "an unasked gradient": Work(torch.zeros(3, 64), None, True),
    "logits for a party without labels": Logits(torch.zeros(1, 10), rows_of(0), True),
    "a report from it": ReportRequest(),
    "an embedding": Embedding(torch.zeros(1, 64)),
    "a failure": SiteFailure("no"),
    "an unknown note": Note("shell", {"command": "id"}),
    "another hello": Note("hello", {"version": __version__, "job": {}}),
    "a path to restore": Note("restore", {"epoch": "../../x"}),
    "a far epoch": Note("restore", {"epoch": 10**30}),
    "a long one": Note("save", {"epoch": int("9" * 4000), "best": True}),
    "no epoch": Note("best"),
    "alignment in a job without": Note("align", {"step": "answer"}),
    "classes without end": Note("build", {"n_classes": 10**9}),
    "no classes": Note("build", {"n_classes": 1.5}),
}


@pytest.mark.parametrize("how", CRAFTED)
def test_a_site_refuses_what_no_coordinator_asks_and_goes_on(tmp_path, how):
    ask = Asker(tmp_path / "site").ready()
    before = {name: tensor.clone() for name, tensor in ask.site.party.learner.weights().items()}
    tracemalloc.start()
    try:
        reply = ask(CRAFTED[how])
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert isinstance(reply, SiteFailure)
    assert str(tmp_path) not in reply.words
    after = ask.site.party.learner.weights()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert isinstance(ask(Work(None, rows_of(0, 1), True)), Embedding)
    assert {one.name for one in tmp_path.iterdir()} == {"site"}
    assert {one.name for one in (tmp_path / "site").iterdir()} == {"run"}


def test_a_gradient_of_another_shape_changes_nothing(tmp_path):
    ask = Asker(tmp_path).ready()
    assert isinstance(ask(Work(None, rows_of(0, 1), True)), Embedding)
    before = {name: tensor.clone() for name, tensor in ask.site.party.learner.weights().items()}
    assert isinstance(ask(Work(torch.zeros(3, 64), None, True)), SiteFailure)
    assert all(torch.equal(before[name], now) for name, now in ask.site.party.learner.weights().items())


@pytest.mark.parametrize("run", ["../x", "a/b", "..", "", "x\n", None, ["x"], "/tmp/x", ".x"])  # noqa: S108
def test_a_runs_name_leaves_no_folder(tmp_path, run):
    ask = Asker(tmp_path / "site")
    assert isinstance(ask.hello(run=run), SiteFailure)
    assert isinstance(ask(Note("encode")), SiteFailure)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../digits", "/etc", "no-such", 5, None])
def test_a_dataset_that_is_none_is_refused(tmp_path, name):
    ask = Asker(tmp_path / "site")
    ask.hello(source=dict(ask.job.source) | {"dataset": name})
    assert isinstance(ask(Note("encode")), SiteFailure)


def test_another_runs_files_are_out_of_reach(tmp_path):
    """Neither by a second hello in one job nor by a note before the settings were compared."""
    mine = Asker(tmp_path).ready()
    assert mine(Note("save", {"epoch": 1, "best": True})) == Note("done")
    kept = sorted(one.name for one in (tmp_path / "run" / "checkpoint").iterdir())
    other = Asker(tmp_path, digits_job("mlp", 2, run="other")).ready()
    assert isinstance(other.hello(run="run"), SiteFailure)
    assert other(Note("save", {"epoch": 9, "best": False})) == Note("done")
    early = Asker(tmp_path)
    early.hello()
    for name in ("forget", "finish", "save", "restore", "best"):
        assert isinstance(early(Note(name, {"epoch": 1, "best": False})), SiteFailure)
    assert sorted(one.name for one in (tmp_path / "run" / "checkpoint").iterdir()) == kept


def test_names_are_whole_lines_of_nothing_else():
    with pytest.raises(PriveeError):
        dataclasses.replace(digits_job("logistic", 2), run="x\n")
