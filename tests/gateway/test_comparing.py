"""The gateway's list of calls beside a party's own: who else asked, what was lost, what was changed."""

import asyncio
import contextlib
import json
import shutil
import sqlite3

import numpy as np
import pytest

from privee.gateway.call_log import CallLog
from privee.gateway.channel.party_channel import PartyChannel
from privee.gateway.comparing import Comparison, Receipt, compare
from privee.gateway.ledger.group_commit import GroupCommit
from privee.gateway.ledger.ledger import Ledger, LedgerUnavailableError, Limits
from privee.gateway.ledger.party_calls import SentCall, calls_to, is_own, new_name
from privee.party.errors import PartyError
from privee.party.ledger import PartyLedger, PartyLimits
from privee.party.stores import MemoryStore
from tests._support.commands import run
from tests._support.ledger_cases import KEY
from tests._support.party_server import served
from tests._support.party_world import make_world
from tests._support.sealed_party import FakeSealed

IDS = ["anna", "berta", "clara"]


def test_a_name_is_one_gateways_for_one_party():
    name = new_name(KEY, "bank")
    assert name != new_name(KEY, "bank")
    assert is_own(KEY, "bank", name)
    assert not is_own(KEY, "shop", name)
    assert not is_own(b"o" * 32, "bank", name)
    assert not is_own(KEY, "bank", "-")
    assert not is_own(KEY, "bank", name[:-1] + ("0" if name[-1] != "0" else "1"))


def sent(name: str, outcome: str = "answered", at: int = 5, entities: int = 2) -> SentCall:
    return SentCall(name, "bank", at, entities, outcome)


def answered(name: str, outcome: str = "answered", at: int = 5, entities: int = 2) -> Receipt:
    return Receipt(name, at, entities, outcome)


@pytest.mark.parametrize(
    ("gateway", "party", "found"),
    [
        ([sent("own")], [answered("own")], {"same": 1}),
        ([sent("own", "failed")], [answered("own")], {"same": 1}),
        ([sent("own", "failed")], [answered("own", "refused")], {"same": 1}),
        ([sent("own", "failed")], [], {}),
        ([sent("own", "refused")], [answered("own", "refused")], {"same": 1}),
        ([sent("own")], [], {"lost": 1}),
        ([sent("own", "refused")], [], {"lost": 1}),
        ([], [answered("-")], {"strange": 1}),
        ([], [answered("own")], {"unrecorded": 1}),
        ([sent("own")], [answered("own"), answered("own")], {"same": 1, "repeated": 1}),
        ([sent("own")], [answered("own", entities=3)], {"different": 1}),
        ([sent("own")], [answered("own", "refused")], {"different": 1}),
        ([sent("own", "refused")], [answered("own")], {"different": 1}),
        ([sent("own", at=9)], [answered("own", at=10)], {}),  # too young
        ([sent("own", at=10)], [], {}),
        ([sent("own", at=0)], [answered("own", at=1)], {}),  # too old
    ],
)
def test_every_kind_of_difference(gateway, party, found):
    made = compare(gateway, party, lambda name: name == "own", since=1, until=9)
    assert made == Comparison(**found)
    assert made.ok == (not found.keys() - {"same"})


# With real calls


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def places(tmp_path):
    """The gateway's ledger and its key, and a folder for the party's."""
    Ledger.create(f"sqlite:///{tmp_path / 'gateway.db'}", KEY)
    (tmp_path / "gateway.key").touch(mode=0o600)
    (tmp_path / "gateway.key").write_bytes(KEY)
    (tmp_path / "party").mkdir()
    return tmp_path


def asked(world, places, *questions, named: bool = True) -> list[str]:
    """Ask a sealed party, which gives one code for each entity; how each question ended."""
    store = MemoryStore(IDS, np.zeros((len(IDS), 32), dtype=np.float32))
    party = places / "party"

    async def work():
        ledger = Ledger.open(f"sqlite:///{places / 'gateway.db'}", KEY, limits=Limits())
        counter = GroupCommit(ledger, writers=1)
        calls = CallLog(counter)
        own = PartyLedger.open(party / "ledger.db", party / "ledger.key", PartyLimits(bits=4))
        found = []
        for seal, entities in questions:
            async with served(world, store, model=FakeSealed(seal * 32), ledger=own) as server:
                channel = PartyChannel({"active": str(server.address)}, None, calls=calls if named else None)
                try:
                    await channel.embeddings(entities)
                    found.append("answered")
                except PartyError as error:
                    found.append(error.kind)
                await channel.close()
            own = PartyLedger.open(party / "ledger.db", party / "ledger.key")
        own.close()
        await calls.close()
        await counter.close()
        return found

    return asyncio.run(work())


