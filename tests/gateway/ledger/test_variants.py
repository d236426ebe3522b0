"""What was asked about an entity is pinned: the same question again is answered, another variant up to a limit."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command

from privee.durable import audit_chain
from privee.durable.database import connect
from privee.durable.secrets import hash_entities
from privee.errors import PriveeError
from privee.gateway.budget.price import CAP
from privee.gateway.ledger import opening
from privee.gateway.ledger.ledger import (
    ChargeRequest,
    Ledger,
    Limits,
    OverQuotaError,
    OverVariantsError,
    Receipt,
    RefusedError,
)
from privee.gateway.ledger.secrets import subkeys
from tests._support.ledger_cases import KEY, ONE, Time, allow, ask, new_key, output, releases, start

PINNED = allow(releases=50, variants=1)


def refused(ledger: Ledger, asked: ChargeRequest) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        ledger.charge(asked)
    assert "\n" not in str(caught.value)
    return caught.value


def variants(ledger: Ledger, *entities: str) -> list[int]:
    return [ledger.spent(entity).variants for entity in entities]


def pinned(ledger: Ledger) -> dict[bytes, tuple[int, int]]:
    """Of every entity: how many variants its count says, and how many digests there are."""
    query = "SELECT entity, variants, (SELECT count(*) FROM questions q WHERE q.entity = s.entity) FROM spending s"
    with ledger.reading() as connection:
        return {bytes(entity): (said, there) for entity, said, there in connection.exec_driver_sql(query)}


def test_the_same_question_is_answered_and_another_one_is_not(url, open_ledger):
    ledger = open_ledger(url, PINNED)
    assert [ledger.charge(ask("a", asked="x")).remaining for _ in range(3)] == [49, 48, 47]
    refusal = refused(ledger, ask("a", asked="y"))
    assert isinstance(refusal, OverVariantsError)
    assert (refusal.code, refusal.retry_after) == ("variants", None)
    one = {"variants": 1}
    assert refusal.details() == {"asked": one, "spent": one, "limit": one, "positions": [0]}
    assert str(refusal) == (
        "1 entity would be asked about in more variants of columns than allowed "
        "(asked variants 1; spent variants 1; limit variants 1)"
    )
    assert (releases(ledger, "a"), variants(ledger, "a", "nobody")) == ([3], [1, 0])
    assert ledger.charge(ask("a", asked="x")).remaining == 46
    totals = ledger.totals()
    assert (totals.releases, totals.refusals, totals.refused_variants, totals.charged) == (4, 1, 1, 4)


def test_a_batch_is_refused_whole_and_one_question_twice_is_one_variant(url, open_ledger):
    ledger = open_ledger(url, PINNED)
    ledger.charge(ask("a", "a", "b", asked="xxx"))
    assert variants(ledger, "a", "b") == [1, 1]
    assert refused(ledger, ask("c", "b", "a", "b", asked="xyxx")).positions == (1, 3)
    assert refused(ledger, ask("c", "d", "c", asked="xxy")).positions == (0, 2)  # nobody asked about it before
    assert (releases(ledger, "a", "b", "c", "d"), variants(ledger, "c", "d")) == ([2, 1, 0, 0], [0, 0])
    assert {said == there for said, there in pinned(ledger).values()} == {True}
    two = open_ledger(url, allow(releases=50, variants=2))
    two.charge(ask("c", "d", "c", "c", asked="xxyx"))
    assert refused(two, ask("c", "d", "d", asked="zyz")).spent == {"variants": 2}
    assert (variants(two, "c", "d"), releases(two, "c", "d")) == ([2, 1], [3, 1])


def test_asks_that_go_together_are_each_answered_or_refused(url, open_ledger):
    ledger = open_ledger(url, PINNED)
    group = [ask("a", asked="x"), ask("a", asked="y"), ask("b", asked="x"), ask("a", asked="x"), ask("b", asked="z")]
    outcomes = ledger.charge_many(group)
    assert [isinstance(outcome, Receipt) for outcome in outcomes] == [True, False, True, True, False]
    assert {outcome.code for outcome in outcomes if isinstance(outcome, RefusedError)} == {"variants"}


def test_no_window_ends_it_and_a_reset_does(url, open_ledger):
    clock = Time()
    ledger = open_ledger(url, allow(releases=2, window=100, variants=1), clock.clock())
    ledger.charge(ask("a", "b", asked="xx"))
    clock.elapsed += 1000
    assert ledger.charge(ask("a", asked="x")).remaining == 1
    assert refused(ledger, ask("a", asked="y")).code == "variants"
    ledger.reset("a", reason="columns corrected", actor="me")
    assert variants(ledger, "a", "b") == [0, 1]
    ledger.charge(ask("a", asked="y"))
    assert refused(ledger, ask("a", asked="x")).code == "variants"
    assert ledger.reset_many(["a", "b"], reason="new model", actor="me") == 2
    ledger.charge(ask("a", "b", asked="zz"))
    assert variants(ledger, "a", "b") == [1, 1]
    with ledger.reading() as connection:
        first, _ = audit_chain.entries(connection)
    assert (first.act, json.loads(first.details)["variants"]) == ("ledger.reset", 1)
    assert {said == there for said, there in pinned(ledger).values()} == {True}


def test_of_several_reasons_the_first_is_told(url, open_ledger):
    """What an entity may give, then its variants, then the key's quota."""
    ledger = open_ledger(url, allow(releases=2, variants=1))
    key_id = new_key(ledger, releases="2/day")
    ledger.charge(ask("a", "b", asked="xx", key_id=key_id))
    assert refused(ledger, ask("b", asked="y", key_id=key_id)).code == "variants"  # beyond its quota as well
    assert isinstance(refused(ledger, ask("b", asked="x", key_id=key_id)), OverQuotaError)
    ledger.charge(ask("a", asked="x"))
    both = refused(ledger, ask("b", "a", asked="yy", key_id=key_id))
    assert (both.code, both.positions, both.spent) == ("ledger", (1,), {"releases": 2})
    assert refused(ledger, ask("a", asked="y")).code == "ledger"


