"""A party that counts for itself: over gRPC, embeddings up to its limits, and codes that never change."""

import asyncio
import logging

import numpy as np
import pytest

from privee.gateway.channel.party_channel import PartyChannel
from privee.party.errors import PartyError
from privee.party.ledger import PartyLedger, PartyLimits
from privee.party.stores import MemoryStore
from tests._support.party_server import served
from tests._support.sealed_party import FakeSealed

IDS = ["anna", "berta", "clara", "dora"]


def store(fill: float = 0.5) -> MemoryStore:
    return MemoryStore(IDS, np.full((len(IDS), 32), fill, dtype=np.float32))


@pytest.fixture
def ledger(tmp_path):
    """Opens the one ledger of a test with some limits."""

    def opener(**limits) -> PartyLedger:
        return PartyLedger.open(tmp_path / "ledger.db", tmp_path / "ledger.key", PartyLimits(**limits))

    return opener


def conversation(world, work, *, held=None, **options):
    """Ask a server that answers for the active party."""

    async def both():
        async with served(world, held or store(), **options) as server:
            channel = PartyChannel({"active": str(server.address)}, None)
            try:
                return await work(channel)
            finally:
                await channel.close()

    return asyncio.run(both())


async def refused(channel: PartyChannel, *entities: str) -> PartyError:
    with pytest.raises(PartyError, match="party active refuses some of these entities") as caught:
        await channel.embeddings(list(entities))
    assert caught.value.kind == "budget"
    return caught.value


# Embeddings


def test_a_party_gives_as_many_answers_as_it_is_told_to(world, ledger, caplog):
    async def work(channel):
        first = (await channel.embeddings(["anna", "berta"]))["active"]
        assert (first == (await channel.embeddings(["anna", "clara"]))["active"]).all()
        await refused(channel, "anna")
        await refused(channel, "berta", "anna", "dora")
        await channel.embeddings(["berta", "dora", "clara"])

    with caplog.at_level(logging.INFO, "privee.gateway"):
        conversation(world, work, ledger=ledger(releases=2))
    with ledger(releases=2) as kept:
        assert [kept.spent(entity).answers for entity in IDS] == [2, 2, 2, 1]
        assert (kept.status().answered, kept.status().refused) == (3, 2)
    told = [record for record in caplog.records if record.msg == "over budget"]
    assert len(told) == 2
    assert not any(entity in str(vars(record)) for record in caplog.records for entity in IDS)


def test_another_record_is_another_variant(world, ledger):
    async def ask(channel):
        await channel.embeddings(["anna"])

    for _ in range(2):
        conversation(world, ask, ledger=ledger(variants=1))
    conversation(world, lambda channel: refused(channel, "anna"), held=store(0.25), ledger=ledger(variants=1))
    conversation(world, ask, ledger=ledger(variants=1))
    with ledger(variants=1) as kept:
        assert kept.spent("anna")[2:] == (3, 1)


def test_columns_of_the_askers_choice_are_variants_too(world, ledger):
    async def work(channel):
        for value, fits in ((0.5, True), (0.5, True), (0.25, False)):
            columns = np.full((1, 32), value, dtype=np.float32)
            if fits:
                await channel.embeddings(["anna"], columns)
            else:
                with pytest.raises(PartyError, match="refuses some"):
                    await channel.embeddings(["anna"], columns)

    conversation(world, work, ledger=ledger(variants=1))


def test_unknown_entities_are_not_counted(world, ledger):
    async def work(channel):
        for _ in range(3):
            with pytest.raises(PartyError, match="does not know 1 of the 2"):
                await channel.embeddings(["zoe", "anna"])

    conversation(world, work, ledger=ledger(releases=5))
    with ledger(releases=5) as kept:
        assert kept.spent("zoe").answers == 0
        assert kept.spent("anna").answers == 3
        assert kept.status().last["details"] == {"entities": 2, "charged": 1, "refused": 0, "unknown": 1}


def test_one_spent_entity_spoils_nobody_elses_question(world, ledger):
    """Requests that wait share a call, and the party refuses calls whole."""

    async def work(channel):
        await channel.embeddings(["anna"])
        asks = [channel.embeddings([entity]) for entity in ("berta", "clara", "anna", "dora", "berta", "anna")]
        return await asyncio.gather(*asks, return_exceptions=True)

    answers = conversation(world, work, ledger=ledger(releases=1))
    kinds = [answer.kind if isinstance(answer, PartyError) else "answered" for answer in answers]
    assert (kinds[1], kinds[3]) == ("answered", "answered")
    assert (kinds[2], kinds[5]) == ("budget", "budget")
    assert {kinds[0], kinds[4]} <= {"answered", "budget"}
    assert "answered" in (kinds[0], kinds[4])


def test_nothing_leaves_that_is_not_on_disk(world, ledger, tmp_path):
    async def work(channel):
        await channel.embeddings(["anna"])
        (tmp_path / "ledger.db-wal").unlink()
        with pytest.raises(PartyError, match="cannot write its own ledger now; see its log") as caught:
            await channel.embeddings(["berta"])
        assert caught.value.kind == "refused"

    conversation(world, work, ledger=ledger(releases=5))


# Codes


def test_a_sealed_party_says_one_thing_for_ever(world, ledger):
    async def ask(channel):
        found = [(await channel.embeddings(IDS))["active"] for _ in range(3)]
        return [one[:, 0].astype(int).tolist() for one in found]

    first = conversation(world, ask, model=FakeSealed(), ledger=ledger(bits=4))
    assert first == [first[0]] * 3
    again = conversation(world, ask, model=FakeSealed(), held=store(0.9), ledger=ledger(bits=4))  # its table changed
    assert again == first
    with ledger(bits=4) as kept:
        assert (kept.status().sealed, kept.status().answered) == (4, 6)


def test_another_seal_is_another_code_and_may_be_too_much(world, ledger):
    other = FakeSealed("07" * 32)
    conversation(world, lambda channel: channel.embeddings(["anna"]), model=FakeSealed(), ledger=ledger(bits=4))

    async def work(channel):
        await refused(channel, "berta", "anna")
        await channel.embeddings(["berta"])

    conversation(world, work, model=other, ledger=ledger(bits=4))
    with ledger(bits=4) as kept:
        assert kept.status().codes[other.sealed.seal] == {"codes": 16, "entities": 1}


def test_a_sealed_party_draws_for_those_it_knows_and_from_its_own_table(world, ledger):
    model = FakeSealed(code=7)

    async def work(channel):
        with pytest.raises(PartyError, match="does not know 1 of the 3"):
            await channel.embeddings(["anna", "zoe", "dora"])
        with pytest.raises(PartyError, match="does not know it"):
            await channel.embeddings(["zoe"])
        with pytest.raises(PartyError, match="does not take these columns"):
            await channel.embeddings(["berta"], np.full((1, 32), 0.5, dtype=np.float32))
        return (await channel.embeddings(["dora", "anna"]))["active"]

    codes = conversation(world, work, model=model, ledger=ledger())
    assert codes.dtype == np.float32
    assert codes.tolist() == [[7.0], [7.0]]
    assert [entities for _, entities in model.asked] == [["anna", "dora"], ["dora", "anna"]]
    with ledger() as kept:
        assert kept.status().sealed == 2


def test_a_code_that_cannot_be_is_not_sent(world, ledger):
    async def work(channel):
        with pytest.raises(PartyError, match="cannot write its own ledger now"):
            await channel.embeddings(["anna"])

    conversation(world, work, model=FakeSealed(code=16), ledger=ledger())
    with ledger() as kept:
        assert kept.status().sealed == 0
