"""Quotas of keys: exact, durable, counted with the charge, and nobody else's budget is burnt."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from privee.errors import PriveeError
from privee.gateway.budget.price import UNIT
from privee.gateway.ledger import audit_chain
from privee.gateway.ledger.api_keys import Keys
from privee.gateway.ledger.ledger import Ask, Ledger, Limits, OverQuota, Price, Receipt, Refused
from privee.gateway.ledger.quotas import FOR_CONSUMERS, UNLIMITED, Per, Quotas
from tests.ledger_cases import ONE, Time, allow, ask, releases, start
from tests.ledger_fixtures import new_url, opening  # noqa: F401 - fixtures
from tests.postgres_server import postgres, postgres_url  # noqa: F401 - fixtures


def keys_of(ledger: Ledger) -> Keys:
    return Keys(ledger.engine, ledger.chain_key, ledger.now)


def new_key(ledger: Ledger, **quotas) -> str:
    return keys_of(ledger).create("n", "consumer", ["*"], actor="me", quotas=Quotas.parse(**quotas)).record.id


def by(key_id: str, *entities: str, price: Price = ONE, marks: str | None = None) -> Ask:
    one = ask(*entities, price=price, marks=marks)
    return Ask(one.entities, one.price, key_id, one.release_id, one.fingerprints)


def refusal(ledger: Ledger, asked: Ask) -> OverQuota:
    with pytest.raises(OverQuota) as refused:
        ledger.charge(asked)
    assert "\n" not in str(refused.value)
    return refused.value


# What is written


def test_quotas_are_written_as_rates_are():
    assert Quotas.parse("1000/day", "500/hour", 0.5) == Quotas(Per(1000, 86400), Per(500, 3600), UNIT // 2)
    assert str(Quotas.parse("1000 per 2 days", share="0.25")) == "1000/2 days releases, a share of 0.25"
    assert (str(UNLIMITED), str(FOR_CONSUMERS)) == ("none", "1000/day releases")
    for text in ("1000/day", "5/second", "7/2 hours", "3/month", "1/90 seconds"):
        assert str(Per.parse(text, "releases")) == text.replace("90 seconds", "90 seconds")
    changed = FOR_CONSUMERS.changed(share="0.1", entities="5/day").changed(entities="none")
    assert changed.as_dict() == {"releases": "1000/day", "entities": None, "share": 0.1}
    assert Quotas.parse(share=0.1).share == UNIT // 10  # as it was written, not as floating point has it


@pytest.mark.parametrize(
    "wrong",
    [
        {"releases": "many"},
        {"releases": "0/day"},
        {"releases": "5/day;1/hour"},
        {"entities": ""},
        {"entities": f"{10**30}/day"},
        {"share": 0},
        {"share": 1.1},
        {"share": -1},
        {"share": "half"},
        {"share": float("nan")},
        {"share": 1e-13},
        {"share": True},
    ],
)
def test_quotas_that_make_no_sense_are_refused(wrong):
    with pytest.raises(PriveeError, match="must be"):
        Quotas.parse(**wrong)


def test_a_share_is_rounded_down():
    limits = allow(releases=7, epsilon=10, delta=0.1, window=60)
    assert limits.part(UNIT // 2) == allow(releases=3, epsilon=5, delta=0.1, window=60)
    assert limits.part(UNIT) == limits
    assert Limits().part(UNIT // 2) == Limits()
    assert allow(releases=1).part(UNIT - 1) == allow(releases=0)


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
        with pytest.raises(Refused) as refused:
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


# Changing them


def test_quotas_change_with_a_reason_and_what_is_used_stays(url, open_ledger):
    ledger = open_ledger(url)
    keys, key_id = keys_of(ledger), new_key(ledger, releases="2/day")
    ledger.charge(by(key_id, "a", "b"))
    record = keys.set_quotas(key_id, "more to do", actor="boss", releases="3/day", share=0.5)
    assert record.quotas.as_dict() == {"releases": "3/day", "entities": None, "share": 0.5}
    assert record in keys.list()
    ledger.charge(by(key_id, "a"))
    refusal(ledger, by(key_id, "a"))
    keys.set_quotas(key_id, "trusted", actor="boss", releases="none", share="none")
    ledger.charge(by(key_id, *["a"] * 10))
    with ledger.reading() as connection:
        assert audit_chain.verify(connection, ledger.chain_key).ok
        entry = audit_chain.entries(connection)[-2]
    assert (entry.act, entry.subject, entry.reason, entry.actor) == ("key.quota", key_id, "more to do", "boss")
    assert json.loads(entry.details)["before"]["releases"] == "2/day"
    for wrong in ({"releases": "x"}, {}, {"releases": "none"}):
        with pytest.raises(PriveeError):
            keys.set_quotas(key_id, "why", actor="boss", **wrong)
    with pytest.raises(PriveeError, match="reason"):
        keys.set_quotas(key_id, " ", actor="boss", releases="1/day")
    with pytest.raises(PriveeError, match="is in use"):
        keys.set_quotas("0" * 8, "why", actor="boss", releases="1/day")
    keys.revoke(key_id, "gone", actor="boss")
    with pytest.raises(PriveeError, match="is in use"):
        keys.set_quotas(key_id, "why", actor="boss", releases="1/day")


def test_new_keys_have_a_quota_and_older_ones_none(url, open_ledger):
    ledger = open_ledger(url)
    keys = keys_of(ledger)
    made = keys.create("new", "consumer", ["*"], actor="me")
    assert made.record.quotas == FOR_CONSUMERS == keys.find(made.text).quotas
    assert keys.create("boss", "administrator", actor="me").record.quotas == UNLIMITED
    assert keys.create("free", "consumer", ["*"], actor="me", quotas=UNLIMITED).record.quotas == UNLIMITED
    with ledger.engine.begin() as connection:  # as a key from before has no row
        connection.execute(sa.text("DELETE FROM quotas"))
    assert keys.find(made.text).quotas == UNLIMITED
    assert ledger.charge(by(made.record.id, *(f"e{number}" for number in range(1500)))).charged == 1500
    keys.set_quotas(made.record.id, "as others", actor="me", releases="1000/day")
    assert keys.find(made.text).quotas == FOR_CONSUMERS


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
    asks = [Ask([entity], Price(), sys.argv[2], uuid4().hex) for entity in ("x", f"{sys.argv[3]}-{number}")]
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


# Many resets


def test_many_entities_start_anew_together_or_none_does(url, open_ledger):
    ledger = open_ledger(url, allow(releases=1))
    many = [f"e{number}" for number in range(1200)]
    ledger.charge(ask(*many))
    with pytest.raises(PriveeError, match=r"nothing was ever released for 2 of the entities \(numbers 2, 4\)") as wrong:
        ledger.reset_many(["e0", "secret", "e1", "unknown"], reason="r", actor="me")
    assert "secret" not in str(wrong.value)
    for given, reason in (([], "r"), (["e0"], " ")):
        with pytest.raises(PriveeError):
            ledger.reset_many(given, reason=reason, actor="me")
    assert releases(ledger, "e0", "e1") == [1, 1]
    assert ledger.reset_many([*many, "e0"], reason="after the leak", actor="me") == 1200
    assert releases(ledger, "e0", "e1199") == [0, 0]
    assert ledger.spent("e0").lifetime_releases == 1
    assert ledger.charge(ask(*many)).charged == 1200
    with ledger.reading() as connection:
        (entry,) = audit_chain.entries(connection)
    details = json.loads(entry.details)
    assert (entry.act, entry.subject, entry.reason) == ("ledger.reset-many", "1200 entities", "after the leak")
    assert (details["entities"], details["releases"], len(details["set"])) == (1200, 1200, 64)


def test_what_a_key_was_charged_for_starts_anew(url, open_ledger):
    time = Time()
    ledger = open_ledger(url, allow(releases=2), time.clock())
    leaked, plain = new_key(ledger, share=1), new_key(ledger, releases="100/day")
    ledger.charge(by(leaked, "old"))
    time.elapsed += 1000
    ledger.charge(by(leaked, "a", "a", "b"))
    ledger.charge(by(plain, "c", "b"))
    assert ledger.reset_charged_by(leaked, since=int(1e9) + 500, reason="leaked", actor="me") == 2
    assert releases(ledger, "old", "a", "b", "c") == [1, 0, 0, 1]
    ledger.charge(by(leaked, "a", "a"))  # its share starts anew, too
    assert ledger.reset_charged_by(leaked, reason="leaked", actor="me") == 3
    with pytest.raises(PriveeError, match="only for keys with a quota of entities or a share"):
        ledger.reset_charged_by(plain, reason="leaked", actor="me")
    with pytest.raises(PriveeError, match="8 hexadecimal digits"):
        ledger.reset_charged_by("privee_secret", reason="leaked", actor="me")