def test_what_is_free_is_a_variant_all_the_same(url, open_ledger):
    ledger = open_ledger(url, allow(releases=1, variants=1))
    assert ledger.charge(ask("a", marks="m", asked="x")).charged == 1
    assert ledger.charge(ask("a", marks="m", asked="x")).charged == 0
    assert refused(ledger, ask("a", marks="m", asked="y")).code == "variants"
    assert refused(ledger, ask("a", marks="n", asked="y")).code == "ledger"  # of another draw: not free
    ledger.reset("a", reason="r", actor="me")
    assert ledger.charge(ask("a", marks="m", asked="y")).charged == 0
    assert (variants(ledger, "a"), refused(ledger, ask("a", marks="m", asked="x")).code) == ([1], "variants")


def test_a_lower_limit_still_answers_what_was_asked(url, open_ledger):
    free = open_ledger(url, Limits())
    free.charge(ask("a", "a", "a", asked="xyz"))
    ledger = open_ledger(url, PINNED)
    assert variants(ledger, "a") == [3]
    for letter in "xyz":
        ledger.charge(ask("a", asked=letter))
    assert refused(ledger, ask("a", asked="w")).details()["spent"] == {"variants": 3}
    quote = ledger.price(["a", "nobody"], ONE)
    assert (quote.allowed, quote.variants, ledger.price(["nobody"], ONE).variants) == (True, 3, 0)


def test_what_nobody_said_is_not_pinned_and_settings_are_checked(url, open_ledger):
    ledger = open_ledger(url, PINNED)
    ledger.charge(ask("a"))
    assert variants(ledger, "a") == [0]
    for wrong in (0, -1, 1.0, True, CAP):
        with pytest.raises(PriveeError, match="variants must be a whole number from 1 on"):
            Limits(variants=wrong)
    with pytest.raises(PriveeError, match="one question for each entity"):
        ask("a", "b", asked="x")


def test_digests_are_keyed_and_do_not_show_equal_columns(url, open_ledger):
    ledger = open_ledger(url, PINNED)
    ledger.charge(ask("a", "b", asked="xx"))
    with ledger.reading() as connection:
        found = {bytes(digest) for digest in connection.exec_driver_sql("SELECT question FROM questions").scalars()}
    assert len(found) == 2
    assert {len(digest) for digest in found} == {32}
    assert subkeys(KEY).questions not in {subkeys(b"o" * 32).questions, subkeys(KEY).fingerprints}


def test_after_an_accepted_loss_no_other_variant_is_answered(tmp_path, open_ledger):
    url, copy, clock = f"sqlite:///{tmp_path / 'l.db'}", tmp_path / "copy.db", Time()
    Ledger.create(url, KEY)
    limits = allow(releases=5, window=100, variants=9)
    ledger = open_ledger(url, limits, clock.clock())
    ledger.charge(ask("a", asked="x"))
    ledger.close()
    copy.write_bytes((tmp_path / "l.db").read_bytes())
    ledger = open_ledger(url, limits, clock.clock())
    ledger.charge(ask("a", asked="y"))
    ledger.close()
    (tmp_path / "l.db").write_bytes(copy.read_bytes())
    with Ledger.open(url, KEY, limits=limits, clock=clock.clock(), lossy=True) as lossy:
        lossy.accept_loss(reason="copy put back", actor="me", spend_all=True)
    ledger = open_ledger(url, limits, clock.clock())
    assert refused(ledger, ask("a", asked="x")).code == "ledger"
    clock.elapsed += 1000  # the window is over, and what was asked meanwhile is unknown for good
    assert refused(ledger, ask("a", asked="z")).code == "variants"
    ledger.charge(ask("a", asked="x"))
    ledger.reset("a", reason="asked its owner", actor="me")
    ledger.charge(ask("a", asked="z"))


