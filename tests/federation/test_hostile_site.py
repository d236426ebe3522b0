"""A site that lies to the coordinator: one clear line, bounded, and nobody else is harmed."""

import dataclasses
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError, SiteLostError
from privee.federation.site.executor import NumberedReplies
from privee.federation.wire.frames import Content, Frame, Note, SiteFailure, decode, encode
from privee.vfl.messages import (
    Embedding,
    LogitGradient,
    Logits,
    Report,
    ReportRequest,
    Work,
)
from privee.vfl.weights import load_tensors
from tests._support.federation import SESSION, line_to, own_tables, table_job, write_tables

SECONDS, MEMORY = 20.0, 256 << 20
Bend = Callable[[Frame, Frame], bytes]


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory) -> None:
    """Torch loads much at the first training step; that is nobody's time or memory here."""
    folder = tmp_path_factory.mktemp("warm")
    job = digits_job("mlp", 2, epochs=1)
    coordinate(job, line_to(job, folder)[0], folder / "coordinator")


class Bent:
    """An honest site whose answers to some requests are bent on the way out."""

    def __init__(self, door: NumberedReplies, when: Callable[[Content], bool], bend: Bend, after: int = 0) -> None:
        self._door, self._when, self._bend, self._left = door, when, bend, after

    def answer(self, data: bytes) -> bytes:
        request, reply = decode(data), self._door.answer(data)
        if not self._when(request.content):
            return reply
        self._left -= 1
        if self._left >= 0:
            return reply
        if not tracemalloc.is_tracing():  # from here on it counts; tracing is slow
            tracemalloc.start()
        return self._bend(request, decode(reply))


def saying(content: Content) -> Bend:
    """Another content under the right step."""
    return lambda request, reply: encode(Frame(SESSION, request.step, content))


def with_numbers(values: torch.Tensor, kind: type = Embedding) -> Bend:
    return saying(kind(values))


def with_last(number: float, dtype: str = "<f4") -> Bend:
    """The last number of the reply replaced by one that no honest site can send."""

    def bend(request: Frame, reply: Frame) -> bytes:
        data, raw = encode(reply), np.array(number, dtype).tobytes()
        return data[: -len(raw)] + raw

    return bend


def with_values(name: str, **values: object) -> Bend:
    """A note with other values."""
    return lambda request, reply: encode(Frame(SESSION, request.step, Note(name, dict(reply.content.values) | values)))


def raw_note(text: bytes) -> Bend:
    good = encode(Frame(SESSION, 0, Note("x")))
    head = len(good) - len(b'["x",{}]') - 4

    def bend(request: Frame, reply: Frame) -> bytes:
        step = encode(Frame(SESSION, request.step, Note("x")))[:head]
        return step + len(text).to_bytes(4, "little") + text

    return bend


def training(content: Content) -> bool:
    return isinstance(content, Work) and content.train and content.rows is not None


def note(name: str) -> Callable[[Content], bool]:
    return lambda content: isinstance(content, Note) and content.name == name


def kind(wanted: type) -> Callable[[Content], bool]:
    return lambda content: isinstance(content, wanted)


def run_against(job, folder: Path, site: str, when, bend: Bend, after: int = 0, tables=None) -> tuple[str, float, int]:
    """A job with one hostile site: what was said, how long it took and how much memory."""
    line, loop = line_to(job, folder, tables)
    loop.doors[site] = Bent(loop.doors[site], when, bend, after)
    started = time.monotonic()
    try:
        with pytest.raises(SiteError) as caught:
            coordinate(job, line, folder / "coordinator")
        return str(caught.value), time.monotonic() - started, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check(folder: Path, said: tuple[str, float, int], site: str, words: str) -> None:
    """One line that names the site, in bounded time and memory, and no part of a run that looks finished."""
    text, seconds, memory = said
    assert text.startswith(f"site {site}") or site in text
    assert words in text
    assert text.isprintable()
    assert len(text) < 700
    assert seconds < SECONDS
    assert memory < MEMORY
    assert not list(folder.glob("**/model.safetensors"))
    assert not list(folder.glob("**/*.partial"))


