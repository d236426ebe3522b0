"""Routes for queries without the machinery around others: FastAPI describes them, and is not asked about a request.

Most of the time of a small request went into finding its route among all, its dependencies and its fields. A query
needs one key, which was found before its body was read, and one body.
"""

from __future__ import annotations

import email.message
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from privee.gateway.http.access import NO_KEY
from privee.gateway.http.problems import check_values, problem_of
from privee.gateway.http.protocol import InferRequest

MOST_NAME = 128
_BEFORE, _JSON = "/v2/models/", "application/json"


class PlainRoute(APIRoute):
    """A route `/v2/models/{model}/WORD` whose function takes request, model, body and key.

    However a request gets here, it is checked and answered by `answer` alone.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """In place of FastAPI's own."""

        async def plain(request: Request) -> Response:
            return await self.answer(request, await request.body())

        return plain

    async def answer(self, request: Request, content: bytes) -> Response:
        """Check, in the order in which FastAPI did: values, the model's name, the key, the body."""
        model = request.path_params["model"]
        check_values(content, await request.app.state.service.most_values())
        if len(model) > MOST_NAME:
            raise _wrong("string_too_long", ("path", "model"), f"String should have at most {MOST_NAME} characters")
        key = getattr(request.state, "admitted", None)
        if key is None:  # a body that was read is that of a known key; should it ever not be
            raise NO_KEY
        answer: Response = await self.endpoint(request, model, read_body(request, content), key)
        return answer


class Shortcut:
    """ASGI middleware, behind the one that reads bodies: takes requests of plain routes straight to them."""

    def __init__(self, app: ASGIApp, *, routes: Mapping[str, PlainRoute]) -> None:
        self.app, self.routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or pass it on."""
        route, model = self._found(scope)
        if route is None:
            await self.app(scope, receive, send)
            return
        scope["route"], scope["path_params"] = route, {"model": model}
        request = Request(scope, receive)
        try:
            answer = await route.answer(request, scope["state"]["body"])
        except Exception as error:
            answer = await problem_of(request, error)
        await answer(scope, receive, send)

    def _found(self, scope: Scope) -> tuple[PlainRoute | None, str]:
        """Only what is surely such an address; of others FastAPI knows best."""
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith(_BEFORE):
            return None, ""
        model, _, word = scope["path"][len(_BEFORE) :].partition("/")
        return (self.routes.get(word), model) if model else (None, "")


def plain_routes(router: APIRouter) -> dict[str, PlainRoute]:
    """A router's, by their last words."""
    return {route.path.rpartition("/")[2]: route for route in router.routes if isinstance(route, PlainRoute)}


def read_body(request: Request, content: bytes) -> InferRequest:
    """What a request says, checked.

    Raises:
        RequestValidationError: what is wrong, and where.
    """
    if not content:
        raise _wrong("missing", ("body",), "Field required")
    given: Any = content
    if _is_json(request.headers.get("content-type", "")):
        try:
            given = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise _wrong("json_invalid", ("body", error.pos), "JSON decode error") from None
    try:
        return InferRequest.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise RequestValidationError([one | {"loc": ("body", *one["loc"])} for one in found]) from None


def _is_json(kind: str) -> bool:
    if kind == _JSON:
        return True
    message = email.message.Message()
    message["content-type"] = kind
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


def _wrong(kind: str, place: tuple[str | int, ...], words: str) -> RequestValidationError:
    return RequestValidationError([{"type": kind, "loc": place, "msg": words, "input": None}])