# Many at once


@pytest.mark.parametrize("limit", [1, 3])
def test_eight_threads_with_a_variant_each_get_exactly_what_is_allowed(url, open_ledger, limit):
    ledger = open_ledger(url, allow(variants=limit))

    def hammer(number):
        letters = "abcdefgh"[number:] + "abcdefgh"[:number]
        groups = [[ask("other", "a", asked=f"x{letter}") for _ in range(2)] for letter in letters]
        outcomes = {letter: ledger.charge_many(group) for letter, group in zip(letters, groups, strict=True)}
        return {letter for letter, found in outcomes.items() if any(isinstance(one, Receipt) for one in found)}

    with ThreadPoolExecutor(8) as pool:
        answered = set().union(*pool.map(hammer, range(8)))
    assert len(answered) == limit
    assert variants(ledger, "a", "other") == [limit, 1]
    assert {said == there for said, there in pinned(ledger).values()} == {True}


HAMMER = """
import random, sys
from uuid import uuid4
from concurrent.futures import ThreadPoolExecutor
from privee.gateway.ledger.ledger import *
ledger = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits(variants=3))
def hammer(number):
    answered = set()
    for letter in random.Random(sys.argv[2] + str(number)).choices("abcdefghijklmnop", k=40):
        outcome, = ledger.charge_many([
            ChargeRequest(["a", "other"], Price(), "key", uuid4().hex, None, [letter.encode(), b"same"])
        ])
        if isinstance(outcome, Receipt):
            answered.add(letter)
    return answered
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    print("".join(sorted(set().union(*pool.map(hammer, range(4))))))
"""


