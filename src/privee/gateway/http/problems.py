"""Every failure as one line of JSON: what went wrong, a code for programs, and never the data that was sent.

Bodies are looked over before they are parsed, because parsing stops everybody else's requests.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from privee.errors import PriveeError
from privee.gateway.http.protocol import Problem, Refusal
from privee.gateway.ledger.ledger import LedgerUnavailableError, RefusedError
from privee.party.errors import PartyError

if TYPE_CHECKING:
    from privee.gateway.http.middleware import Metrics

PARTY_STATUS = {"deadline": 504, "unreachable": 503, "unknown-entity": 404, "columns": 400, "budget": 429}
BAD_GATEWAY = 502
CODES = {400: "bad-request", 401: "no-key", 403: "not-allowed", 404: "not-found", 405: "method", 413: "too-large"}
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is not valid."},
    401: {"model": Problem, "description": "No valid API key."},
    403: {"model": Problem, "description": "The key's role or scope does not cover this."},
    404: {"model": Problem, "description": "No such model, or no joint record of some entity."},
    405: {"model": Problem, "description": "This address takes another method."},
    408: {"model": Problem, "description": "The request's body did not arrive in time."},
    413: {"model": Problem, "description": "The request is too large."},
    429: {
        "model": Refusal,
        "description": "What an entity may give, here or by a party's own ledger, its variants, the key's quota or its "
        "rate limit refuses.",
    },
    502: {"model": Problem, "description": "A party does not serve this model, or the scorer made no scores."},
    503: {
        "model": Problem,
        "description": "Party, scorer or ledger cannot be reached; nothing was released.",
    },
    504: {"model": Problem, "description": "A party or the scorer did not answer in time; nothing was released."},
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route's description says of these."""
    return {status: DOCUMENTED[status] for status in statuses}


HINTS = {
    "": ": send JSON, as /docs describes it",
    "inputs": ': send a tensor "entities", such as '
    '{"name": "entities", "shape": [1], "datatype": "BYTES", "data": ["17"]}',
}


class DeniedError(Exception):
    """Ends a request with this status."""

    def __init__(self, status: int, code: str, words: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.status, self.code, self.words, self.headers = status, code, words, headers or {}


def problem(status: int, code: str, words: str, **more: Any) -> JSONResponse:
    """The body of every failure."""
    return JSONResponse({"error": words, "code": code} | more, status)


@dataclasses.dataclass(frozen=True)
class Told:
    """What is told of a failure, whichever way it was asked: HTTP's status, a code, one line, and more for programs."""

    status: int
    code: str
    words: str
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def response(self) -> JSONResponse:
        """As HTTP tells it."""
        answer = problem(self.status, self.code, self.words, **self.more)
        answer.headers.update(self.headers)
        return answer


def told_of(error: Exception, metrics: Metrics, kind: str = "application/json") -> Told:
    """Words for a failure, which is counted; `kind` is what the sender called its body. Raises what has no words."""
    tellers = _tellers()
    for family in type(error).__mro__:
        if family in tellers:
            return tellers[family](error, metrics, kind)
    raise error


async def problem_of(request: Request, error: Exception) -> Response:
    """The response to a request that failed so. Raises what nobody has words for."""
    return told_of(error, request.app.state.metrics, request.headers.get("content-type", "")).response()


def handle_problems(app: FastAPI) -> None:
    """Let FastAPI tell the same where it is asked."""
    for family in _tellers():
        app.add_exception_handler(family, problem_of)


def _denied(error: Any, metrics: Metrics, _: str) -> Told:
    if error.status == 429:
        metrics.refusals.labels("rate").inc()
    return Told(error.status, error.code, error.words, headers=error.headers)


def _refused(error: Any, metrics: Metrics, _: str) -> Told:
    metrics.refusals.labels(error.code).inc()
    wait = {} if error.retry_after is None else {"retry-after": str(max(error.retry_after, 1))}
    return Told(429, error.code, str(error), {"refused": error.details()}, wait)


def _party(error: Any, metrics: Metrics, _: str) -> Told:
    status = PARTY_STATUS.get(error.kind, BAD_GATEWAY)
    if error.kind == "budget":  # a refusal, not a failure: it does what it should
        metrics.refusals.labels("party-budget").inc()
        return Told(status, "party-budget", str(error))
    if error.kind != "unknown-entity":
        metrics.party_errors.labels(error.party, error.kind).inc()
        return Told(status, f"{error.role}-{error.kind}", str(error))
    # Which party lacks the record is that party's secret.
    metrics.refusals.labels("unknown-entity").inc()
    places = ", ".join(map(str, error.positions[:20])) + (", ..." if len(error.positions) > 20 else "")
    words = f"there is no {error.record} of {len(error.positions)} of the entities (positions {places})"
    return Told(status, "unknown-entity", words, {"positions": list(error.positions)})


def _unavailable(error: Any, metrics: Metrics, _: str) -> Told:
    return Told(503, "ledger-unavailable", f"{error}; nothing was released")


def _bad(error: Any, metrics: Metrics, _: str) -> Told:
    return Told(400, "bad-request", str(error))


def _invalid(error: Any, metrics: Metrics, kind: str) -> Told:
    """Where and what, without the value that was sent."""
    first = error.errors()[0]
    if first["loc"] == ("body",) and "json" not in kind:
        return Told(400, "bad-request", "send JSON, and say so: Content-Type: application/json")
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:120]
    return Told(400, "bad-request", _wrong(place, first)[:300])


def _wrong(place: str, found: Mapping[str, Any]) -> str:
    """What is absent or empty in plain words, as that is what most often happens; anything else as pydantic says it."""
    hint = HINTS.get(place, "")
    if found["type"] == "missing":
        return f"{place} is missing{hint}" if place else f"the request has no body{hint}"
    if found["type"] in {"too_short", "string_too_short"} and not found.get("input"):
        return f"{place} is empty{hint}"
    return f"{place or 'body'}: {found['msg']}"


def _http(error: Any, metrics: Metrics, _: str) -> Told:
    code = CODES.get(error.status_code, "error")
    return Told(error.status_code, code, str(error.detail), headers=error.headers or {})


Teller = Callable[[Any, "Metrics", str], Told]


@functools.cache
def _tellers() -> dict[type, Teller]:
    return {
        DeniedError: _denied,
        RefusedError: _refused,
        PartyError: _party,
        LedgerUnavailableError: _unavailable,
        PriveeError: _bad,
        RequestValidationError: _invalid,
        HTTPException: _http,
    }


MOST_VALUES = 110_000
"""In a body that is no query: the longest is a list of 100,000 entities to reset."""
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MARKS = (b",", b"[", b"{")


def check_values(body: bytes, most: int) -> None:
    """Refuse JSON with more than `most` values; found by counting marks, a hundred times sooner than by parsing."""
    if _marks(body) > most and _marks(_TEXT.sub(b'""', body)) > most:  # marks inside texts are none
        raise DeniedError(400, "bad-request", f"a request may hold {most} values, lists and objects counted")


def _marks(body: bytes) -> int:
    return sum(body.count(mark) for mark in _MARKS)


class BoundedRoute(APIRoute):
    """A route whose requests hold a bounded number of values."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with a look at the body before it is parsed."""
        handler = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            if request.method == "POST":
                check_values(await request.body(), MOST_VALUES)
            return await handler(request)

        return bounded
