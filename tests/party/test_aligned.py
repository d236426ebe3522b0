"""Only ids that all parties hold are known: real processes, tables in files and databases, two and three parties."""

import contextlib
import itertools
import sqlite3
from pathlib import Path

import httpx
import numpy as np
import pytest

from privee.data.alignment import align_files
from privee.defenses.secret_keys import read_key
from privee.durable.private_files import key_file
from privee.errors import PriveeError
from privee.gateway.demo import World
from privee.gateway.ledger.ledger import Ledger
from privee.party.stores import Source, open_store
from privee.processes import ServerProcess, start_party
from privee.vfl.experiment import train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.run_format import PartyDescription
from tests._support.gateway_world import MODEL, body
from tests._support.party_world import TINY

INFER = f"/v2/models/{MODEL}/infer"
TWO, THREE = {"bank": "csv", "shop": "db"}, {"bank": "db", "shop": "csv", "phone": "db"}
COMMON, LATER, GONE = "in all, süd 1", "in all, later", "in all, süd 7"


def holders(parties: list[str]) -> dict[str, tuple[str, ...]]:
    """Ids and who holds them at training: 40 held by all, one for each other group of parties."""
    groups = (group for size in range(1, len(parties)) for group in itertools.combinations(parties, size))
    return {f"in all, süd {k}": tuple(parties) for k in range(40)} | {f"only {'+'.join(g)}": g for g in groups}


def write_table(folder: Path, party: str, ids: list[str]) -> None:
    """The same rows as CSV and as a table of tables.db."""
    rng = np.random.default_rng(len(party))
    rows = [(entity, float(rng.integers(0, 99)), float(k % 7), "yn"[k % 2]) for k, entity in enumerate(ids)]
    lines = [f'"{entity}",{one},{two},{risk}' for entity, one, two, risk in rows]
    text = "\n".join(["customer,one,two,risk", *lines]) + "\n"
    if party != "bank":
        text = "\n".join(line.rsplit(",", 1)[0] for line in text.splitlines()) + "\n"
    (folder / f"{party}.csv").write_text(text, encoding="utf-8")
    with contextlib.closing(sqlite3.connect(folder / "tables.db")) as database, database:
        database.execute(f"DROP TABLE IF EXISTS {party}")
        database.execute(f"CREATE TABLE {party} (customer TEXT, one REAL, two REAL, risk TEXT)")
        database.executemany(f"INSERT INTO {party} VALUES (?, ?, ?, ?)", rows)  # noqa: S608


def make_run(folder: Path, parties: list[str]) -> World:
    """A run on tables as they were, and the tables of today: one customer more at all, one less at the bank."""
    held = holders(parties)
    for party in parties:
        write_table(folder, party, [entity for entity, by in held.items() if party in by])
    files = {party: folder / f"{party}.csv" for party in parties}
    columns = dict.fromkeys(files, "customer")
    data = from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.3, seed=1)
    world = World(folder)
    train_run(world.run, data, "logistic", TINY)
    for party in parties:
        today = [entity for entity, by in (held | {LATER: parties}).items() if party in by]
        write_table(folder, party, [entity for entity in today if (party, entity) != ("bank", GONE)])
    return world


def served_from(folder: Path, party: str, kind: str) -> list[str]:
    file = folder / f"{party}.csv"
    return ["--data", str(file)] if kind == "csv" else ["--data", f"sqlite:///{folder / 'tables.db'}", "--table", party]


@contextlib.contextmanager
def asking(world: World, parties: dict[str, str]):
    """A client of a gateway before parties that all run; the bank's columns are two."""
    with key_file(world.ledger_key):
        Ledger.create(world.ledger_url, read_key(world.ledger_key))
    with contextlib.ExitStack() as stack:
        started = {
            name: start_party(
                world.run / "parties" / name, served_from(world.folder, name, kind), None, world.folder / f"{name}.log"
            )
            for name, kind in parties.items()
        }
        for process in started.values():
            stack.callback(process.stop)
        addresses = [f"--party={name}={process.wait_ready().address}" for name, process in started.items()]
        ledger = ["--ledger", world.ledger_url, "--ledger-key", str(world.ledger_key)]
        options = ["-d", "privee-u:rho=0.1", "--releases", "1000", "--variants", "none", "--port", "0"]
        gateway = stack.enter_context(
            ServerProcess(
                ["gateway", "serve", str(world.run), *addresses, *ledger, *options],
                world.folder / "gateway.ready",
                world.folder / "gateway.log",
            )
        )
        key = {"Authorization": f"Bearer {world.api_key('consumer')}"}
        with httpx.Client(base_url=gateway.wait_ready().ready["url"], headers=key) as client:
            yield client


