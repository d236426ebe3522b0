"""The Python client when something fails: what is sent again, and what the errors say."""

import threading
import time

import pytest

from privee.client import (
    GatewayError,
    GatewayUnavailable,
    NotAllowed,
    PartyFailed,
    RateLimited,
    Refused,
    UnknownEntity,
    calls,
)
from privee.client.plan import Failure, exchange, wait_before_retry
from privee.client.replies import Reply
from tests._support.scripted_gateway import KINDS, Scripted, answer, ask, cut, dropped, hung, problem, released, use

# Retries: only where nothing can have been charged


@KINDS
@pytest.mark.parametrize(
    ("failing", "error", "sent", "counted"),
    [
        (problem(503, "party-unreachable"), PartyFailed, 3, False),
        (problem(504, "party-deadline"), PartyFailed, 3, False),
        (problem(502, "party-mismatch"), PartyFailed, 1, False),
        (problem(503, "ledger-unavailable"), GatewayUnavailable, 1, True),
        (problem(500, "internal"), GatewayUnavailable, 1, True),
        (answer(502, b"<html>bad gateway</html>"), GatewayUnavailable, 1, True),
        (answer(503, b"<html>busy</html>"), GatewayUnavailable, 1, True),
        (answer(504, b'"party-deadline"'), GatewayUnavailable, 1, True),
        (dropped, GatewayUnavailable, 1, True),
        (cut, GatewayUnavailable, 1, True),
        (hung, GatewayUnavailable, 1, True),
        (problem(429, "rate", retry_after=60), RateLimited, 1, False),
        (problem(429, "rate"), RateLimited, 1, False),
        (problem(401, "no-key"), NotAllowed, 1, False),
        (problem(403, "not-allowed"), NotAllowed, 1, False),
        (problem(404, "not-found"), GatewayError, 1, False),
        (problem(400, "party-columns"), GatewayError, 1, False),
        (problem(413, "too-large"), GatewayError, 1, False),
    ],
)
def test_only_what_cannot_have_been_charged_is_sent_again(kind, failing, error, sent, counted):
    with Scripted(failing) as server:
        with pytest.raises(GatewayError) as caught:
            use(kind, server.url, ask, timeout=0.3 if failing is hung else 10.0)
        assert type(caught.value) is error
        assert len(server.requests) == sent
        assert caught.value.maybe_counted is counted
        assert ("the ledger may have counted it" in str(caught.value)) is counted
        assert (f"request id {caught.value.request_id}" in str(caught.value)) is counted
        assert "\n" not in str(caught.value)


@KINDS
@pytest.mark.parametrize("failing", [problem(503, "party-unreachable"), problem(429, "rate", retry_after=0)])
def test_a_retry_that_works_gives_the_release(kind, failing):
    with Scripted(failing, failing, released()) as server:
        assert use(kind, server.url, ask).tolist() == [0.75, 0.25]
        assert len(server.requests) == 3
    with Scripted(failing, released()) as server, pytest.raises(GatewayError):
        use(kind, server.url, ask, retries=0)


@KINDS
@pytest.mark.parametrize("failing", [dropped, cut, problem(503, "ledger-unavailable"), answer(504, b"")])
def test_reading_may_be_tried_again_and_changing_may_not(kind, failing):
    with Scripted(failing, answer(200, {"releases": 3})) as server:
        assert use(kind, server.url, lambda client: client.spent("17")) == {"releases": 3}
    for change in (
        lambda client: client.keys.create("x"),
        lambda client: client.keys.revoke("0a1b2c3d", reason="gone"),
        lambda client: client.reset("17", reason="asked to"),
    ):
        with Scripted(failing) as server:
            with pytest.raises(GatewayUnavailable, match="it may have taken effect"):
                use(kind, server.url, change)
            assert len(server.requests) == 1


def test_a_short_rate_limit_is_waited_for():
    started = time.monotonic()
    with Scripted(problem(429, "rate", retry_after=1), released()) as server:
        use("sync", server.url, ask)
    assert time.monotonic() - started >= 1.0


@KINDS
def test_a_gateway_that_comes_up_meanwhile_is_reached(kind):
    with Scripted(released(), listen=False) as server:
        late = threading.Timer(0.15, server.server.server_activate)
        late.start()
        assert use(kind, server.url, ask, retries=4).shape == (2,)
        late.join()


@KINDS
def test_no_gateway_at_all_charges_nothing(kind):
    with Scripted(released(), listen=False) as server:
        with pytest.raises(GatewayUnavailable, match="cannot be reached") as caught:
            use(kind, server.url, ask)
        assert not caught.value.maybe_counted
        assert use(kind, server.url, lambda client: client.ready()) is False


def test_waits_grow_and_the_last_attempt_is_not_waited_for():
    call = calls.infer("risk", calls.query("17"))
    plan, busy = exchange(call, 3), Reply(503, {}, b'{"code": "party-unreachable"}')
    steps = [next(plan), *(plan.send(answered) for answered in [busy, None] * 3)]
    assert steps == [call, 0.1, call, 0.2, call, 0.4, call]
    with pytest.raises(PartyFailed):
        plan.send(busy)


def test_what_is_worth_waiting_for():
    for failure, safe, wait in [
        ("unsent", False, 0.1),
        ("lost", True, 0.1),
        ("lost", False, None),
        ("tls", True, None),
    ]:
        assert wait_before_retry(Failure(failure, ""), 0, changes_nothing=safe) == wait
    late = Reply(429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, b'{"code": "rate"}')
    assert wait_before_retry(late, 0, changes_nothing=True) is None


# Errors


def test_a_refusal_says_what_was_asked_spent_and_allowed():
    numbers = {"asked": {"releases": 1}, "spent": {"releases": 50}, "limit": {"releases": 50}}
    with Scripted(problem(429, "ledger", "no more", {"refused": numbers | {"positions": [1]}})) as server:
        with pytest.raises(Refused, match="no more") as caught:
            use("sync", server.url, ask)
        assert len(server.requests) == 1
    error = caught.value
    assert (error.asked, error.spent, error.limit) == ({"releases": 1}, {"releases": 50}, {"releases": 50})
    assert (error.positions, error.status, error.code, error.maybe_counted) == ((1,), 429, "ledger", False)


def test_unknown_entities_are_named_by_position():
    failing = problem(404, "unknown-entity", more={"positions": [0, 2]})
    with Scripted(failing) as server, pytest.raises(UnknownEntity) as caught:
        use("sync", server.url, ask)
    assert caught.value.positions == (0, 2)


@pytest.mark.parametrize("more", [{"refused": [1]}, {"refused": {"asked": 3, "positions": 7}}, {"refused": None}])
def test_a_strange_refusal_is_still_a_refusal(more):
    with Scripted(problem(429, "ledger", "no\x1b[31m\nmore", more)) as server, pytest.raises(Refused) as caught:
        use("sync", server.url, ask)
    assert (str(caught.value), caught.value.positions, caught.value.asked) == ("no[31m more", (), {})


@KINDS
def test_ready_is_yes_or_no(kind):
    script = [answer(200, {"ready": True}), problem(503, "not-ready", more={"ready": False}), answer(502, b""), dropped]
    with Scripted(*script) as server:
        found = [use(kind, server.url, lambda client: client.ready()) for _ in script]
    assert found == [True, False, False, False]
