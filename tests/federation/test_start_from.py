"""A sealed job that starts from a finished run: the weights of `privee seal`, nothing new of a record, and refusals."""

import dataclasses
import json
import shutil

import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.atomic import read_json
from privee.errors import PriveeError, SettingError
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError, SiteLostError
from privee.federation.kits.simulator import assemble
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.wire.frames import Frame, Note, SiteFailure, decode, encode
from privee.federation.wire.tensors import packed
from privee.version import __version__
from privee.vfl.messages import Embedding, Logits, Work
from privee.vfl.run_format import UTILITY
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.sealing import seal_run
from tests._support.federation import (
    SESSION,
    assert_same_codes,
    door_of,
    largest_difference,
    line_to,
    local_run,
    own_tables,
    same_secrets,
    table_job,
    write_tables,
)

SITE = "passive-1"


def finished(job: JobSettings, folder, tables=None) -> JobSettings:
    """Train a job without seals under the name `plain`."""
    plain = dataclasses.replace(job, run="plain")
    line, _ = line_to(plain, folder, tables)
    coordinate(plain, line, folder / "coordinator")
    return plain


def sealed(plain: JobSettings, seal: str = "codes=8,epsilon=2", only: tuple[str, ...] = ()) -> JobSettings:
    seals = {site: parse_seal(seal) for site in plain.parties[1:] if not only or site in only}
    return dataclasses.replace(plain, run="run", start_from="plain", seals=seals)


def parts(folder, run, parties) -> dict:
    return {site: folder / site / run for site in parties}


# --- the same result -------------------------------------------------------------------------------------------------

SAME = {
    "joint": ("codes=8", {}, 2, ()),
    "joint, drawn, stopped early": ("codes=8,epsilon=2", {"epochs": 3, "patience": 1, "seed": 7}, 2, ()),
    "joint, pipelined": ("codes=8,epsilon=2", {"pipeline": True, "scaling": "standard"}, 2, ()),
    "signs": ("signs=3,epsilon=2", {}, 2, ()),
    "own": ("codes=8,epsilon=2,learn=own", {"scaling": "standard"}, 2, ()),
    "one of two": ("codes=4", {}, 3, ("passive-2",)),
}


@pytest.mark.parametrize("how", SAME)
def test_the_same_weights_and_codes_as_privee_seal(how, tmp_path):
    seal, training, parties, only = SAME[how]
    plain = finished(digits_job("mlp", parties, **training), tmp_path)
    job = sealed(plain, seal, only)
    job = JobSettings.from_dict(json.loads(json.dumps(job.as_dict())))
    local_run(tmp_path / "local-plain", plain)
    expected = seal_run(tmp_path / "local-plain", tmp_path / "local", parse_seal(seal), only=only)
    same_secrets(tmp_path / "local", parts(tmp_path, "run", job.seals))
    line, _ = line_to(job, tmp_path)
    found = coordinate(job, line, tmp_path / "coordinator")
    assemble(tmp_path / "run", tmp_path / "coordinator" / "run", parts(tmp_path, "run", job.parties))
    assert largest_difference(tmp_path / "local", tmp_path / "run") == 0.0
    assert (found.epochs, found.train, found.test) == (expected.epochs, expected.train, expected.test)
    here, there = (read_json(tmp_path / name / "config.json") for name in ("run", "local"))
    assert here.pop("files").keys() == there.pop("files").keys() - {UTILITY}
    assert here == there
    for site in job.seals:
        assert_same_codes(*(tmp_path / name / "parties" / site for name in ("local", "run")))


def test_the_finished_run_makes_a_difference(tmp_path):
    plain = finished(digits_job("mlp", 2), tmp_path / "one")
    started = sealed(plain, "codes=8")
    fresh = dataclasses.replace(started, start_from=None, training=started.training_on(1, 10))
    found = {}
    for name, job in (("one", started), ("other", fresh)):
        line, _ = line_to(job, tmp_path / name)
        found[name] = coordinate(job, line, tmp_path / name / "coordinator")
    assert found["one"].epochs == found["other"].epochs == 2 * plain.training.epochs
    assert found["one"].train.loss < 0.8 * found["other"].train.loss


def test_own_tables(tmp_path):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    own = own_tables(tmp_path, files)
    plain = finished(table_job(parties), tmp_path, own)
    assemble(tmp_path / "plain", tmp_path / "coordinator" / "plain", parts(tmp_path, "plain", parties))
    job = sealed(plain, "codes=4,epsilon=3")
    seal_run(tmp_path / "plain", tmp_path / "local", job.seals["shop"], files=files)
    same_secrets(tmp_path / "local", parts(tmp_path, "run", job.seals))
    line, _ = line_to(job, tmp_path, own)
    coordinate(job, line, tmp_path / "coordinator")
    assemble(tmp_path / "run", tmp_path / "coordinator" / "run", parts(tmp_path, "run", parties))
    assert largest_difference(tmp_path / "local", tmp_path / "run") == 0.0


# --- what crosses ----------------------------------------------------------------------------------------------------


