"""The ledger's count: charges, refusals, windows, resets, and what auditors read."""

import dataclasses
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privee import OrderedDP
from privee.durable import audit_chain, connections
from privee.durable.database import connect
from privee.errors import PriveeError
from privee.gateway.budget.price import CAP, UNIT
from privee.gateway.budget.total_epsilon_advanced import TotalEpsilonAdvanced
from privee.gateway.ledger.charge_sql import Counting
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Limits, Price, Receipt, RefusedError
from privee.gateway.ledger.limits import fits, limits_for
from privee.theory import composed_epsilon
from tests._support.ledger_cases import KEY, ONE, Time, allow, ask, releases

# Counting


def test_a_charge_is_counted_and_refused_at_the_limit(url, open_ledger):
    ledger = open_ledger(url, allow(releases=3))
    first = ask("a", "b", "a")
    assert ledger.charge(first) == Receipt(first.release_id, charged=3, remaining=1)
    assert releases(ledger, "a", "b", "c") == [2, 1, 0]
    with pytest.raises(RefusedError) as refused:
        ledger.charge(ask("b", "a", "c", "a"))
    assert refused.value.positions == (1, 3)
    assert (refused.value.asked, refused.value.spent, refused.value.limit) == (
        {"releases": 2},
        {"releases": 2},
        {"releases": 3},
    )
    assert "asked releases 2; spent releases 2; limit releases 3" in str(refused.value)
    assert releases(ledger, "a", "b", "c") == [2, 1, 0]
    with pytest.raises(RefusedError):  # a new entity is not a way around the limit
        ledger.charge(ask(*["new"] * 4))
    assert releases(ledger, "new") == [0]
    assert ledger.charge(ask()).remaining is None


def test_price_says_beforehand_what_charge_would(url, open_ledger):
    ledger = open_ledger(url, allow(releases=2))
    ledger.charge(ask("a"))
    quote = ledger.price(["a", "b"], ONE)
    assert (quote.allowed, quote.asked, quote.spent, quote.remaining) == (True, {"releases": 1}, {"releases": 1}, 1)
    quote = ledger.price(["b", "a", "a"], ONE)
    assert (quote.allowed, quote.positions, quote.asked, quote.remaining) == (False, (1, 2), {"releases": 2}, 1)
    with pytest.raises(RefusedError):
        quote.check()
    assert ledger.refuse(ask("a", "a")).positions == (0, 1)
    assert ledger.refuse(ask("a")) is None
    assert releases(ledger, "a", "b") == [1, 0]
    assert (ledger.totals().releases, ledger.totals().refusals) == (1, 1)


def test_a_batch_is_charged_whole_or_not_at_all_across_statements(ledger):
    many = [f"e{number}" for number in range(1100)]
    ledger.charge(ask(*["e1050"] * 50))
    with pytest.raises(RefusedError) as refused:
        ledger.charge(ask(*many))
    assert refused.value.positions == (1050,)
    assert releases(ledger, "e0", "e600", "e1050", "e1099") == [0, 0, 50, 0]
    assert ledger.charge(ask(*many[:1050])).charged == 1050
    assert releases(ledger, "e0", "e600", "e1050") == [1, 1, 50]


def test_asks_that_go_together_are_charged_or_refused_one_by_one(url, open_ledger):
    ledger = open_ledger(url, allow(releases=5))
    group = [ask("a"), ask("b", "c"), *[ask("a", "d") for _ in range(6)], ask("b", "b", "b", "b", "b"), ask("e")]
    outcomes = ledger.charge_many(group)
    accepted = [isinstance(outcome, Receipt) for outcome in outcomes]
    assert accepted == [True, True, *[True] * 4, False, False, False, True]
    ids = [outcome.release_id for outcome in outcomes if isinstance(outcome, Receipt)]
    assert ids == [one.release_id for one, good in zip(group, accepted, strict=True) if good]
    assert releases(ledger, *"abcde") == [5, 1, 1, 4, 1]
    assert outcomes[6].positions == (0,)
    assert (ledger.totals().releases, ledger.totals().refusals, ledger.totals().charged) == (7, 3, 12)
    assert ledger.charge_many([]) == []


