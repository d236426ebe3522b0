"""Requests that share calls, without a party: who leaves with whom, and that each ends by itself."""

import asyncio

import numpy as np
import pytest

from privee.gateway.channel.batching import BatchAnswer, Batcher
from privee.party.errors import PartyError

LARGEST = 8


def late():
    return PartyError("bank", "deadline", "did not answer")


class Party:
    """Answers each call when it is told to; an entity's embedding is its number."""

    def __init__(self):
        self.calls, self.free = [], asyncio.Event()

    async def send(self, entities, columns, expires):
        self.calls.append(entities)
        await self.free.wait()
        return BatchAnswer(np.array([[float(one)] for one in entities], dtype=np.float32), ())


def ask(batcher, *entities, seconds=30.0):
    expires = asyncio.get_running_loop().time() + seconds
    return batcher.ask(tuple(map(str, entities)), None, expires, LARGEST)


async def turns(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


def numbers(answers):
    return [answer.embeddings[:, 0].tolist() for answer in answers]


def test_those_of_one_turn_share_a_call_and_later_ones_the_next():
    async def work():
        party = Party()
        batcher = Batcher(party.send, late, in_flight=2)
        first = [ask(batcher, 1), ask(batcher, 2, 3), ask(batcher, 2)]
        assert not party.calls  # the turn is not over
        await turns()
        second = [ask(batcher, 4)]
        await turns()
        third = [ask(batcher, 5), ask(batcher, 6)]
        await turns()
        assert party.calls == [("1", "2", "3"), ("4",)]  # two in flight: the rest waits
        party.free.set()
        assert numbers(await asyncio.gather(*first, *second, *third)) == [[1], [2, 3], [2], [4], [5], [6]]
        assert party.calls == [("1", "2", "3"), ("4",), ("5", "6")]

    asyncio.run(work())


def test_no_call_is_larger_than_allowed():
    async def work():
        party = Party()
        batcher = Batcher(party.send, late, in_flight=9)
        asked = [ask(batcher, 3 * k, 3 * k + 1, 3 * k + 2) for k in range(5)]
        party.free.set()
        assert numbers(await asyncio.gather(*asked)) == [[3 * k, 3 * k + 1, 3 * k + 2] for k in range(5)]
        assert list(map(len, party.calls)) == [6, 6, 3]
        parts = await batcher.ask_in_parts(tuple(map(str, range(20))), None, 1e9, LARGEST)
        assert parts.embeddings[:, 0].tolist() == list(range(20))
        assert max(map(len, party.calls)) == LARGEST

    asyncio.run(work())


def test_each_fails_at_its_own_deadline_waiting_or_under_way():
    async def work():
        party = Party()
        batcher = Batcher(party.send, late, in_flight=1)
        patient, hasty = ask(batcher, 1), ask(batcher, 2, seconds=0.05)  # one call; the later one is due sooner
        await turns()
        queued, soon = ask(batcher, 3), ask(batcher, 4, seconds=0.1)
        for one in (hasty, soon):
            with pytest.raises(PartyError) as failed:
                await asyncio.wait_for(one, 5)
            assert failed.value.kind == "deadline"
        assert not patient.done()
        assert not queued.done()
        party.free.set()
        assert numbers([await patient, await queued]) == [[1], [3]]
        assert party.calls == [("1", "2"), ("3",)]  # who gave up is not asked about

    asyncio.run(work())


def test_one_that_is_given_up_takes_nothing_from_the_others():
    async def work():
        party = Party()
        batcher = Batcher(party.send, late)
        gone, stays = ask(batcher, 1), ask(batcher, 2)
        gone.cancel()
        await turns()
        party.free.set()
        assert numbers([await stays]) == [[2]]
        assert party.calls == [("2",)]

    asyncio.run(work())


def test_closing_fails_what_waits_and_what_is_under_way():
    async def work():
        party = Party()
        batcher = Batcher(party.send, late, in_flight=1)
        asked = [ask(batcher, 1)]
        await turns()
        asked += [ask(batcher, 2), ask(batcher, 3)]
        await batcher.close(PartyError("bank", "unreachable", "stops"))
        kinds = {error.kind for error in await asyncio.gather(*asked, return_exceptions=True)}
        assert kinds == {"unreachable"}
        await turns()
        assert party.calls == [("1",)]

    asyncio.run(work())