def test_of_a_record_nothing_is_sent_that_the_finished_run_did_not_send(tmp_path):
    """Byte for byte the embeddings of the finished run's own evaluation; afterwards codes alone."""
    job = dataclasses.replace(digits_job("mlp", 2), run="plain")
    line, before = line_to(job, tmp_path)
    coordinate(job, line, tmp_path / "coordinator")
    line, after = line_to(sealed(job), tmp_path)
    coordinate(sealed(job), line, tmp_path / "coordinator")

    def embedded(loop, dtype) -> dict[tuple[int, ...], torch.Tensor]:
        pairs = [(decode(ask).content, decode(reply).content) for site, ask, reply in loop.crossed if site == SITE]
        told = [
            (ask.rows, reply.values) for ask, reply in pairs if isinstance(reply, Embedding) and ask.rows is not None
        ]
        evaluated = [ask for ask, _ in pairs if isinstance(ask, Work) and not ask.train]
        assert evaluated
        return {tuple(rows.tolist()): values for rows, values in told if values.dtype is dtype}

    once, again = embedded(before, torch.float32), embedded(after, torch.float32)
    assert again
    for rows, values in again.items():
        assert torch.equal(values, once[rows])
    assert embedded(after, torch.uint8)


class Asker:
    """Sends one site of a job that starts from a finished run one message after the other."""

    def __init__(self, folder, job, site=SITE, **own) -> None:
        self._step, self._job = 0, job
        self.site, self._door = door_of(site, SiteSettings(folder=folder / site, **own))

    def __call__(self, content):
        self._step += 1
        return decode(self._door.answer(encode(Frame(SESSION, self._step, content)))).content

    def ready(self) -> "Asker":
        for note in (Note("hello", {"version": __version__, "job": self._job.as_dict()}), Note("encode")):
            reply = self(note)
            assert isinstance(reply, Note), reply
        return self

    def refuses(self, content, words) -> None:
        reply = self(content)
        assert isinstance(reply, SiteFailure), reply
        assert words in reply.words


BUILD = Note("build", {"n_classes": 10})


def test_until_the_scores_are_there_a_site_embeds_training_records_and_does_nothing_else(tmp_path):
    job = sealed(finished(digits_job("mlp", 2), tmp_path))
    ask = Asker(tmp_path, job).ready()
    assert ask(BUILD) == Note("done")
    training, rows = len(ask.site.data.train), torch.arange(4)
    assert ask(Work(None, rows, False)).values.dtype is torch.float32
    ask.refuses(Work(None, torch.tensor([training]), False), "records of the training alone")
    for work in (Work(None, rows, True), Work(torch.ones(4, 64), rows, False), Work(None, None, False)):
        ask.refuses(work, "the training cannot begin")
    ask.refuses(Note("believe", {}, packed(torch.ones(1, 1))), "for the active party alone")
    assert ask(Note("begin")).body
    assert ask(Note("believe")) == Note("done")
    for note in (Note("begin"), Note("believe")):
        ask.refuses(note, "or it has begun")
    assert ask(Work(None, rows, False)).values.dtype is torch.uint8


WRONG = {
    "none": lambda rows: b"",
    "too few": lambda rows: packed(torch.full((rows - 1, 10), 0.1)),
    "no scores": lambda rows: packed(torch.full((rows, 10), 0.3)),
    "below zero": lambda rows: packed(torch.tensor([[-0.5, 1.5] + 8 * [0.0]]).repeat(rows, 1)),
    "cut off": lambda rows: packed(torch.full((rows, 10), 0.1))[:-1],
}


@pytest.mark.parametrize("how", WRONG)
def test_the_active_party_takes_scores_alone(how, tmp_path):
    ask = Asker(tmp_path, sealed(finished(digits_job("mlp", 2, epochs=1), tmp_path)), "active").ready()
    assert ask(BUILD) == Note("done")
    rows = len(ask.site.data.train)
    assert isinstance(ask(Note("believe", {}, WRONG[how](rows))), SiteFailure)
    logits = Logits(torch.zeros(2, 10), torch.arange(2), True)
    ask.refuses(logits, "the training cannot begin")
    assert ask(Note("believe", {}, packed(torch.full((rows, 10), 0.1)))) == Note("done")


def test_middles_of_another_shape_end_the_job_by_the_sites_name(tmp_path):
    job = sealed(finished(digits_job("mlp", 2), tmp_path))
    for body in (packed(torch.zeros(7, 64)), packed(torch.zeros(8, 64, dtype=torch.float64)), b"\7"):
        line, loop = line_to(job, tmp_path)
        honest = loop.doors[SITE]

        class Lying:
            def answer(self, data: bytes, honest=honest, body=body) -> bytes:
                asked, reply = decode(data), honest.answer(data)
                begun = isinstance(asked.content, Note) and asked.content.name == "begin"
                return encode(Frame(SESSION, asked.step, Note("begin", {}, body))) if begun else reply

        loop.doors[SITE] = Lying()
        with pytest.raises(SiteError, match=rf"site {SITE} sent .*middles of"):
            coordinate(job, line, tmp_path / "coordinator")