def test_repeatable_releases_are_charged_once(url, open_ledger):
    ledger = open_ledger(url, allow(releases=2))
    assert ledger.charge(ask("a", "a", "b", marks="xxx")).charged == 2
    again = ledger.charge(ask("a", "b", marks="xx"))
    assert (again.charged, again.remaining) == (0, 1)
    assert ledger.charge(ask("a", "a", marks="xy")).charged == 1
    with pytest.raises(RefusedError):
        ledger.charge(ask("b", "a", marks="nz"))
    assert ledger.charge(ask("a", "a", marks="xy")).charged == 0  # free, though nothing is left
    assert ledger.charge(ask("b", marks="n")).charged == 1  # the refused ask left no mark
    assert releases(ledger, "a", "b") == [2, 2]
    group = ledger.charge_many(
        [ask("c", marks="x"), ask("c", marks="x"), ask("a", "d", marks="qx"), ask("d", marks="x")]
    )
    assert [outcome.charged if isinstance(outcome, Receipt) else None for outcome in group] == [1, 0, None, 1]


def test_a_release_id_is_used_once(ledger):
    one = ask("a")
    ledger.charge(one)
    with pytest.raises(PriveeError, match="used before"):
        ledger.charge(one)
    assert releases(ledger, "a") == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ChargeRequest("abc", ONE, "key", "id"),
        lambda: ChargeRequest(["a", 7], ONE, "key", "id"),
        lambda: ChargeRequest(["a", "\ud800"], ONE, "key", "id"),
        lambda: ChargeRequest(["a"], Price(releases=-1), "key", "id"),
        lambda: ChargeRequest(["a"], Price(releases=1.5), "key", "id"),
        lambda: ChargeRequest(["a"], ONE, "key", "i" * 33),
        lambda: ChargeRequest(["a"], ONE, "k\x00", "id"),
        lambda: ChargeRequest(["a"], ONE, "key", "id", [b"short"]),
        lambda: ChargeRequest(["a", "b"], ONE, "key", "id", [b"x" * 32]),
    ],
)
def test_asks_that_make_no_sense_are_refused(wrong):
    with pytest.raises(PriveeError):
        wrong()


def test_ids_are_not_stored_and_must_be_text(sqlite_url, open_ledger, tmp_path):
    ledger = open_ledger(sqlite_url)
    ledger.charge(ask("customer no. 4711", marks="x"))
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"no. 4711" not in stored
    assert KEY not in stored
    for use in (ledger.spent, lambda entity: ledger.reset(entity, reason="r", actor="a")):
        with pytest.raises(PriveeError, match="UTF-8"):
            use("\ud800")
    assert ledger.fingerprint(b"ab", b"c") != ledger.fingerprint(b"a", b"bc")


# Time


def test_a_window_ends_by_time_that_passed_and_by_nothing_else(url, open_ledger):
    time, limits = Time(), allow(releases=2, window=100)
    ledger = open_ledger(url, limits, time.clock())
    ledger.charge(ask("a"))
    time.elapsed += 60
    ledger.charge(ask("a"))
    assert ledger.spent("a").window_ends == 1e9 + 100
    time.wall += 1e6
    with pytest.raises(RefusedError):
        ledger.charge(ask("a"))
    time.elapsed += 39.9
    assert not ledger.price(["a"], ONE).allowed
    time.elapsed += 0.1
    assert ledger.price(["a"], ONE).remaining == 2
    assert releases(ledger, "a") == [0]
    ledger.charge(ask("a"))
    assert ledger.spent("a").spent == {"releases": 1}
    assert ledger.spent("a").lifetime_releases == 3


def test_a_clock_moved_back_frees_nothing_early(url, open_ledger):
    limits = allow(releases=1, window=100)
    open_ledger(url, limits, Time(wall=1e9).clock()).charge(ask("a"))
    time = Time(wall=1e8)
    ledger = open_ledger(url, limits, time.clock())
    assert ledger.now() == 1e9
    time.elapsed += 99
    with pytest.raises(RefusedError):
        ledger.charge(ask("a"))
    time.elapsed += 1
    ledger.charge(ask("a"))


# Reset, and what auditors read


def test_reset_starts_anew_and_keeps_what_was_given_in_a_lifetime(url, open_ledger):
    ledger = open_ledger(url, allow(releases=2, epsilon=8 * UNIT))
    price = Price.of_epsilon(0.5)
    ledger.charge(ask("a", "a", price=price))
    ledger.reset("a", reason="asked for in writing", actor="key:1234")
    spent = ledger.spent("a")
    assert (spent.spent, spent.lifetime_releases, spent.lifetime_epsilon) == ({"releases": 0, "epsilon": 0.0}, 2, 1.0)
    assert ledger.charge(ask("a", price=price)).remaining == 1
    with ledger.reading() as connection:
        (entry,) = audit_chain.entries(connection)
        assert audit_chain.verify(connection, ledger.chain_key).ok
    assert (entry.act, entry.subject, entry.reason, entry.actor) == (
        "ledger.reset",
        spent.tag,
        "asked for in writing",
        "key:1234",
    )
    assert json.loads(entry.details)["releases"] == 2
    for entity, reason, actor in (("unknown", "r", "me"), ("a", " ", "me"), ("a", "r", "")):
        with pytest.raises(PriveeError):
            ledger.reset(entity, reason=reason, actor=actor)
    assert releases(ledger, "a") == [1]  # what is not written to the chain does not happen


