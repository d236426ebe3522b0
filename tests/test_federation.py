"""A federated run in one process, in real bytes: same result, each step once, nothing private crosses."""

import dataclasses

import numpy as np
import pyarrow.parquet as arrow_parquet
import pytest
import torch

from privee.atomic import read_json, write_json
from privee.data.tables import ALIGNED
from privee.errors import PriveeError
from privee.federation.coordinator.exchange import Exchange
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError, SiteLostError
from privee.federation.kits.policy import GUARD
from privee.federation.kits.simulator import assemble
from privee.federation.kits.start import serve_kit
from privee.federation.settings import SiteSettings
from privee.federation.site import executor
from privee.federation.site.executor import NumberedReplies
from privee.federation.wire.frames import Failure, Frame, Note, decode, encode
from privee.federation.wire.reply_checks import ReplyChecks
from privee.federation.wire.tensors import Packing
from privee.vfl.experiment import train_run
from privee.vfl.joint_data import from_tables
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
from privee.vfl.runs import RunFolder
from privee.vfl.weights import load_tensors
from tests.support_federation import (
    SESSION,
    Loop,
    digits_job,
    door_of,
    largest_difference,
    line_to,
    own_tables,
    same_as_local,
    table_job,
    write_tables,
)

# --- each step once --------------------------------------------------------------------------------------------------


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
    assert isinstance(ask(door, 1), Failure)  # late
    assert isinstance(ask(door, 4), Failure)  # skips one
    assert isinstance(ask(door, 2, "other"), Failure)  # another message under a number that was used
    assert isinstance(ask(door, 3, session=b"x" * 16), Failure)  # another job's
    assert isinstance(decode(door.answer(b"rubbish")).content, Failure)
    assert len(handled) == 2
    assert ask(door, 3) == Note("done", {"count": 3})


def test_a_bug_at_a_site_tells_its_kind_and_no_value():
    def handle(content):
        raise RuntimeError("secret 42")

    reply = ask(NumberedReplies(handle, SESSION), 1)
    assert isinstance(reply, Failure)
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


# --- the same result -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
@pytest.mark.parametrize("parties", [2, 3, 5])
def test_the_same_weights_as_a_local_run(kind, parties, tmp_path):
    job = digits_job(kind, parties, patience=2, seed=7)
    line = same_as_local(job, tmp_path)
    assert {"training work", "training logits"} <= set(line.cost.as_dict()["kinds"])  # and it did cross the line


def test_own_tables_are_aligned_in_the_job(tmp_path):
    parties = ("bank", "shop", "phone")
    files = write_tables(tmp_path, parties)
    job = table_job(parties)
    own = own_tables(tmp_path, files)
    line, loop = line_to(job, tmp_path, own)
    found = coordinate(job, line, tmp_path / "coordinator")
    assemble(tmp_path / "run", tmp_path / "coordinator" / "run", {s: tmp_path / s / "run" for s in parties})
    columns = dict.fromkeys(parties, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="digit", test_share=0.2, seed=0)
    expected = train_run(tmp_path / "local", data, "mlp", job.training)
    assert largest_difference(tmp_path / "local", tmp_path / "run") <= 1e-6
    assert found.test == expected.test
    for file in sorted((tmp_path / "local" / "parties").glob("*/*.json")):
        assert read_json(file) == read_json(tmp_path / "run" / file.relative_to(tmp_path / "local"))
    common = {"customer": list(data.ids)}
    for site in parties:  # the ids that all hold are at every site, and not at the coordinator
        assert arrow_parquet.read_table(tmp_path / "run" / "parties" / site / ALIGNED).to_pydict() == common
        assert (tmp_path / site / "run" / ALIGNED).stat().st_mode & 0o077 == 0
    assert not list((tmp_path / "coordinator").rglob(ALIGNED))
    everything = b"".join(part for _, sent, reply in loop.crossed for part in (sent, reply))
    assert b"id-0" not in everything  # no id crosses in the clear
    RunFolder.open(tmp_path / "run").check_files()


def test_a_passive_site_does_not_take_part_with_a_label_column(tmp_path):
    parties = ("bank", "shop")
    files = write_tables(tmp_path, parties)
    own = own_tables(tmp_path, files)
    job = table_job(("shop", "bank"))  # a job that makes the wrong party the active one
    line, _ = line_to(job, tmp_path, own)
    with pytest.raises(SiteError, match="label column"):
        coordinate(job, line, tmp_path / "coordinator")


def test_reduced_embeddings_train_nearly_as_well(tmp_path):
    found = {}
    for packing in Packing:
        job = dataclasses.replace(digits_job("mlp", 2, epochs=8), packing=packing)
        line, _ = line_to(job, tmp_path / packing)
        found[packing] = (coordinate(job, line, tmp_path / packing / "c").test.accuracy, line.cost.received)
    assert found["exact"][1] > 1.8 * found["fp16"][1] > 3 * found["int8"][1]
    assert all(accuracy > found["exact"][0] - 0.02 for accuracy, _ in found.values())


