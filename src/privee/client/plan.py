"""A request with its retries as a generator: it says what to send and how long to wait, and never does either.

A plan yields a Call and is given a Reply or a Failure, or yields seconds to wait and is given None. So the sync and the
async client, which differ in nothing but how they send and wait, follow the same plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import Any, Literal, TypeVar

from privee.client.calls import Call
from privee.client.errors import GatewayError, GatewayUnavailable
from privee.client.replies import Reply, error_of, unreadable

Result = TypeVar("Result")
BACKOFF = 0.1
LONGEST_WAIT = 5.0
"""Seconds that a rate limit is waited for; a longer wait is the caller's to decide."""
NOTHING_CHARGED = frozenset({"party-unreachable", "party-deadline", "scorer-unreachable", "scorer-deadline"})
"""The parties, or the scorer, are asked before the ledger is charged, so these failures cost nothing."""
UNAVAILABLE = frozenset({502, 503, 504})
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, StopIteration, OverflowError, RecursionError)


@dataclasses.dataclass(frozen=True)
class Failure:
    """No answer: `unsent` (nobody was reached), `tls` (somebody else was, perhaps) or `lost` (sent, and no answer)."""

    kind: Literal["unsent", "tls", "lost"]
    words: str


Outcome = Reply | Failure | None
Plan = Generator[Call[Any] | float, Outcome, Result]


def exchange(call: Call[Result], retries: int) -> Plan[Result]:
    """Send a call, again where that cannot charge anybody twice."""
    for attempt in range(retries + 1):
        outcome = yield call
        if isinstance(outcome, Reply) and outcome.status == 200:
            return _read(call, outcome)
        wait = wait_before_retry(outcome, attempt, changes_nothing=not call.effect)
        if wait is None or attempt == retries:
            break
        yield wait
    raise _error(call, outcome)


def wait_before_retry(outcome: Outcome, attempt: int, *, changes_nothing: bool) -> float | None:
    """Seconds to wait, or None if the call must not or need not be sent again."""
    backoff = BACKOFF * 2.0**attempt
    if isinstance(outcome, Failure):
        return backoff if outcome.kind == "unsent" or (outcome.kind == "lost" and changes_nothing) else None
    if outcome is None:
        return None
    if outcome.code == "rate":
        wait = outcome.retry_after
        return wait if wait is not None and wait <= LONGEST_WAIT else None
    if outcome.status not in UNAVAILABLE:
        return None
    return backoff if changes_nothing or outcome.code in NOTHING_CHARGED else None


def _read(call: Call[Result], reply: Reply) -> Result:
    try:
        return call.read(reply.json())
    except UNREADABLE:
        raise unreadable(call.effect, call.request_id, reply.status) from None


def _error(call: Call[Any], outcome: Outcome) -> GatewayError:
    if isinstance(outcome, Reply):
        return error_of(outcome, effect=call.effect, request_id=call.request_id)
    failure = outcome if isinstance(outcome, Failure) else Failure("lost", "no answer came")
    if failure.kind == "lost" and call.effect:
        words = f"{failure.words} after the request was sent: {call.effect} (request id {call.request_id})"
        return GatewayUnavailable(words, code=failure.kind, request_id=call.request_id, maybe_counted=True)
    return GatewayUnavailable(failure.words, code=failure.kind, request_id=call.request_id)
