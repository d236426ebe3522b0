"""The ledger's count is exact: against a plain model, and under threads, processes and crashes."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privee.gateway.budget.price import UNIT
from privee.gateway.ledger.ledger import Ledger, Limits, Price, Receipt, RefusedError
from tests._support.ledger_cases import KEY, ONE, Time, allow, ask, output, releases, start

# Against a plain model

ENTITIES = "abc"
PRICES = (ONE, Price(1, 300), Price(0, 700))
RELEASES, EPSILON = 6, 2000
VARIANTS = 2
LIMITS = allow(RELEASES, EPSILON, window=100, variants=VARIANTS)
STEPS = st.lists(
    st.one_of(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(ENTITIES), max_size=4),
                st.sampled_from(PRICES),
                st.one_of(st.none(), st.lists(st.sampled_from("xy"), min_size=4, max_size=4)),
                st.one_of(st.none(), st.lists(st.sampled_from("pqrs"), min_size=4, max_size=4)),
            ),
            min_size=1,
            max_size=4,
        ),
        st.integers(1, 120),
        st.sampled_from(ENTITIES),
    ),
    max_size=12,
)


class Model:
    """The ledger in plain Python: asks one after the other, on a dictionary."""

    def __init__(self) -> None:
        self.spent, self.answered, self.asked, self.now = {}, set(), {}, 0

    def counts(self, entity):
        started, *counts = self.spent.get(entity, (self.now, 0, 0))
        return [self.now, 0, 0] if self.now - started >= LIMITS.window else [started, *counts]

    def charge(self, entities, price, marks, questions):
        pairs = None if marks is None else dict.fromkeys(zip(entities, marks, strict=False))
        paying = (
            entities
            if pairs is None
            else [entity for entity, _ in (pair for pair in pairs if pair not in self.answered)]
        )
        after = {entity: self.counts(entity) for entity in paying}
        for entity in paying:
            after[entity] = [after[entity][0], after[entity][1] + price.releases, after[entity][2] + price.epsilon]
        asked = {entity: self.asked.get(entity, set()) for entity in entities}
        for entity, question in zip(entities, questions or (), strict=False):
            asked[entity] = asked[entity] | {question}
        if any(count > RELEASES or epsilon > EPSILON for _, count, epsilon in after.values()):
            return None
        if any(len(known) > VARIANTS for known in asked.values()):
            return None
        self.asked |= asked
        self.spent |= after
        self.answered |= set(pairs or ())
        return len(paying)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_random_asks_do_what_a_plain_model_does(database, tmp_path, request):
    url = f"sqlite:///{tmp_path / 'l.db'}" if database == "sqlite" else request.getfixturevalue("postgres_url")
    Ledger.create(url, KEY)
    time, examples = Time(), itertools.count()

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def check(steps):
        model, example = Model(), next(examples)
        started = ledger.now()
        for step in steps:
            if isinstance(step, int):
                time.elapsed += step
                model.now = ledger.now() - started
            elif isinstance(step, str):
                if step in model.spent or model.asked.get(step):
                    ledger.reset(f"{example} {step}", reason="test", actor="test")
                    model.spent[step], model.asked[step] = (model.now, 0, 0), set()
            else:
                group = [
                    ask(
                        *(f"{example} {one}" for one in who),
                        price=price,
                        marks=marks and "".join(marks[: len(who)]),
                        asked=asked and "".join(asked[: len(who)]),
                    )
                    for who, price, marks, asked in step
                ]
                outcomes = ledger.charge_many(group)
                expected = [model.charge(*one) for one in step]
                charged = [found.charged if isinstance(found, Receipt) else None for found in outcomes]
                assert [one is None for one in charged] == [one is None for one in expected]
                assert sum(filter(None, charged)) == sum(filter(None, expected))
        for entity in ENTITIES:
            spent = ledger.spent(f"{example} {entity}").spent
            assert [spent["releases"], round(spent["epsilon"] * UNIT)] == model.counts(entity)[1:]
            assert ledger.spent(f"{example} {entity}").variants == len(model.asked.get(entity, ()))

    with Ledger.open(url, KEY, limits=LIMITS, clock=time.clock()) as ledger:
        check()


# Many at once


@pytest.mark.parametrize("together", [1, 3])
def test_eight_threads_get_exactly_what_is_allowed(ledger, together):
    def hammer(_):
        good, ended = 0, False
        while not ended:
            outcomes = ledger.charge_many([ask("a") for _ in range(together)])
            good += sum(isinstance(outcome, Receipt) for outcome in outcomes)
            ended = all(isinstance(outcome, RefusedError) for outcome in outcomes)
        return good

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(hammer, range(8))) == 50
    assert releases(ledger, "a") == [50]
    assert ledger.totals().charged == 50


def test_threads_that_repeat_one_release_pay_once(ledger):
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: ledger.charge(ask("a", "b", marks="xx")), range(40)))
    assert sum(receipt.charged for receipt in receipts) == 2
    assert releases(ledger, "a", "b") == [1, 1]


HAMMER = """
import sys, threading
from uuid import uuid4
from privee.gateway.budget.releases import Releases
from privee.gateway.ledger.ledger import *
ledger, good = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits((Releases(50),))), []
def hammer():
    try:
        while True:
            good.append(ledger.charge(ChargeRequest(["other", "a"], Price(), "key", uuid4().hex)))
    except RefusedError:
        pass
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=hammer) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(good))
"""


def test_two_processes_get_exactly_what_is_allowed(url, ledger):
    processes = [start(HAMMER, url) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    counts = [int(process.communicate(timeout=30)[0]) for process in processes]
    assert sum(counts) == 50
    assert releases(ledger, "a", "other") == [50, 50]


def test_batches_in_opposite_order_do_not_lock_each_other_out(url, open_ledger):
    ledger = open_ledger(url, Limits())
    names = [f"e{number}" for number in range(200)]

    def charge(turn):
        for _ in range(15):
            ledger.charge(ask(*names[::turn]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(charge, [1, -1, 1, -1]))
    assert releases(ledger, names[0], names[-1]) == [60, 60]


CRASHING = """
import os, random, signal, sys, time
from uuid import uuid4
from privee.gateway.ledger.ledger import *
Ledger.open(sys.argv[1], b"k" * 32, limits=Limits()).close()
reads, writes = os.pipe()
for turn in range(20):
    child = os.fork()
    if not child:
        ledger = Ledger.open(sys.argv[1], b"k" * 32, limits=Limits())
        os.write(writes, b"x")
        while True:
            asks = [ChargeRequest([f"a{turn}", f"b{turn}"], Price(), "key", uuid4().hex) for _ in range(turn % 3 + 1)]
            for receipt in ledger.charge_many(asks):
                os.write(1, f"{turn} {receipt.charged}\\n".encode())
    os.read(reads, 1)
    time.sleep(random.uniform(0, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_killed_at_any_moment_it_never_counts_less_than_was_released(url, open_ledger):
    lines = output(CRASHING, url).split("\n")[:-1]
    assert len(lines) > 20
    ledger = open_ledger(url)
    for turn in range(20):
        seen = lines.count(f"{turn} 2")
        a, b = releases(ledger, f"a{turn}", f"b{turn}")
        assert a == b
        assert seen <= a <= seen + turn % 3 + 1  # at most one group was under way