# --- after a failure -------------------------------------------------------------------------------------------------


def test_a_lost_site_comes_back_and_the_result_is_the_same(tmp_path):
    """The site's process is new: all it has is its files."""
    job = digits_job("mlp", 3, epochs=4, patience=3)
    unbroken, _ = line_to(job, tmp_path / "unbroken")
    coordinate(job, unbroken, tmp_path / "unbroken" / "coordinator")
    broken = dataclasses.replace(job, answer_seconds=0.05)
    line, loop = line_to(broken, tmp_path / "broken")
    steps = {"passive-2": 0}

    def tamper(site, data):
        content = decode(data).content
        if site == "passive-2" and isinstance(content, Work) and content.train:
            steps[site] += 1
        return [] if site == "passive-2" and steps[site] > 20 else [data]  # dies in the third epoch

    loop.tamper = tamper
    with pytest.raises(SiteLostError, match="passive-2"):
        coordinate(broken, line, tmp_path / "broken" / "coordinator")
    again, _ = line_to(job, tmp_path / "broken")
    asked = []
    coordinate(job, again, tmp_path / "broken" / "coordinator", on_step=lambda epoch, *_: asked.append(epoch))
    assert min(asked) == 3  # and not from the beginning
    for site in job.parties:
        a, b = (load_tensors(tmp_path / x / site / "run" / "model.safetensors", site) for x in ("unbroken", "broken"))
        assert all(torch.equal(a[name], b[name]) for name in a)
    metrics = [(tmp_path / x / "coordinator" / "run" / "metrics.jsonl").read_text() for x in ("unbroken", "broken")]
    assert metrics[0] == metrics[1]


def test_a_run_is_not_mixed_with_another(tmp_path):
    job = digits_job("logistic", 2)
    line, _ = line_to(job, tmp_path)
    coordinate(job, line, tmp_path / "coordinator")
    line, _ = line_to(job, tmp_path)
    with pytest.raises(PriveeError, match="finished"):
        coordinate(job, line, tmp_path / "coordinator")
    other = digits_job("logistic", 2, epochs=3)
    line, _ = line_to(other, tmp_path)
    with pytest.raises(SiteError, match="other settings"):
        coordinate(other, line, tmp_path / "elsewhere")


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


def test_names_that_could_leave_a_folder_are_refused():
    for run in ("../evil", "a/b", "", ".hidden", "a b"):
        with pytest.raises(PriveeError, match="names of runs"):
            dataclasses.replace(digits_job("logistic", 2), run=run)


def test_site_settings_stay_readable(tmp_path):
    own = SiteSettings(folder=tmp_path / "parts", data=tmp_path / "t.csv", id_column="id", label="y")
    own.write(tmp_path, "bank")
    assert SiteSettings.read(tmp_path, "bank", tmp_path) == own
    assert SiteSettings.read(tmp_path, "shop", tmp_path / "x") == SiteSettings(folder=tmp_path / "x")
    (tmp_path / "privee-shop.json").write_text('{"password": "x"}')
    with pytest.raises(PriveeError, match="may only say"):
        SiteSettings.read(tmp_path, "shop", tmp_path)
    (tmp_path / "privee-shop.json").write_text('{"data": 5}')
    with pytest.raises(PriveeError, match="strings and nulls"):
        SiteSettings.read(tmp_path, "shop", tmp_path)


@pytest.mark.parametrize("broken", ["{", '{"password": "x"}', '{"data": 5}'])
def test_a_site_with_broken_settings_says_so_and_not_where_it_keeps_them(broken, tmp_path):
    job = digits_job("logistic", 2)
    line, loop = line_to(job, tmp_path)
    (tmp_path / "privee-passive-1.json").write_text(broken)
    loop.doors["passive-1"] = executor.door_of("passive-1", tmp_path, tmp_path / "passive-1", SESSION)
    with pytest.raises(SiteError, match=r"site passive-1: its own settings, .* cannot be read") as caught:
        coordinate(job, line, tmp_path / "coordinator")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("broken", ["{", '{"password": "x"}'])
def test_a_kit_with_broken_settings_does_not_start(broken, tmp_path):
    (tmp_path / "startup").mkdir()
    (tmp_path / "local").mkdir()
    (tmp_path / "startup" / "fed_client.json").write_text('{"client": {"fqsn": "shop"}}')
    (tmp_path / "local" / "privee-shop.json").write_text(broken)
    write_json(tmp_path / "local" / "resources.json", {"components": [GUARD], "class_allow_list": []})
    with pytest.raises(PriveeError, match=r"privee-shop\.json"):
        serve_kit(tmp_path)