def test_two_processes_answer_exactly_as_many_variants_as_allowed(url, open_ledger):
    processes = [start(HAMMER, url, str(number)) for number in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    answered = set("".join(process.communicate(timeout=60)[0].strip() for process in processes))
    ledger = open_ledger(url, Limits())
    assert len(answered) == 3
    assert variants(ledger, "a", "other") == [3, 1]
    assert {said == there for said, there in pinned(ledger).values()} == {True}


CRASHING = """
import os, random, signal, sys, time
from uuid import uuid4
from privee.gateway.ledger.ledger import *
LIMITS = Limits(variants=2)
Ledger.open(sys.argv[1], b"k" * 32, limits=LIMITS).close()
for turn in range(20):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        ledger = Ledger.open(sys.argv[1], b"k" * 32, limits=LIMITS)
        os.write(writes, b"x")
        while True:
            letters = random.sample("abcdef", turn % 3 + 1)
            who = [f"e{turn // 2}"]
            asks = [ChargeRequest(who, Price(), "key", uuid4().hex, None, [one.encode()]) for one in letters]
            for letter, outcome in zip(letters, ledger.charge_many(asks)):
                if isinstance(outcome, Receipt):
                    os.write(1, f"{turn // 2} {letter}\\n".encode())
            os.write(writes, b"x")
    for _ in range(random.randrange(2, 9)):  # by its own progress: a busy machine is slow
        os.read(reads, 1)
    time.sleep(random.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_killed_at_any_moment_it_has_pinned_all_that_was_answered(url, open_ledger):
    """Each entity is asked about in two lives: what the first one pinned holds for the second."""
    lines = output(CRASHING, url).split("\n")[:-1]
    assert len(lines) > 20
    ledger, full = open_ledger(url, allow(variants=2)), 0
    for turn in range(10):
        seen = {line.split()[1] for line in lines if line.startswith(f"{turn} ")}
        assert len(seen) <= variants(ledger, f"e{turn}")[0] <= 2
        full += len(seen) == 2
        for letter in seen:
            ledger.charge(ask(f"e{turn}", asked=letter))  # it is pinned, so it is answered
    assert full >= 5
    assert {said == there for said, there in pinned(ledger).values()} == {True}


def test_resets_under_load_leave_as_many_digests_as_are_counted(url, open_ledger):
    """A charge that found its question there, and waits for the entity while a reset takes it away, must look again."""
    ledger = open_ledger(url, allow(variants=2))
    ledger.charge(ask("a", asked="x"))

    def charge(number):
        for turn in range(60):
            ledger.charge_many([ask("a", asked="xyz"[(turn + number) % 3])])

    def reset(_):
        for _turn in range(40):
            ledger.reset("a", reason="r", actor="me")

    with ThreadPoolExecutor(5) as pool:
        work = [pool.submit(charge, number) for number in range(4)] + [pool.submit(reset, 0)]
        for one in work:
            one.result()
    ((said, there),) = pinned(ledger).values()
    assert said == there <= 2


def test_a_charge_that_waits_for_a_reset_is_pinned_after_it(postgres_url, open_ledger):
    """It found its question there, and would go on with what the reset takes away."""
    Ledger.create(postgres_url, KEY)
    ledger = open_ledger(postgres_url, PINNED)
    ledger.charge(ask("a", asked="x"))
    engine = connect(postgres_url)
    with ThreadPoolExecutor(2) as pool, engine.connect() as holding:
        holding.exec_driver_sql("SELECT * FROM spending FOR UPDATE")
        work = [pool.submit(ledger.reset, "a", reason="r", actor="me")]
        wait_for_locks(engine, 1)
        work.append(pool.submit(ledger.charge, ask("a", asked="x")))
        wait_for_locks(engine, 2)
        holding.rollback()
        for one in work:
            one.result(timeout=20)
    engine.dispose()
    assert list(pinned(ledger).values()) == [(1, 1)]
    assert refused(ledger, ask("a", asked="y")).code == "variants"


def wait_for_locks(engine: sa.Engine, count: int) -> None:
    """Until so many wait for somebody else's lock."""
    query, end = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", time.monotonic() + 20
    while True:
        with engine.connect() as connection:
            if connection.exec_driver_sql(query).scalar() == count:
                return
        assert time.monotonic() < end
        time.sleep(0.01)


# Ledgers of the version before


def make_old(url: str) -> None:
    """As the version before made and used it: entities that have spent something, and no word of what was asked."""
    if url.startswith("sqlite"):
        Ledger.create(url, KEY)  # a private file
    engine = connect(url)
    with engine.begin() as connection:
        if url.startswith("sqlite"):
            for name in (*opening.metadata.tables, "alembic_version"):
                connection.exec_driver_sql(f"DROP TABLE {name}")
        config = opening._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        check, spent = subkeys(KEY).check.hex(), hash_entities(subkeys(KEY).entities, ["spent"])[0].hex()
        literal = f"X'{spent}'" if url.startswith("sqlite") else f"'\\x{spent}'::bytea"
        connection.exec_driver_sql(f"INSERT INTO about VALUES ('key_check', '{check}')")  # noqa: S608
        connection.exec_driver_sql(f"INSERT INTO spending VALUES ({literal}, 3, 0, 0, 0, 1000000000, 7, 0)")  # noqa: S608
        connection.exec_driver_sql("INSERT INTO releases VALUES ('r', 1000000000, 'key', 1, 1, 'released')")
    engine.dispose()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_ledger_of_the_version_before_keeps_its_counts_and_pins_from_then_on(
    database, tmp_path, request, open_ledger
):
    url = f"sqlite:///{tmp_path / 'l.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    make_old(url)
    with pytest.raises(PriveeError, match="run privee ledger upgrade"):
        open_ledger(url)
    Ledger.upgrade(url)
    ledger = open_ledger(url, allow(releases=5, variants=1))
    found = ledger.spent("spent")
    assert (found.spent, found.lifetime_releases, found.variants) == ({"releases": 3}, 7, 0)
    assert ledger.charge(ask("spent", "new", asked="xx")).remaining == 1  # of what was asked before nothing is known
    assert refused(ledger, ask("spent", asked="y")).code == "variants"
    assert refused(ledger, ask("new", asked="y")).code == "variants"
    with ledger.reading() as connection:
        assert sa.inspect(connection).has_table("questions")
        assert opening.current(connection) == opening.head() == "0006"


def test_the_rights_that_the_page_grants_are_enough(postgres, open_ledger):
    page = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text(encoding="utf-8")
    grants = re.findall(r"^GRANT .* TO gateway;$", page, flags=re.MULTILINE)
    assert len(grants) == 3
    url = postgres.new_database()
    Ledger.create(url, KEY)
    run_all(url, "CREATE ROLE gateway LOGIN", *grants)
    try:
        ledger = open_ledger(url.replace("postgres@", "gateway@"), PINNED)
        ledger.charge(ask("a", asked="x"))
        assert refused(ledger, ask("a", asked="y")).code == "variants"
        ledger.reset("a", reason="r", actor="me")
        ledger.charge(ask("a", asked="y"))
        with ledger.reading() as connection:
            assert connection.exec_driver_sql("SELECT current_user").scalar() == "gateway"
        ledger.close()
    finally:
        run_all(url, "DROP OWNED BY gateway", "DROP ROLE gateway")


def run_all(url: str, *statements: str) -> None:
    engine = connect(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()