def test_what_auditors_read(url, open_ledger):
    time = Time(wall=1_000_000_000)
    ledger = open_ledger(url, allow(releases=4, epsilon=8 * UNIT, window=1000), time.clock())
    assert ledger.totals().releases == 0
    ledger.charge(ask("old", "old"))
    time.elapsed += 1000
    ledger.charge(ask("a", "a", "b"))
    ledger.charge(ask("c", price=Price.of_epsilon(7)))
    time.elapsed += 60
    for _ in range(2):
        with pytest.raises(RefusedError):
            ledger.charge(ask("c", price=Price.of_epsilon(7)))
    found = ledger.near_limit(3)
    assert [one.share for one in found] == [7 / 8, 0.5, 0.25]
    assert [one.tag for one in found] == [ledger.spent(name).tag for name in "cab"]
    assert found[0].spent == {"releases": 1, "epsilon": 7.0}
    assert found[0].window_ends == 1_000_002_000
    assert dataclasses.asdict(ledger.totals()) == {
        "entities": 4,
        "releases": 3,  # requests that were answered
        "refusals": 2,
        "charged": 6,
        "released_entities": 6,
        "refused_variants": 0,
    }
    assert open_ledger(url, Limits()).near_limit(3) == []


# Prices and limits in the database


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_database_decides_exactly_as_python_does(database, tmp_path, request):
    url = f"sqlite:///{tmp_path / 'l.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(url, KEY)
    number = st.one_of(st.integers(0, 10**13), st.integers(0, CAP), st.just(CAP))
    price = st.builds(Price, st.integers(0, 100), number, number, number)

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(
        price,
        price,
        st.builds(allow, st.integers(100, 200), number.filter(lambda n: n < CAP), st.floats(0, 0.9)),
        st.data(),
    )
    def check(before, more, limits, data):
        policy = limits.policies[-1]
        advanced = isinstance(policy, TotalEpsilonAdvanced)
        if advanced and data.draw(st.booleans()):  # at the border of advanced composition
            drift = data.draw(st.integers(0, policy.limit))
            border = (policy.limit - drift) ** 2 / policy.spread * data.draw(st.floats(0.999, 1.001))
            before = Price(1, CAP, drift, min(int(border), CAP))
            more = Price(1, 1, 0, data.draw(st.integers(0, 1)))
        counting = Counting(limits, "?" if database == "sqlite" else "%s")

        def decide(cursor):
            cursor.execute("DELETE FROM spending")
            counting.charge(cursor, {b"e": before}, 0)
            return counting.charge(cursor, {b"e": more}, 0)

        total = before.plus(more)
        assert writing.run(decide) == ({b"e": total} if fits(limits, total) else {})

    engine = connect(url)
    writing = connections.Connections(engine, writes=True)
    check()
    writing.close()
    engine.dispose()


def test_advanced_composition_never_exceeds_the_total(url, open_ledger):
    defense, delta = OrderedDP(0.1), 1e-3
    ledger = open_ledger(url, limits_for(defense, 10, epsilon=4.0, delta=delta))
    price, count = Price.of(defense, 10), 0
    while isinstance(outcome := ledger.charge_many([ask("a", "a", price=price)])[0], Receipt):
        count += 2
    assert composed_epsilon(0.1, count, delta) <= 4.0 < composed_epsilon(0.1, count + 2, delta)
    assert count > 40
    assert outcome.limit == {"epsilon": 4.0, "delta": delta}
    assert outcome.spent["epsilon"] == pytest.approx(composed_epsilon(0.1, count, delta))


def test_sums_stop_before_the_database_overflows(url, open_ledger):
    ledger, dear = open_ledger(url, Limits()), Price.of_epsilon(1e300)
    for _ in range(4):
        assert ledger.charge(ask("a", "a", price=dear)).remaining is None
    assert ledger.spent("a").lifetime_epsilon == CAP / UNIT
