"""Routes for queries without the machinery around others: FastAPI describes them, and is not asked about a request.

Most of the time of a small request went into finding its route among all, its dependencies and its fields. A query
needs one key, which was found before its body was read, and one body.
"""

from __future__ import annotations

import email.message
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from privee.errors import PriveeError
from privee.gateway.http.access import NO_KEY
from privee.gateway.http.binary import HEAD_LENGTH, attach, split
from privee.gateway.http.inference_routes import check_version
from privee.gateway.http.problems import check_values, problem_of
from privee.gateway.http.protocol import InferRequest

MOST_NAME = 128
_BEFORE, _JSON = "/v2/models/", "application/json"
_TAKEN = "privee.taken"
_UNNAMED = ("", "application/octet-stream")
"""What senders of binary tensors call their requests, if anything; their heads are JSON."""


class PlainRoute(APIRoute):
    """A route `/v2/models/{model}/WORD`, or of one version, whose function takes request, model, body and key.

    However a request gets here, it is checked and answered by `answer` alone.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """In place of FastAPI's own."""

        async def plain(request: Request) -> Response:
            return await self.answer(request, await request.body())

        return plain

    async def answer(self, request: Request, content: bytes) -> Response:
        """Check, in the order in which FastAPI did: values, the model's name, the key, the body."""
        model, service = request.path_params["model"], request.app.state.service
        if request.headers.get("content-encoding", "identity") != "identity":
            raise PriveeError("compressed requests are not taken: send it without Content-Encoding")
        head, behind = split(request.headers.get(HEAD_LENGTH), content)
        check_values(head, await service.most_values())
        if len(model) > MOST_NAME:
            raise _wrong("string_too_long", ("path", "model"), f"String should have at most {MOST_NAME} characters")
        key = getattr(request.state, "admitted", None)
        if key is None:  # a body that was read is that of a known key; should it ever not be
            raise NO_KEY
        check_version(service, request.path_params.get("version", ""))
        answer: Response = await self.endpoint(request, model, read_body(request, head, behind), key)
        return answer


class Shortcut:
    """In front of FastAPI: takes requests of plain routes straight to them.

    Args:
        routes: by the words behind the model's name.
        around: puts around them what is around every request, such as `Observed`, which reads their bodies.
    """

    def __init__(self, routes: Mapping[str, PlainRoute], around: Callable[[ASGIApp], ASGIApp]) -> None:
        self.routes, self._whole = routes, around(self._answer)

    async def answers(self, app: FastAPI, scope: Scope, receive: Receive, send: Send) -> bool:
        """Serve one request, or tell that it is not for here."""
        route, named = self._found(scope)
        if route is None:
            return False
        scope["app"], scope[_TAKEN] = app, (route, named)
        await self._whole(scope, receive, send)
        return True

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, named = scope[_TAKEN]
        scope["route"], scope["path_params"] = route, named  # not before: of who may not ask no route is noted
        request = Request(scope, receive)
        try:
            answer = await route.answer(request, scope["state"]["body"])
        except Exception as error:
            answer = await problem_of(request, error)
        await answer(scope, receive, send)

    def _found(self, scope: Scope) -> tuple[PlainRoute | None, dict[str, str]]:
        """Only what is surely such an address; of others FastAPI knows best."""
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith(_BEFORE):
            return None, {}
        match scope["path"][len(_BEFORE) :].split("/"):
            case [model, word] if model:
                return self.routes.get(word), {"model": model}
            case [model, "versions", version, word] if model and version:
                return self.routes.get(f"versions/{word}"), {"model": model, "version": version}
        return None, {}


def plain_routes(router: APIRouter) -> dict[str, PlainRoute]:
    """A router's, by the words behind the model's name."""
    return {_words(route.path): route for route in router.routes if isinstance(route, PlainRoute)}


def _words(path: str) -> str:
    parts = path.removeprefix(_BEFORE).split("/")
    return "/".join(part for part in parts if not part.startswith("{"))


def read_body(request: Request, head: bytes, behind: memoryview) -> InferRequest:
    """What a request says, checked, with the bytes behind its head.

    Raises:
        RequestValidationError: what is wrong, and where.
        PriveeError: the bytes are not those that the head speaks of.
    """
    if not head:
        raise _wrong("missing", ("body",), "Field required")
    if not _is_json(request.headers.get("content-type", "")):
        raise _wrong("model_type", ("body",), "Input should be JSON")
    try:
        given: Any = orjson.loads(head)
    except orjson.JSONDecodeError as error:
        raise _wrong("json_invalid", ("body", error.pos), "JSON decode error") from None
    return validated(attach(given, behind))


def validated(given: Any) -> InferRequest:
    """A request from plain values; what is wrong with them is told as if they were a body."""
    try:
        return InferRequest.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        # It was JSON, whatever it was called: a place of its own, or it would be told to be JSON.
        raise RequestValidationError([one | {"loc": ("body", *(one["loc"] or ("body",)))} for one in found]) from None


def _is_json(kind: str) -> bool:
    if kind == _JSON or kind in _UNNAMED:
        return True
    message = email.message.Message()
    message["content-type"] = kind
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


def _wrong(kind: str, place: tuple[str | int, ...], words: str) -> RequestValidationError:
    return RequestValidationError([{"type": kind, "loc": place, "msg": words, "input": None}])
