"""Sealed sites: the same weights and codes as in one process, codes alone cross, and the site itself holds the seal."""

import dataclasses

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteLostError
from privee.federation.kits.simulator import assemble
from privee.federation.settings import JobSettings
from privee.federation.wire.frames import Note, decode
from privee.federation.wire.tensors import Packing
from privee.vfl.experiment import open_run, train_run
from privee.vfl.messages import Embedding, Work
from privee.vfl.own_tables import from_tables
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.drawing import KEY
from privee.vfl.seal.records import CODES, read_codes
from tests._support.federation import (
    assert_same_codes,
    largest_difference,
    line_to,
    own_tables,
    same_as_local,
    same_secrets,
    table_job,
    write_tables,
)


def sealed_job(seal: str, parties: int = 2, kind: str = "mlp", site: str = "passive-1", **training) -> JobSettings:
    return dataclasses.replace(digits_job(kind, parties, **training), seals={site: parse_seal(seal)})


def sent_by(loop, site):
    """What a site answered to the coordinator's messages, with what it was asked."""
    return [(decode(sent).content, decode(reply).content) for name, sent, reply in loop.crossed if name == site]


# --- the same result -------------------------------------------------------------------------------------------------

SAME = {
    "joint": ("codes=8", {}),
    "joint, drawn": ("codes=8,epsilon=2", {}),
    "joint, stopped early": ("codes=8,epsilon=2", {"epochs": 4, "patience": 1, "seed": 7}),
    "joint, pipelined": ("codes=8,epsilon=2", {"pipeline": True}),
    "signs": ("signs=3,epsilon=2", {}),
    "own": ("codes=8,learn=own", {}),
    "own, drawn": ("codes=8,epsilon=2,learn=own", {"scaling": "standard", "seed": 7}),
    "own, pipelined": ("codes=8,epsilon=2,learn=own", {"pipeline": True}),
}


@pytest.mark.parametrize("how", SAME)
def test_the_same_weights_and_codes_as_a_local_run(how, tmp_path):
    seal, training = SAME[how]
    same_as_local(sealed_job(seal, **training), tmp_path, most=0.0)


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
def test_one_sealed_site_among_three(kind, tmp_path):
    job = sealed_job("codes=4,epsilon=3", parties=3, kind=kind, site="passive-2", patience=2)
    same_as_local(job, tmp_path, most=0.0)


def test_two_sealed_sites_with_seals_of_their_own(tmp_path):
    job = digits_job("mlp", 3)
    seals = {"passive-1": Seal(codes=4, epsilon=3.0, learn="own"), "passive-2": Seal(codes=8)}
    same_as_local(dataclasses.replace(job, seals=seals), tmp_path, most=0.0)
    secrets = [(tmp_path / site / "run" / KEY).read_bytes() for site in seals]
    assert secrets[0] != secrets[1]


def test_columns_marked_sensitive_count_as_in_one_process(tmp_path):
    """Marked or not makes a difference, so it was not lost on the way."""
    found = []
    for sensitive in ((), ("pixel_4_4", "pixel_6_3")):
        seal = Seal(codes=4, learn="own", sensitive=sensitive)
        job = dataclasses.replace(digits_job("mlp", 2), seals={"passive-1": seal})
        same_as_local(job, tmp_path / str(len(sensitive)), most=0.0)
        found.append(read_codes(tmp_path / str(len(sensitive)) / "run" / "parties" / "passive-1")[1])
    assert not np.array_equal(*found)


def test_a_sealed_sites_own_table(tmp_path):
    """Codes go by the ids of the site's own table; what it kept opens as a run of `privee train`."""
    parties = ("bank", "shop", "phone")
    files = write_tables(tmp_path, parties)
    job = dataclasses.replace(table_job(parties), seals={"shop": Seal(codes=4, epsilon=2.0)})
    columns = dict.fromkeys(parties, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="digit", test_share=0.2, seed=0)
    expected = train_run(tmp_path / "local", data, "mlp", job.training, seals=job.seals)
    same_secrets(tmp_path / "local", {"shop": tmp_path / "shop" / "run"})
    line, loop = line_to(job, tmp_path, own_tables(tmp_path, files))
    found = coordinate(job, line, tmp_path / "coordinator")
    assemble(tmp_path / "run", tmp_path / "coordinator" / "run", {s: tmp_path / s / "run" for s in parties})
    assert largest_difference(tmp_path / "local", tmp_path / "run") == 0.0
    assert (found.train, found.test) == (expected.train, expected.test)
    here, there = (tmp_path / name / "parties" / "shop" for name in ("run", "local"))
    assert_same_codes(here, there)
    assert read_codes(here)[0] == list(data.ids)
    for name in (KEY, CODES):
        assert (tmp_path / "shop" / "run" / name).stat().st_mode & 0o077 == 0
    assert not [file for name in (KEY, CODES) for file in (tmp_path / "coordinator").rglob(name)]
    everything = b"".join(part for _, sent, reply in loop.crossed for part in (sent, reply))
    assert (here / KEY).read_bytes() not in everything
    opened = [open_run(tmp_path / name, files)[0].scores(torch.arange(20)) for name in ("run", "local")]
    assert np.array_equal(*opened)