def answer(client: httpx.Client, entities: list[str], *, columns: bool) -> tuple[int, dict]:
    given = body(*entities)["inputs"]
    if columns:
        shape = [len(entities), 2]
        given.append({"name": "columns", "shape": shape, "datatype": "FP32", "data": [0.5] * 2 * len(entities)})
    found = client.post(INFER, json={"inputs": given})
    return found.status_code, found.json()


@pytest.mark.parametrize("parties", [TWO, THREE], ids=["two", "three"])
def test_ids_outside_the_joint_set_are_unknown_whoever_holds_them(parties, tmp_path):
    world = make_run(tmp_path, list(parties))
    outside = [entity for entity, by in holders(list(parties)).items() if len(by) < len(parties)]
    outside += [LATER, GONE, "nobody", "in all, süd 1 ", "IN ALL, SÜD 1"]
    with asking(world, parties) as client:
        answers = [answer(client, [one], columns=columns) for one in outside for columns in (False, True)]
        for columns in (False, True):
            assert answer(client, [COMMON], columns=columns)[0] == 200
            status, told = answer(client, [COMMON, *outside, COMMON], columns=columns)
            assert (status, told["positions"]) == (404, list(range(1, len(outside) + 1)))
    assert answers[0] == (404, answers[0][1])
    assert answers[0][1]["positions"] == [0]
    assert all(one == answers[0] for one in answers)


# The store alone: what --aligned can say.


@pytest.fixture(scope="module", name="world")
def two_parties(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_run(tmp_path_factory.mktemp("aligned"), list(TWO))


def known(world: World, party: str, kind: str, entities: list[str], aligned: object = None) -> list[bool]:
    folder = world.run / "parties" / party
    file = str(world.folder / f"{party}.csv")
    where = (file, None) if kind == "csv" else (f"sqlite:///{world.folder / 'tables.db'}", party)
    source = Source(*where, aligned=None if aligned is None else str(aligned))
    with contextlib.closing(open_store(folder, PartyDescription.read(folder), source)) as store:
        found = store.find(entities)
    assert not found.columns[found.unknown].any()
    return (~found.unknown).tolist()


@pytest.mark.parametrize("kind", ["csv", "db"])
@pytest.mark.parametrize("party", list(TWO))
def test_a_newer_alignment_takes_the_place_of_the_runs(world, party, kind, tmp_path):
    asked = [COMMON, f"only {party}", LATER, "nobody"]
    assert known(world, party, kind, asked) == [True, False, False, False]
    files = {name: world.folder / f"{name}.csv" for name in TWO}
    columns = dict.fromkeys(files, "customer")
    found = align_files(files, active="bank", id_columns=columns, out=tmp_path)
    assert known(world, party, kind, asked, found.out[party]) == [True, False, True, False]
    (tmp_path / "list.csv").write_text(f'customer\n"{LATER}"\n"not here"\n', encoding="utf-8")
    assert known(world, party, kind, [*asked, "not here"], tmp_path / "list.csv") == [False, False, True, False, False]
    assert known(world, party, kind, asked, world.run / "parties" / party / "aligned.parquet")[0]
    assert known(world, party, kind, asked, "all") == [True, True, True, False]


def test_a_database_is_not_asked_for_ids_that_are_not_aligned(world, monkeypatch):
    """Else the time it takes would tell whom the party knows."""
    from privee.party.sql_store import SqlStore

    asked: list[str] = []
    find = SqlStore.find
    monkeypatch.setattr(SqlStore, "find", lambda self, ids: asked.extend(ids) or find(self, ids))
    assert known(world, "shop", "db", ["only shop", "nobody", LATER]) == [False] * 3
    assert asked == []
    assert known(world, "shop", "db", ["only shop", COMMON, "nobody"]) == [False, True, False]
    assert asked == [COMMON]


def test_without_aligned_ids_a_party_does_not_start_unless_told(world, tmp_path):
    """A run of an older privee: one line that says what to do."""
    older = tmp_path / "bank"
    older.mkdir()
    for name in ("party.json", "preprocessing.json", "model.safetensors"):
        (older / name).write_bytes((world.run / "parties" / "bank" / name).read_bytes())
    data = ["--data", str(world.folder / "bank.csv")]
    words = r"holds no aligned\.parquet.*train again, give them with --aligned FILE.*or --aligned all"
    with pytest.raises(PriveeError, match=words):
        start_party(older, data, None, tmp_path / "log").wait_ready()
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    with start_party(older, [*data, "--aligned", "all"], None, tmp_path / "log") as party:
        assert party.wait_ready().address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kunde\n1\n", "has no column 'customer'"),
        ("customer\nelsewhere\n", "bank.csv holds none of the ids that all parties hold"),
        ('customer,x\n"",1\n', "has no id at data row 1"),
    ],
)
def test_alignments_that_cannot_be_used_are_told(world, text, words, tmp_path):
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    with pytest.raises(PriveeError, match=words) as caught:
        known(world, "bank", "csv", [COMMON], tmp_path / "list.csv")
    assert "elsewhere" not in str(caught.value)
