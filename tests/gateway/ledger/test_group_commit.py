"""Charges that share a transaction: who goes with whom, and that each is charged, refused or failed by itself."""

import asyncio
import threading

import pytest

from privee.gateway.ledger.group_commit import MOST_AT_ONCE, GroupCommit
from privee.gateway.ledger.ledger import ChargeRequest, LedgerUnavailableError, RefusedError
from tests._support.ledger_cases import ONE, allow


class SlowLedger:
    """A ledger whose commits wait until they are let through; keeps the size of each."""

    def __init__(self, ledger, failing=()):
        self.ledger, self.sizes, self.failing = ledger, [], list(failing)
        self.free = threading.Event()

    def charge_many(self, asks):
        self.sizes.append(len(asks))
        self.free.wait(30)
        if len(self.sizes) in self.failing:
            raise LedgerUnavailableError("the disk is full")
        return self.ledger.charge_many(asks)

    def close(self):
        """The ledger is closed by whoever opened it."""


@pytest.fixture
def ledger(sqlite_url, open_ledger):
    return open_ledger(sqlite_url, allow(releases=2))


def ask(counter, entity, release):
    return counter.charge(ChargeRequest([entity], ONE, "key", release))


async def begun(slow, commits):
    while len(slow.sizes) < commits:
        await asyncio.sleep(0.001)


def test_those_of_one_turn_share_a_commit_and_those_that_come_meanwhile_the_next(ledger):
    async def work():
        slow = SlowLedger(ledger)
        counter = GroupCommit(slow, writers=1)
        first = [ask(counter, f"a{k}", f"r{k}") for k in range(5)]
        await begun(slow, 1)
        later = []
        for k in range(7):
            later.append(ask(counter, f"b{k}", f"s{k}"))
            await asyncio.sleep(0)
        assert not any(one.done() for one in (*first, *later))  # nothing is on disk yet
        slow.free.set()
        receipts = await asyncio.gather(*first, *later)
        assert [one.release_id for one in receipts] == [f"r{k}" for k in range(5)] + [f"s{k}" for k in range(7)]
        assert slow.sizes == [5, 7]
        assert {ledger.spent(f"b{k}").lifetime_releases for k in range(7)} == {1}
        await counter.close()

    asyncio.run(work())


def test_each_of_a_group_is_charged_or_refused_by_itself(ledger):
    async def work():
        slow = SlowLedger(ledger)
        counter = GroupCommit(slow, writers=1)
        asked = [ask(counter, "a" if k % 2 else f"b{k}", f"r{k}") for k in range(8)]
        slow.free.set()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert slow.sizes == [8]
        assert [isinstance(one, RefusedError) for one in outcomes] == [False] * 5 + [True, False, True]
        assert ledger.spent("a").lifetime_releases == 2
        await counter.close()

    asyncio.run(work())


def test_a_commit_that_fails_fails_its_own_alone_and_no_group_is_too_large(ledger):
    async def work():
        slow = SlowLedger(ledger, failing=[1])
        counter = GroupCommit(slow, writers=1)
        asked = [ask(counter, f"a{k}", f"r{k}") for k in range(MOST_AT_ONCE)]
        gone = ask(counter, "gone", "r-gone")
        asked += [ask(counter, f"b{k}", f"s{k}") for k in range(3)]
        await begun(slow, 1)
        gone.cancel()  # its client went away; it may be charged all the same, and holds up nobody
        slow.free.set()
        outcomes = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 20)
        assert slow.sizes == [MOST_AT_ONCE, 4]
        assert [type(one).__name__ for one in outcomes] == ["LedgerUnavailableError"] * MOST_AT_ONCE + ["Receipt"] * 3
        assert (await ask(counter, "next", "r-next")).charged == 1
        await counter.close()

    asyncio.run(work())


def test_closing_waits_for_what_was_asked_a_moment_ago(ledger):
    async def work():
        slow = SlowLedger(ledger)
        counter = GroupCommit(slow, writers=1)
        asked = ask(counter, "a", "r")
        slow.free.set()
        await counter.close()
        assert asked.result().charged == 1

    asyncio.run(work())