BATCH = 128
EMBEDDINGS = {
    "rows too few": (with_numbers(torch.zeros(BATCH - 1, 64)), "shape (127, 64), not (128, 64)"),
    "rows too many": (with_numbers(torch.zeros(300_000, 64)), "shape (300000, 64)"),
    "no rows": (with_numbers(torch.zeros(0, 64)), "shape (0, 64)"),
    "width": (with_numbers(torch.zeros(BATCH, 65)), "shape (128, 65)"),
    "three sides": (with_numbers(torch.zeros(BATCH, 64, 1)), "shape (128, 64, 1)"),
    "one number": (with_numbers(torch.tensor(1.0)), "shape ()"),
    "doubles": (with_numbers(torch.zeros(BATCH, 64, dtype=torch.float64)), "torch.float64"),
    "nothing": (saying(Embedding(None)), "shape None"),
    "nan": (with_last(float("nan")), "not finite"),
    "inf": (with_last(float("inf")), "not finite"),
    "half": (lambda request, reply: encode(reply)[:1000], "cut off"),
    "more": (lambda request, reply: encode(reply) + b"x", "longer"),
    "empty": (lambda request, reply: b"", "cut off"),
    "rubbish": (lambda request, reply: bytes(5000), "not a message"),
    "endless": (lambda request, reply: encode(reply)[:33] + b"\x01\x02" + b"\xff" * 8, "too large"),
    "promise": (lambda request, reply: encode(reply)[:33] + b"\x01\x02\0\0\1\0\xff\x0f\0\0", "cut off"),
    "another kind": (saying(Report(0.1, 0.5, 3)), "answered Work with Report"),
    "a note": (saying(Note("done")), "with a note"),
    "another session": (lambda r, reply: encode(dataclasses.replace(reply, session=b"x" * 16)), "another message"),
    "another step": (lambda r, reply: encode(dataclasses.replace(reply, step=reply.step + 1)), "another message"),
    "a long failure": (
        lambda r, reply: encode(Frame(SESSION, r.step, SiteFailure("")))[:33] + b"\x1b[2J\n" * 200_000,
        "[2J",
    ),
}


@pytest.mark.parametrize("how", EMBEDDINGS)
def test_an_embedding_that_is_none_ends_the_job_by_the_sites_name(tmp_path, how):
    bend, words = EMBEDDINGS[how]
    said = run_against(digits_job("mlp", 2), tmp_path, "passive-1", training, bend)
    check(tmp_path, said, "passive-1", words)


def test_an_old_reply_is_not_taken_for_a_new_one(tmp_path):
    kept: list[bytes] = []

    def replay(request, reply):
        kept.append(encode(reply))
        return kept[max(0, len(kept) - 2)]

    check(tmp_path, run_against(digits_job("mlp", 2), tmp_path, "passive-1", training, replay), "passive-1", "another")


ACTIVE = {
    "gradient of another shape": (kind(Logits), with_numbers(torch.zeros(BATCH, 9), LogitGradient), "shape (128, 9)"),
    "no gradient": (kind(Logits), saying(LogitGradient(None)), "shape None, not (128, 10)"),
    "gradient not finite": (kind(Logits), with_last(float("nan")), "not finite"),
    "report on other rows": (kind(ReportRequest), saying(Report(0.1, 0.9, 5)), "reports on 5 rows"),
    "report without sense": (kind(ReportRequest), lambda r, reply: encode(reply)[:-16] + b"\xff" * 16, "no sense"),
}


@pytest.mark.parametrize("how", ACTIVE)
def test_an_active_party_that_lies_is_named(tmp_path, how):
    when, bend, words = ACTIVE[how]
    check(tmp_path, run_against(digits_job("mlp", 2), tmp_path, "active", when, bend), "active", words)


