"""Large asks are counted without a row for every entity; whatever they come to, it is what row by row would give."""

import random
from dataclasses import replace

import pytest

from privee.gateway.budget.price import UNIT
from privee.gateway.ledger import charging
from privee.gateway.ledger import ledger as ledger_module
from privee.gateway.ledger.ledger import Ledger, Price, Receipt, RefusedError
from tests._support.ledger_cases import KEY, ONE, Time, allow, ask

NEVER = 1 << 30
ENTITIES = [f"entity {k}" for k in range(12)]
LIMITS = {
    "releases": allow(releases=4),
    "epsilon": allow(epsilon=3 * UNIT, delta=1e-6),
    "variants": allow(releases=6, variants=2),
    "window": allow(releases=3, window=100, variants=3),
    "none": allow(),
}


def play(url: str, limits, many: int, monkeypatch, *, seed: int) -> list:
    """A random history, and everything that the ledger said in the course of it."""
    for module in (charging, ledger_module):
        monkeypatch.setattr(module, "MANY", many)
    rng, time = random.Random(seed), Time()
    said = []
    with Ledger.open(url, KEY, limits=limits, clock=time.clock()) as ledger:
        for _ in range(40):
            time.wall += (passed := rng.choice([0, 0, 1, 60]))
            time.elapsed += passed
            chosen = (
                rng.choices(ENTITIES, k=rng.randrange(1, 8))
                if rng.random() < 0.2
                else rng.sample(ENTITIES, rng.randrange(1, 9))
            )
            price = rng.choice([ONE, Price.of_epsilon(0.25), Price.of_epsilon(1.0)])
            asked = None if limits.variants is None else "".join(rng.choice("aaab") for _ in chosen)
            said.append(replace(ledger.price(chosen, price, "key"), refusal=None))
            admitted, hashes = ledger.admits(ask(*chosen, price=price))
            assert (admitted, hashes) == (said[-1].allowed, said[-1].hashes)
            (outcome,) = ledger.charge_many([ask(*chosen, price=price, asked=asked)])
            said.append(
                (outcome.charged, outcome.remaining)
                if isinstance(outcome, Receipt)
                else (type(outcome), outcome.details())
            )
        said.append([ledger.spent(entity).spent for entity in ENTITIES])
        said.append([ledger.spent(entity).variants for entity in ENTITIES])
        said.append(ledger.totals())
    return said


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_same_history_in_both_ways(kind, limits, request, tmp_path, monkeypatch):
    histories = []
    for many in (1, NEVER):
        if kind == "sqlite":
            url = f"sqlite:///{tmp_path / f'{many}.db'}"
        else:
            url = request.getfixturevalue("postgres").new_database()
        Ledger.create(url, KEY)
        histories.append(play(url, LIMITS[limits], many, monkeypatch, seed=len(limits)))
    assert histories[0] == histories[1]
    refusals = [one for one in histories[0] if isinstance(one, tuple) and isinstance(one[0], type)]
    assert bool(refusals) == (limits != "none")
    assert all(issubclass(kind, RefusedError) for kind, _ in refusals)


def test_one_that_does_not_fit_leaves_all_as_they_were(url, open_ledger):
    ledger = open_ledger(url, allow(releases=2))
    many = [str(k) for k in range(100)]
    ledger.charge(ask("7", "7"))
    with pytest.raises(RefusedError) as refused:
        ledger.charge(ask(*many))
    assert refused.value.positions == (7,)
    assert [ledger.spent(entity).spent["releases"] for entity in ("6", "7", "8")] == [0, 2, 0]
    assert ledger.charge(ask(*many[8:])).remaining == 1


def test_no_row_for_every_entity(url, open_ledger, monkeypatch):
    """The way that is meant is taken: the one with a row for every entity is not there."""
    ledger = open_ledger(url, allow(releases=5, variants=1))
    monkeypatch.setattr(ledger._counting, "charge", None)
    monkeypatch.setattr(ledger._counting, "look", None)
    many = [str(k) for k in range(5000)]
    assert ledger.price(many, ONE).remaining == 5
    receipt = ledger.charge(ask(*many, asked="a" * len(many)))
    assert (receipt.charged, receipt.remaining) == (5000, 4)
