"""A sealed site among others it cannot trust: what it refuses, and what the coordinator takes from it."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.atomic import read_json
from privee.errors import PriveeError, SettingError
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.wire.frames import Content, Frame, Note, SiteFailure, decode, encode
from privee.federation.wire.reply_checks import ReplyChecks
from privee.version import __version__
from privee.vfl.messages import Embedding, Work
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.drawing import KEY
from privee.vfl.seal.records import CODES, read_codes
from tests._support.federation import SESSION, door_of, line_to, own_tables, table_job, write_tables

SITE = "passive-1"


def sealed_job(seal: str = "codes=8,epsilon=2", **training) -> JobSettings:
    return dataclasses.replace(digits_job("mlp", 2, **training), seals={SITE: parse_seal(seal)})


def rows_of(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int64)


class Asker:
    """Sends a sealed site one message after the other."""

    def __init__(self, folder: Path, job: JobSettings, *, insists: str | None = None) -> None:
        self.job, self._step = job, 0
        self.site, self._door = door_of(SITE, SiteSettings(folder=folder, seal=insists))

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

    def refuses(self, content: Content, words: str) -> None:
        reply = self(content)
        assert isinstance(reply, SiteFailure), reply
        assert words in reply.words

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.site.party.learner.weights().items()}

    def codes(self, count: int, train: bool = False) -> list[int]:
        reply = self(Work(None, torch.arange(count), train))
        assert isinstance(reply, Embedding), reply
        return reply.values.tolist()


# --- a site and its coordinator --------------------------------------------------------------------------------------


def test_a_site_whose_codes_are_its_own_takes_no_gradient(tmp_path):
    ask = Asker(tmp_path, sealed_job("codes=8,epsilon=2,learn=own")).ready()
    before, sent = ask.weights(), ask.codes(50)
    for wide in (8, 64):
        ask.refuses(Work(torch.ones(3, wide), rows_of(0, 1), True), "are its own; it takes no gradient")
    assert all(torch.equal(before[name], now) for name, now in ask.weights().items())
    assert ask.codes(50) == sent == ask.codes(50, train=True)


def test_a_site_learns_nothing_more_when_its_codes_are_drawn(tmp_path):
    """Nor after a restart, whatever the coordinator asks it to go back to."""
    job = sealed_job("codes=8,epsilon=1")
    ask = Asker(tmp_path, job).ready()
    assert ask(Note("save", {"epoch": 1, "best": True})) == Note("done")
    asked = ask(Work(None, rows_of(0, 1), True))
    assert asked.values.dtype == torch.uint8
    assert isinstance(ask(Work(torch.ones(2, 8), None, True)), Embedding)
    assert ask(Note("seal")) == Note("done")
    sent = ask.codes(400)
    again = Asker(tmp_path, job).ready()
    for one in (ask, again):
        assert one(Note("restore", {"epoch": 1})) == Note("done")
        assert one(Note("best", {"epoch": 1})) == Note("done")
        assert one(Note("seal")) == Note("done")
        assert one.codes(400) == sent == one.codes(400, train=True)
        before = one.weights()
        one.refuses(Work(torch.ones(400, 8), None, True), "its training is over; it takes no gradient")
        assert all(torch.equal(before[name], now) for name, now in one.weights().items())
    assert read_codes(tmp_path / "run")[1][:400].tolist() == sent


def test_before_its_codes_are_drawn_a_site_answers_for_training_records_alone(tmp_path):
    """A test record has one code in all its life; asked after every step, it would have many."""
    ask = Asker(tmp_path, sealed_job()).ready()
    training, rows = len(ask.site.data.train), len(ask.site.data.columns)
    assert training < rows
    for train in (False, True):
        ask.refuses(Work(None, rows_of(0, training), train), "records of the training alone")
    assert len(ask.codes(training)) == training
    ask(Note("seal"))
    assert len(ask.codes(rows)) == rows


def test_a_gradient_of_another_shape_changes_nothing(tmp_path):
    ask = Asker(tmp_path, sealed_job()).ready()
    assert isinstance(ask(Work(None, rows_of(0, 1), True)), Embedding)
    before = ask.weights()
    for shape in ((2, 64), (3, 8), (2,)):
        assert isinstance(ask(Work(torch.zeros(*shape), None, True)), SiteFailure)
    assert all(torch.equal(before[name], now) for name, now in ask.weights().items())


def test_a_site_that_is_not_sealed_draws_no_codes(tmp_path):
    ask = Asker(tmp_path, digits_job("mlp", 2)).ready()
    ask.refuses(Note("seal"), "not sealed in this job")
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"run.json"}


def test_a_finished_part_has_its_codes_even_if_nobody_asked_to_draw_them(tmp_path):
    ask = Asker(tmp_path, sealed_job()).ready()
    reply = ask(Note("finish"))
    assert set(reply.values["files"]) == {"model.safetensors", "party.json"}  # nothing of the secret or the codes
    assert len(read_codes(tmp_path / "run")[1]) == len(ask.site.data.columns)
    assert read_json(tmp_path / "run" / "party.json")["seal"] == ask.job.seals[SITE].as_dict()


@pytest.mark.parametrize("learn", ["joint", "own"])
def test_without_its_secret_a_site_draws_no_second_codes(learn, tmp_path):
    job = sealed_job(f"codes=8,epsilon=2,learn={learn}")
    ask = Asker(tmp_path, job).ready()
    ask(Note("seal"))
    (tmp_path / "run" / KEY).unlink()
    again = Asker(tmp_path, job)
    again.hello()
    again(Note("encode"))
    again.refuses(Note("build", {"n_classes": 10}), "codes.parquet was changed, or is of another seal")


def test_codes_of_its_own_columns_are_written_before_any_is_sent(tmp_path):
    ask = Asker(tmp_path, sealed_job("codes=8,epsilon=2,learn=own")).ready()
    written = (tmp_path / "run" / CODES).read_bytes()
    sent = ask.codes(100)
    assert read_codes(tmp_path / "run")[1][:100].tolist() == sent
    again = Asker(tmp_path, ask.job).ready()
    assert again.codes(100) == sent
    assert (tmp_path / "run" / CODES).read_bytes() == written


def test_another_runs_part_stays_out_of_reach_of_a_build_that_fails(tmp_path):
    ask = Asker(tmp_path, sealed_job()).ready()
    ask(Note("save", {"epoch": 1, "best": False}))
    other = Asker(tmp_path, sealed_job("codes=4"))
    other.hello()
    other(Note("encode"))
    other.refuses(Note("build", {"n_classes": 10}), "other settings")
    for note in (Note("forget"), Note("seal"), Note("finish"), Note("save", {"epoch": 2, "best": False})):
        other.refuses(note, "not built yet")
    assert (tmp_path / "run" / "checkpoint" / "epoch-1.safetensors").exists()
    assert not (tmp_path / "run" / CODES).exists()


def test_a_column_marked_sensitive_that_is_not_there_is_no_protection_so_the_site_refuses(tmp_path):
    for learn in ("joint", "own"):
        seal = Seal(codes=4, learn=learn, sensitive=("pixel_4_4", "salary"))
        job = dataclasses.replace(digits_job("mlp", 2), seals={SITE: seal})
        ask = Asker(tmp_path / learn, job)
        ask.hello()
        ask(Note("encode"))
        ask.refuses(Note("build", {"n_classes": 10}), "no column called 'salary', which the job marks as sensitive")
        assert not (tmp_path / learn / "run" / KEY).exists()


# --- a site that insists ---------------------------------------------------------------------------------------------

WEAKER = {
    "none": (None, "no seal for it"),
    "more codes": ("codes=16,epsilon=2,learn=own", "codes=16,epsilon=2,learn=own"),
    "a larger epsilon": ("codes=8,epsilon=2.5,learn=own", "codes=8,epsilon=2.5,learn=own"),
    "no epsilon": ("codes=8,learn=own", "codes=8,learn=own"),
    "joint": ("codes=8,epsilon=2", "codes=8,epsilon=2"),
    "more signs": ("signs=4,epsilon=2", "signs=4,epsilon=2"),
}


@pytest.mark.parametrize("how", WEAKER)
def test_a_site_takes_part_in_no_job_with_a_weaker_seal(how, tmp_path):
    text, said = WEAKER[how]
    job = digits_job("mlp", 2) if text is None else sealed_job(text)
    ask = Asker(tmp_path / "site", job, insists="codes=8,epsilon=2,learn=own")
    ask.refuses(
        Note("hello", {"version": __version__, "job": job.as_dict()}),
        f"this site takes part sealed with codes=8,epsilon=2,learn=own or tighter; the job has {said}",
    )
    ask.refuses(Note("encode"), "hello")
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    "text", ["codes=8,epsilon=2", "codes=4,epsilon=1,learn=own", "signs=3,epsilon=2", "signs=1,epsilon=1"]
)
def test_a_site_takes_part_with_the_seal_it_insists_on_or_a_tighter_one(text, tmp_path):
    Asker(tmp_path, sealed_job(text), insists="codes=8,epsilon=2").ready()


def test_a_refused_job_ends_with_one_line_that_names_the_site(tmp_path):
    parties = ("bank", "shop")
    own = own_tables(tmp_path, write_tables(tmp_path, parties))
    own["shop"] = dataclasses.replace(own["shop"], seal="codes=4")
    job = dataclasses.replace(table_job(parties), seals={"shop": Seal(codes=8)})
    line, loop = line_to(job, tmp_path, own)
    with pytest.raises(SiteError) as caught:
        coordinate(job, line, tmp_path / "coordinator")
    assert str(caught.value) == "site shop: this site takes part sealed with codes=4 or tighter; the job has codes=8"
    assert {decode(sent).content.name for _, sent, _ in loop.crossed} == {"hello"}
    line, _ = line_to(dataclasses.replace(job, seals={"shop": Seal(codes=4)}), tmp_path, own)
    coordinate(dataclasses.replace(job, seals={"shop": Seal(codes=4)}), line, tmp_path / "coordinator")


def test_what_a_site_insists_on_is_kept_in_its_kit(tmp_path):
    own = SiteSettings(folder=tmp_path / "parts", seal="codes=8,epsilon=4")
    own.write(tmp_path, "shop")
    assert SiteSettings.read(tmp_path, "shop", tmp_path) == own
    (tmp_path / "privee-shop.json").write_text('{"seal": "codes=one"}')
    with pytest.raises(PriveeError, match="must be a number"):
        SiteSettings.read(tmp_path, "shop", tmp_path)


# --- a job's settings ------------------------------------------------------------------------------------------------


def test_a_jobs_seals_are_among_its_settings_only_if_there_are_some():
    plain, job = digits_job("mlp", 2), sealed_job()
    assert "seals" not in plain.as_dict()
    assert plain.fingerprint != job.fingerprint != sealed_job("codes=8,epsilon=3").fingerprint
    assert JobSettings.from_dict(json.loads(json.dumps(job.as_dict()))) == job
    for name in ("active", "nobody"):
        with pytest.raises(SettingError, match="only a passive party can be sealed"):
            dataclasses.replace(job, seals={name: Seal()})


@pytest.mark.parametrize(
    "seals", [5, "x", [1], [["passive-1", 5]], {SITE: 5}, {SITE: {"codes": 300}}, {SITE: {"x": 1}}]
)
def test_seals_that_are_none_are_refused(seals, tmp_path):
    ask = Asker(tmp_path / "site", sealed_job())
    reply = ask.hello(seals=seals)
    assert isinstance(reply, SiteFailure)
    assert "failed with" not in reply.words
    assert not (tmp_path / "site").exists()


# --- a coordinator and its sites -------------------------------------------------------------------------------------


def bytes_of(*codes: int) -> Embedding:
    return Embedding(torch.tensor(codes, dtype=torch.uint8))


ANSWERS = {
    "numbers": (Embedding(torch.zeros(3, 64)), "is sealed, but sent an embedding instead of codes"),
    "as many numbers": (Embedding(torch.zeros(3)), "is sealed, but sent an embedding instead of codes"),
    "a code too high": (bytes_of(0, 8, 1), "sent a code that is not among the 8 of its seal"),
    "too few": (bytes_of(0, 1), r"sent codes of shape \(2,\), not \(3,\)"),
    "too many": (bytes_of(0, 1, 2, 3), r"sent codes of shape \(4,\), not \(3,\)"),
    "nothing": (Embedding(None), r"sent codes of shape None, not \(3,\)"),
}


@pytest.mark.parametrize("how", ANSWERS)
def test_a_coordinator_takes_codes_alone_from_a_sealed_site(how):
    answer, words = ANSWERS[how]
    checks = ReplyChecks(64, codes={"shop": 8})
    checks.check("shop", Work(None, rows_of(0, 1, 2), True), bytes_of(0, 7, 1))
    with pytest.raises(SiteError, match=f"site shop {words}"):
        checks.check("shop", Work(None, rows_of(0, 1, 2), True), answer)


def test_a_coordinator_takes_no_codes_from_any_other_site():
    checks = ReplyChecks(64, codes={"shop": 8})
    with pytest.raises(SiteError, match="site bank sent codes, but it is not sealed"):
        checks.check("bank", Work(None, rows_of(0, 1, 2), True), bytes_of(0, 1, 2))


@pytest.mark.parametrize(
    ("site", "answer", "words"),
    [
        (SITE, Embedding(torch.zeros(128, 64)), "instead of codes"),
        (SITE, Embedding(torch.full((128,), 8, dtype=torch.uint8)), "not among the 8"),
        ("active", Embedding(torch.zeros(128, dtype=torch.uint8)), "not sealed"),
    ],
)
def test_a_job_ends_by_the_name_of_a_site_that_lies(site, answer, words, tmp_path):
    job = sealed_job()
    line, loop = line_to(job, tmp_path)
    honest = loop.doors[site]

    class Lying:
        def answer(self, data: bytes) -> bytes:
            asked, reply = decode(data), honest.answer(data)
            training = isinstance(asked.content, Work) and asked.content.train and asked.content.rows is not None
            return encode(Frame(SESSION, asked.step, answer)) if training else reply

    loop.doors[site] = Lying()
    with pytest.raises(SiteError, match=f"site {site} .*{words}"):
        coordinate(job, line, tmp_path / "coordinator")
    assert not list(tmp_path.glob("**/model.safetensors"))
