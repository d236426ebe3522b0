"""Quotas of keys: exact, durable, counted with the charge, and nobody else's budget is burnt."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from privee.gateway.budget.price import UNIT
from privee.gateway.ledger.ledger import Limits, Price, Receipt, RefusedError
from tests._support.ledger_cases import ONE, Time, allow, by, keys_of, new_key, refusal, releases, start

# Releases


def test_one_key_cannot_burn_everybodys_budget(url, open_ledger):
    """Ten requests of 1200 entities used to spend them all."""
    ledger = open_ledger(url, allow(releases=10))
    greedy = keys_of(ledger).create("greedy", "consumer", ["*"], actor="me").record.id
    everybody = [f"e{number}" for number in range(1200)]
    outcomes = ledger.charge_many([by(greedy, *everybody[start : start + 400]) for start in (0, 400, 800, 0, 400)])
    assert [isinstance(outcome, Receipt) for outcome in outcomes] == [True, True, False, False, False]
    refused = outcomes[2]
    assert (refused.quota, refused.left, refused.positions) == ("releases", 200, ())
    assert (refused.asked, refused.spent) == ({"releases": 400}, {"releases": 800})
    assert 86_000 < refused.retry_after <= 86_400
    assert "quota of releases, 1000/day, has 200 left, and it starts anew in" in str(refused)
    assert releases(ledger, "e0", "e799", "e800") == [1, 1, 0]
    assert ledger.charge(by("other", *everybody)).charged == 1200  # a key without a row has no quota
    assert (ledger.totals().releases, ledger.totals().refusals) == (3, 3)


def test_a_quota_is_exact_and_starts_anew(url, open_ledger):
    time = Time()
    ledger = open_ledger(url, allow(releases=50), time.clock())
    key_id = new_key(ledger, releases="5/minute")
    ledger.charge(by(key_id, "a", "a", "b"))
    time.elapsed += 30
    assert refusal(ledger, by(key_id, "a", "b", "c")).retry_after == 30
    assert ledger.price(["a", "b", "c"], ONE, key_id).allowed is False
    assert ledger.price(["a", "b"], ONE, key_id).allowed
    assert ledger.price(["a", "b", "c"], ONE).allowed
    ledger.charge(by(key_id, "a", "c"))
    assert refusal(ledger, by(key_id, "d")).left == 0
    assert refusal(ledger, by(key_id, *"abcdef")).retry_after is None  # more than ever fits
    time.elapsed += 29.9
    refusal(ledger, by(key_id, "d"))
    time.elapsed += 0.1
    ledger.charge(by(key_id, *"abcde"))
    refusal(ledger, by(key_id, "d"))
    assert releases(ledger, *"abcd") == [4, 2, 2, 1]


def test_it_holds_after_a_restart_and_a_clock_set_back(url, open_ledger):
    first = open_ledger(url, clock=Time(wall=1e9).clock())
    key_id = new_key(first, releases="1/hour")
    first.charge(by(key_id, "a"))
    first.close()
    for wall in (1e9 + 3599, 1e8):
        told = refusal(open_ledger(url, clock=Time(wall=wall).clock()), by(key_id, "a"))
        assert (told.quota, told.left) == ("releases", 0)
    assert open_ledger(url, clock=Time(wall=1e9 + 3600).clock()).charge(by(key_id, "a")).charged == 1


def test_free_answers_use_no_quota(url, open_ledger):
    ledger = open_ledger(url, allow(releases=5))
    key_id = new_key(ledger, releases="2/day", entities="1/day", share=0.4)
    assert ledger.charge(by(key_id, "a", "a", marks="xy")).charged == 2
    for _ in range(3):
        assert ledger.charge(by(key_id, "a", "a", marks="xy")).charged == 0
    assert refusal(ledger, by(key_id, "a", marks="z")).quota == "releases"
    assert ledger.charge(by("other", "a", marks="z")).charged == 1  # the refused ask left no mark
    assert ledger.charge(by(key_id, "a", marks="z")).charged == 0


def test_in_a_group_only_those_to_blame_are_refused(url, open_ledger):
    ledger = open_ledger(url)
    small, large = new_key(ledger, releases="2/day"), new_key(ledger, releases="100/day")
    group = [by(small, "a"), by(large, "a"), by(small, "b", "c"), by("none", "a"), by(small, "d"), by(large, "b")]
    outcomes = ledger.charge_many(group)
    assert [isinstance(one, Receipt) for one in outcomes] == [True, True, False, True, True, True]
    assert outcomes[2].spent == {"releases": 1}
    assert releases(ledger, *"abcd") == [3, 1, 0, 1]


def test_an_entity_at_its_limit_uses_no_quota(url, open_ledger):
    ledger = open_ledger(url, allow(releases=1))
    key_id = new_key(ledger, releases="2/day")
    ledger.charge(by(key_id, "a"))
    for _ in range(3):
        with pytest.raises(RefusedError) as refused:
            ledger.charge(by(key_id, "b", "a"))
        assert refused.value.code == "ledger"
    ledger.charge(by(key_id, "b"))


# Entities and shares


def test_a_quota_of_different_entities(url, open_ledger):
    time = Time()
    ledger = open_ledger(url, allow(releases=50), time.clock())
    key_id = new_key(ledger, entities="3/hour")
    ledger.charge(by(key_id, "a", "a", "b"))
    ledger.charge(by(key_id, "b", "c"))
    refused = refusal(ledger, by(key_id, "a", "d"))
    assert (refused.quota, refused.asked, refused.left, refused.retry_after) == ("entities", {"entities": 1}, 0, 3600)
    assert not ledger.price(["d"], ONE, key_id).allowed
    assert ledger.charge(by(key_id, *"abc" * 5)).charged == 15
    time.elapsed += 3600
    ledger.charge(by(key_id, "d", "a"))
    assert ledger.price(["b"], ONE, key_id).allowed
    assert refusal(ledger, by(key_id, "b", "c")).asked == {"entities": 2}


def test_a_share_of_any_entitys_budget(url, open_ledger):
    time = Time()
    ledger = open_ledger(url, allow(releases=5, window=100), time.clock())
    key_id = new_key(ledger, share=0.5)
    ledger.charge(by("other", "a"))
    time.elapsed += 10
    ledger.charge(by(key_id, "a", "a", "b"))
    refused = refusal(ledger, by(key_id, "b", "a"))
    assert (refused.quota, refused.positions, refused.spent, refused.limit["releases"]) == (
        "share",
        (1,),
        {"releases": 2},
        2,
    )
    assert refused.retry_after == 90  # the entity's window, which began before this key came
    assert ledger.price(["a"], ONE, key_id).positions == (0,)
    assert ledger.charge(by("other", "a")).remaining == 1  # the rest is for others
    time.elapsed += 89
    refusal(ledger, by(key_id, "a"))
    time.elapsed += 1
    ledger.charge(by(key_id, "a", "a"))
    refusal(ledger, by(key_id, "a"))
    ledger.reset("a", reason="renewed", actor="me")
    ledger.charge(by(key_id, "a"))
    assert refusal(ledger, by(key_id, *"ccc")).retry_after is None  # more than its share at once


def test_a_share_of_epsilon_is_composed_as_the_budget_is(url, open_ledger):
    price, limits = Price.of_epsilon(0.1), allow(epsilon=8 * UNIT, delta=1e-3)
    ledger = open_ledger(url, limits)
    key_id, count = new_key(ledger, share=0.5), 0
    while isinstance(ledger.charge_many([by(key_id, "a", price=price)])[0], Receipt):
        count += 1
    alone = open_ledger(url, allow(epsilon=4 * UNIT, delta=1e-3))
    assert count == alone.price(["b"], price).remaining > 40


# Together


@pytest.mark.parametrize("quotas", [{"releases": "30/day"}, {"entities": "30/day"}])
def test_threads_get_exactly_the_quota(url, open_ledger, quotas):
    ledger = open_ledger(url, Limits())
    key_id, barrier = new_key(ledger, **quotas), threading.Barrier(6)

    def hammer(thread: int) -> int:
        barrier.wait()
        outcomes = [ledger.charge_many([by(key_id, f"{thread}-{n}")])[0] for n in range(12)]
        return sum(isinstance(outcome, Receipt) for outcome in outcomes)

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(hammer, range(6))) == 30
    assert ledger.totals().charged == 30


HAMMER = """
import sys
from uuid import uuid4
from privee.gateway.budget.releases import Releases
from privee.gateway.ledger.ledger import *
ledger, good = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits((Releases(20),))), 0
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    asks = [ChargeRequest([entity], Price(), sys.argv[2], uuid4().hex) for entity in ("x", f"{sys.argv[3]}-{number}")]
    good += sum(isinstance(one, Receipt) for one in ledger.charge_many(asks))
print(good)
"""


@pytest.mark.parametrize(
    ("quotas", "most"), [({"releases": "50/day"}, 50), ({"releases": "60/day", "entities": "25/day", "share": 0.5}, 34)]
)
def test_processes_get_exactly_the_quota(url, open_ledger, quotas, most):
    """Of the second, 24 entities besides x, and x up to its share of 10."""
    ledger = open_ledger(url, allow(releases=20))
    key_id = new_key(ledger, **quotas)
    processes = [start(HAMMER, url, key_id, str(number)) for number in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert sum(int(process.communicate(timeout=60)[0]) for process in processes) == most == ledger.totals().charged