# --- what crosses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", ["joint", "own"])
@pytest.mark.parametrize("pipeline", [False, True])
@pytest.mark.parametrize("packing", [Packing.EXACT, Packing.INT8])
def test_codes_alone_leave_a_sealed_site(learn, pipeline, packing, tmp_path):
    seal = Seal(codes=8, epsilon=2.0, learn=learn)
    job = dataclasses.replace(digits_job("mlp", 2, pipeline=pipeline), seals={"passive-1": seal}, packing=packing)
    line, loop = line_to(job, tmp_path)
    coordinate(job, line, tmp_path / "coordinator")
    crossed = sent_by(loop, "passive-1")
    codes = [reply.values for _, reply in crossed if isinstance(reply, Embedding) and reply.values is not None]
    assert len(codes) > 15
    assert {(one.dtype, one.ndim) for one in codes} == {(torch.uint8, 1)}
    assert all(int(one.max()) < 8 for one in codes)
    assert {type(reply) for _, reply in crossed} == {Embedding, Note}
    gradients = [ask.gradient for ask, _ in crossed if isinstance(ask, Work) and ask.gradient is not None]
    assert {one.shape[1] for one in gradients} == ({8} if learn == "joint" else set())  # as wide as the code book


def test_after_the_training_a_record_has_one_code(tmp_path):
    """Whoever asks in whatever mode, and in the coordinator's own evaluation already."""
    job = sealed_job("codes=8,epsilon=1")
    line, loop = line_to(job, tmp_path)
    coordinate(job, line, tmp_path / "coordinator")
    kept = read_codes(tmp_path / "passive-1" / "run")[1]
    crossed = sent_by(loop, "passive-1")
    sealed = [isinstance(ask, Note) and ask.name == "seal" for ask, _ in crossed].index(True)
    asked = [(ask.rows, reply.values) for ask, reply in crossed[sealed:] if isinstance(ask, Work)]
    assert sum(len(rows) for rows, _ in asked) == len(kept)  # training and test rows
    for rows, codes in asked:
        assert np.array_equal(kept[rows.numpy()], codes.numpy())
    before = [
        (ask.rows, reply.values) for ask, reply in crossed[:sealed] if isinstance(ask, Work) and ask.rows is not None
    ]
    assert any(not np.array_equal(kept[rows.numpy()], codes.numpy()) for rows, codes in before)


# --- after a failure -------------------------------------------------------------------------------------------------


def interrupted(job, folder, when) -> None:
    """A job whose sealed site falls silent from a message on."""
    broken = dataclasses.replace(job, answer_seconds=0.05, align_seconds=0.05)
    line, loop = line_to(broken, folder)
    gone = {"passive-1": False}

    def tamper(site, data):
        gone[site] = gone.get(site, False) or (site == "passive-1" and when(decode(data).content))
        return [] if gone[site] else [data]

    loop.tamper = tamper
    with pytest.raises(SiteLostError, match="passive-1"):
        coordinate(broken, line, folder / "coordinator")


def step(number: int):
    """Whether it is that training step."""
    left = [number]

    def when(content) -> bool:
        left[0] -= isinstance(content, Work) and content.train and content.rows is not None
        return left[0] < 0

    return when


MOMENTS = {
    "in the third epoch": lambda: step(20),
    "before the codes are drawn": lambda: lambda content: isinstance(content, Note) and content.name == "seal",
    "when they were": lambda: lambda content: isinstance(content, Work) and not content.train,
}


@pytest.mark.parametrize("seal", ["codes=8,epsilon=2", "codes=8,epsilon=2,learn=own"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_sealed_site_that_comes_back_ends_with_the_same_weights_and_codes(seal, moment, tmp_path):
    """Its process is new: the count of steps, the secret and the codes are in its files."""
    job = sealed_job(seal, epochs=3)
    calm, _ = line_to(job, tmp_path / "calm")
    outcome = coordinate(job, calm, tmp_path / "calm" / "coordinator")
    places = [tmp_path / name / "passive-1" / "run" for name in ("calm", "broken")]
    places[1].mkdir(parents=True)
    (places[1] / KEY).write_bytes((places[0] / KEY).read_bytes())
    interrupted(job, tmp_path / "broken", MOMENTS[moment]())
    again, _ = line_to(job, tmp_path / "broken")
    assert coordinate(job, again, tmp_path / "broken" / "coordinator") == outcome
    assert_same_codes(*places)
    runs = []
    for name in ("calm", "broken"):
        folder = tmp_path / name
        runs.append(folder / "run")
        assemble(runs[-1], folder / "coordinator" / "run", {s: folder / s / "run" for s in job.parties})
    assert largest_difference(*runs) == 0.0