def compared(places, *options: str) -> tuple[int, dict]:
    words = ("ledger", "compare", "gateway.db", "party/ledger.db", "--party", "active", "--key", "gateway.key")
    code, out, err = run(*words, "--settle", "0", "--json", *options, cwd=places)
    assert out, err
    return code, json.loads(out)


def counts(found: dict) -> dict:
    return {kind: count for kind, count in found["calls"].items() if count and kind != "ok"}


def test_what_both_wrote_down_is_the_same(world, places):
    questions = [("5e", ["anna", "berta"]), ("5e", ["anna"]), ("07", ["anna"]), ("5e", ["zoe", "clara"])]
    assert asked(world, places, *questions) == ["answered", "answered", "budget", "unknown-entity"]
    code, found = compared(places)
    assert (code, found["same"], found["chain"]["ok"], counts(found)) == (0, True, True, {"same": 4})
    with Ledger.open(f"sqlite:///{places / 'gateway.db'}", KEY, limits=Limits()) as ledger, ledger.reading() as reading:
        rows = calls_to(reading, "active")
    assert sorted((row.entities, row.outcome) for row in rows) == [
        (1, "answered"),
        (1, "refused"),
        (2, "answered"),
        (2, "answered"),
    ]


def test_somebody_else_who_asked_is_found(world, places):
    asked(world, places, ("5e", ["anna"]))
    asked(world, places, ("5e", ["berta"]), ("5e", ["anna"]), named=False)
    code, found = compared(places)
    assert (code, found["same"], counts(found)) == (1, False, {"same": 1, "strange": 2})


def test_a_party_that_lost_calls_is_found(world, places):
    asked(world, places, ("5e", ["anna"]))
    for name in ("ledger.db", "ledger.db-mark"):
        shutil.copy(places / "party" / name, places / f"old-{name}")
    asked(world, places, ("5e", ["berta"]))
    for name in ("ledger.db", "ledger.db-mark"):
        shutil.copy(places / f"old-{name}", places / "party" / name)  # over the same files: the party cannot tell
    code, found = compared(places)
    assert (code, counts(found)) == (1, {"same": 1, "lost": 1})


def test_a_gateway_that_did_not_write_a_call_down_is_found(world, places):
    asked(world, places, ("5e", ["anna"]), ("5e", ["berta"]))
    with contextlib.closing(sqlite3.connect(places / "gateway.db")) as database, database:
        database.execute("DELETE FROM party_calls")
    code, found = compared(places)
    assert (code, counts(found)) == (1, {"unrecorded": 2})


def test_a_changed_log_is_not_compared(world, places):
    asked(world, places, ("5e", ["anna"]))
    with contextlib.closing(sqlite3.connect(places / "party" / "ledger.db")) as database, database:
        database.execute("DROP TRIGGER audit_log_update")
        database.execute("UPDATE audit_log SET details = replace(details, '1', '2')")
    code, found = compared(places)
    assert (code, found["same"], found["chain"]["ok"], found["calls"]) == (1, False, False, None)


def test_calls_wait_while_the_ledger_cannot_be_written(places):
    async def work():
        ledger = Ledger.open(f"sqlite:///{places / 'gateway.db'}", KEY, limits=Limits())
        counter, failures = GroupCommit(ledger, writers=1), [1, 1]
        calls, real = CallLog(counter), ledger.record_calls

        def record(rows):
            if failures:
                failures.pop()
                raise LedgerUnavailableError("away")
            real(rows)

        ledger.record_calls = record
        for _ in range(3):
            calls.note("active", calls.name("active"), 1, "answered")
            await calls._write()
        with ledger.reading() as connection:
            assert len(calls_to(connection, "active")) == 3
        await calls.close()
        await counter.close()

    asyncio.run(work())