# --- after a failure -------------------------------------------------------------------------------------------------


def lost_at(number: int):
    """A site that falls silent at so many training steps after the start."""
    left = [number]

    def tamper(site, data):
        content = decode(data).content
        left[0] -= site == SITE and isinstance(content, Work) and content.train
        return [] if left[0] < 0 and site == SITE else [data]

    return tamper


def test_a_job_that_is_gone_on_with_ends_with_the_same_weights(tmp_path):
    plain = finished(digits_job("mlp", 2, epochs=1), tmp_path / "calm")
    shutil.copytree(tmp_path / "calm", tmp_path / "broken")
    job = sealed(plain)
    line, _ = line_to(job, tmp_path / "calm")
    outcome = coordinate(job, line, tmp_path / "calm" / "coordinator")
    same = tmp_path / "broken" / SITE / "run"
    same.mkdir()
    shutil.copy(tmp_path / "calm" / SITE / "run" / "seal.key", same)
    broken = dataclasses.replace(job, answer_seconds=0.05)
    line, loop = line_to(broken, tmp_path / "broken")
    loop.tamper = lost_at(12)  # in the second of two epochs
    with pytest.raises(SiteLostError, match=SITE):
        coordinate(broken, line, tmp_path / "broken" / "coordinator")
    line, _ = line_to(job, tmp_path / "broken")
    assert coordinate(job, line, tmp_path / "broken" / "coordinator") == outcome
    for name in ("calm", "broken"):
        folder = tmp_path / name
        assemble(folder / "run", folder / "coordinator" / "run", parts(folder, "run", job.parties))
    assert largest_difference(tmp_path / "calm" / "run", tmp_path / "broken" / "run") == 0.0


# --- refusals --------------------------------------------------------------------------------------------------------


def refused(job, folder, words, error=PriveeError, tables=None) -> None:
    line, _ = line_to(job, folder, tables)
    with pytest.raises(error, match=words):
        coordinate(job, line, folder / "coordinator")
    assert not list(folder.glob("*/run"))  # nothing of the new run is anywhere


def test_what_cannot_be_started_from_is_refused_with_one_line(tmp_path):
    plain = finished(digits_job("mlp", 2), tmp_path)
    job = sealed(plain)
    refused(
        dataclasses.replace(job, start_from="other"), tmp_path, "site active: there is no finished run called other"
    )
    refused(dataclasses.replace(job, model="logistic"), tmp_path, "has other model than this one")
    other = dataclasses.replace(job.training, seed=5)
    refused(dataclasses.replace(job, training=other), tmp_path, "site .*: the data changed since the run plain")
    shutil.move(tmp_path / "coordinator" / "plain", tmp_path / "away")
    refused(job, tmp_path, "no finished run called plain at the server")
    shutil.move(tmp_path / "away", tmp_path / "coordinator" / "plain")
    shutil.move(tmp_path / SITE / "plain" / "model.safetensors", tmp_path / "away")
    refused(job, tmp_path, f"site {SITE}: there is no finished run called plain here", SiteError)
    shutil.move(tmp_path / "away", tmp_path / SITE / "plain" / "model.safetensors")
    line, _ = line_to(job, tmp_path)
    coordinate(job, line, tmp_path / "coordinator")
    again = dataclasses.replace(job, run="again", start_from="run")
    line, _ = line_to(again, tmp_path)
    with pytest.raises(PriveeError, match="the run run has seals or embedding defenses"):
        coordinate(again, line, tmp_path / "coordinator")


def test_a_site_whose_table_changed_does_not_send_the_new_values(tmp_path):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    own = own_tables(tmp_path, files)
    plain = finished(table_job(parties), tmp_path, own)
    text = files["shop"].read_text().splitlines()
    (one, here), (other, there) = (line.split(",", 1) for line in text[1:3])
    assert here != there
    files["shop"].write_text("\n".join([text[0], f"{one},{there}", f"{other},{here}", *text[3:]]))
    refused(sealed(plain), tmp_path, "site shop: the data changed since the run plain", SiteError, own)


def test_a_site_that_insists_on_a_seal_sends_no_embedding_again(tmp_path):
    job = sealed(finished(digits_job("mlp", 2), tmp_path), "codes=4")
    ask = Asker(tmp_path, job, seal="codes=8")
    hello = Note("hello", {"version": __version__, "job": job.as_dict()})
    ask.refuses(hello, "sends its embeddings once more; leave out --start-from")


def test_only_a_sealed_run_starts_from_another(tmp_path):
    job = digits_job("mlp", 2)
    with pytest.raises(SettingError, match="only a run with seals"):
        dataclasses.replace(job, start_from="plain")
    with pytest.raises(SettingError, match="a name of its own"):
        dataclasses.replace(job, start_from="run", seals={SITE: Seal()})
    with pytest.raises(SettingError, match="names of runs"):
        dataclasses.replace(job, start_from="../other", seals={SITE: Seal()})
    assert "start_from" not in job.as_dict()