NOTES = {
    "fewer records": ("passive-1", "encode", with_values("encode", rows=5, train=3), "do not hold the same records"),
    "no number": ("passive-1", "encode", with_values("encode", rows="many"), "no sensible number"),
    "yes": ("passive-1", "encode", with_values("encode", rows=True, train=True), "no sensible number"),
    "negative": ("passive-1", "encode", with_values("encode", rows=-1, train=-1), "no sensible number"),
    "endless": ("active", "encode", with_values("encode", rows=2**31, train=2**31), "no sensible number"),
    "none": ("passive-1", "encode", saying(Note("encode")), "no sensible number"),
    "deep": ("passive-1", "encode", raw_note(b'["x",{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}]"), "not readable"),
    "a long number": ("passive-1", "encode", raw_note(b'["x",{"a":' + b"9" * 100_000 + b"}]"), "not readable"),
    "half a character": ("passive-1", "encode", raw_note(b'["x",{"a":"\\ud800"}]'), "not readable"),
    "no note": ("passive-1", "encode", saying(Embedding(None)), "answered a note with Embedding"),
    "no classes": ("active", "encode", with_values("encode", classes=[]), "different classes"),
    "one class twice": ("active", "encode", with_values("encode", classes=["a", "a"]), "different classes"),
    "too many classes": ("active", "encode", with_values("encode", classes=list(map(str, range(20_000)))), "different"),
    "classes that are numbers": ("active", "encode", with_values("encode", classes=[1, 2]), "named no classes"),
    "a path": ("passive-1", "finish", with_values("finish", files={"../../x": "0" * 64}), "which files"),
    "no files": ("passive-1", "finish", saying(Note("finish")), "which files"),
}


@pytest.mark.parametrize("how", NOTES)
def test_a_note_that_lies_ends_the_job_by_the_sites_name(tmp_path, how):
    site, name, bend, words = NOTES[how]
    job = digits_job("logistic", 2, epochs=1)
    text, seconds, memory = run_against(job, tmp_path, site, note(name), bend)
    assert site in text
    assert words in text
    assert seconds < SECONDS
    assert memory < MEMORY
    assert not list((tmp_path / "coordinator").glob("**/model.safetensors"))


def test_checksums_that_are_none_are_refused(tmp_path):
    files = {"model.safetensors": "short", "party.json": "0" * 64}
    bend = with_values("finish", files=files)
    said = run_against(digits_job("logistic", 2, epochs=1), tmp_path, "passive-1", note("finish"), bend)
    assert "site passive-1 sent something else than checksums" in said[0]


@pytest.mark.parametrize("body", [b"", b"x" * 1000, bytes(100_000)])
def test_a_bad_alignment_message_is_blamed_on_its_sender(tmp_path, body):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    own = own_tables(tmp_path, files)
    bend = saying(Note("align", {}, body))
    said = run_against(table_job(parties), tmp_path, "shop", note("align"), bend, tables=own)
    check(tmp_path, said, "shop", "shop")


def test_a_site_that_names_no_column_is_refused(tmp_path):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    own = own_tables(tmp_path, files)
    bend = with_values("hello", id_column=["x"] * 1000)
    said = run_against(table_job(parties), tmp_path, "shop", note("hello"), bend, tables=own)
    check(tmp_path, said, "shop", "named no column as its id column")


def test_who_answers_half_of_the_time_is_lost_in_time(tmp_path):
    job = dataclasses.replace(digits_job("logistic", 2), answer_seconds=0.3)
    line, loop = line_to(job, tmp_path)
    loop.tamper = lambda site, data: [] if site == "passive-1" and training(decode(data).content) else [data]
    started = time.monotonic()
    with pytest.raises(SiteLostError, match=r"site passive-1 did not answer in 0\.3 s"):
        coordinate(job, line, tmp_path / "coordinator")
    assert time.monotonic() - started < SECONDS


def test_an_attack_in_mid_run_harms_nobodys_part(tmp_path):
    """The others go on from their checkpoints when the site is honest again, and end as if nothing had been."""
    job = digits_job("mlp", 3, epochs=3)
    calm, _ = line_to(job, tmp_path / "calm")
    coordinate(job, calm, tmp_path / "calm" / "coordinator")
    broken = tmp_path / "broken"
    run_against(job, broken, "passive-1", training, with_numbers(torch.zeros(BATCH, 65)), after=10)
    again, _ = line_to(job, broken)
    coordinate(job, again, broken / "coordinator")
    for site in job.parties:
        a, b = (load_tensors(tmp_path / x / site / "run" / "model.safetensors", site) for x in ("calm", "broken"))
        assert all(torch.equal(a[name], b[name]) for name in a)
