"""Asks, clocks and processes that tests of the ledger share."""

import subprocess
import sys
from uuid import uuid4

import pytest

from privee.durable.clock import MonotonicClock
from privee.gateway.budget.base import BudgetPolicy
from privee.gateway.budget.releases import Releases
from privee.gateway.budget.total_epsilon_advanced import TotalEpsilonAdvanced
from privee.gateway.budget.total_epsilon_basic import TotalEpsilonBasic
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Limits, OverQuotaError, Price
from privee.gateway.ledger.quotas import Quotas

KEY = b"k" * 32
ONE = Price()


def allow(
    releases: int | None = None,
    epsilon: int | None = None,
    delta: float = 0.0,
    window: int | None = None,
    variants: int | None = None,
) -> Limits:
    """Limits by whole numbers, epsilon in trillionths; delta above 0 is advanced composition."""
    policies: list[BudgetPolicy] = [] if releases is None else [Releases(releases)]
    if epsilon is not None:
        policies.append(TotalEpsilonAdvanced(epsilon, delta) if delta else TotalEpsilonBasic(epsilon))
    return Limits(tuple(policies), window, variants)


FIFTY = allow(releases=50)


def ask(
    *entities: str, price: Price = ONE, marks: str | None = None, asked: str | None = None, key_id: str = "key"
) -> ChargeRequest:
    """`marks`, `asked`: one letter per entity, in place of its fingerprint and of what the active party put in."""
    fingerprints = None if marks is None else [mark.encode() * 32 for mark in marks]
    questions = None if asked is None else [letter.encode() for letter in asked]
    return ChargeRequest(entities, price, key_id, uuid4().hex, fingerprints, questions)


def releases(ledger: Ledger, *entities: str) -> list[float]:
    return [ledger.spent(entity).spent["releases"] for entity in entities]


class Time:
    """A wall clock and a steady one, both moved by hand."""

    def __init__(self, wall: float = 1e9, elapsed: float = 50.0) -> None:
        self.wall, self.elapsed = wall, elapsed

    def clock(self) -> MonotonicClock:
        return MonotonicClock(wall=lambda: self.wall, elapsed=lambda: self.elapsed)


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603


def output(script: str, *arguments: str) -> str:
    with start(script, *arguments) as process:
        found, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return found


def keys_of(ledger: Ledger) -> KeyStore:
    return KeyStore(ledger.engine, ledger.chain_key, ledger.now)


def new_key(ledger: Ledger, **quotas) -> str:
    return keys_of(ledger).create("n", "consumer", ["*"], actor="me", quotas=Quotas.parse(**quotas)).record.id


def by(key_id: str, *entities: str, price: Price = ONE, marks: str | None = None) -> ChargeRequest:
    one = ask(*entities, price=price, marks=marks)
    return ChargeRequest(one.entities, one.price, key_id, one.release_id, one.fingerprints)


def refusal(ledger: Ledger, asked: ChargeRequest) -> OverQuotaError:
    with pytest.raises(OverQuotaError) as refused:
        ledger.charge(asked)
    assert "\n" not in str(refused.value)
    return refused.value
