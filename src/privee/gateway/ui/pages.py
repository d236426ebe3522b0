"""The dashboard's addresses under /ui."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from privee.gateway.http.problems import Denied
from privee.gateway.ledger.database import LedgerUnavailable, clear_errors
from privee.gateway.service import Service
from privee.gateway.ui.overview import one_entity, overview
from privee.gateway.ui.rendering import page
from privee.gateway.ui.sign_in import COOKIE, NotSignedInError, Reader, clear_cookie, same_site, set_cookie, sign_in_of
from privee.gateway.ui.timeline import DEFAULT, RANGES
from privee.party.wire import MAX_ENTITY_BYTES, is_entity

SEE_OTHER = 303
UNFIT = "This is not a valid key of an auditor or an administrator."
TITLES = {400: "Not understood", 403: "Not allowed", 429: "Too many requests", 503: "The ledger cannot be read"}


class PageRoute(APIRoute):
    """Failures as pages instead of JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what goes wrong in it caught."""
        handler = super().get_route_handler()

        async def caught(request: Request) -> Response:
            try:
                with clear_errors():
                    return await handler(request)
            except NotSignedInError:
                return _leave(request)
            except Denied as denied:
                return _problem(denied.status, denied.words, denied.headers)
            except LedgerUnavailable as error:
                return _problem(503, f"{error}.")
            except RequestValidationError:  # its words may quote what was sent
                return _problem(400, "This is not what the form sends.")

        return caught


router = APIRouter(prefix="/ui", include_in_schema=False, route_class=PageRoute)


@router.get("")
async def dashboard(request: Request, reader: Reader, range: str = "", refresh: str = "") -> Response:
    """Everything an auditor looks at, on one page."""
    service: Service = request.app.state.service
    shown = RANGES.get(range, DEFAULT)
    values = await overview(service, shown)
    return page("dashboard.html", reader=reader, refresh=refresh == "30", **values)


@router.post("/entity", dependencies=[Depends(same_site)])
async def entity(request: Request, reader: Reader, entity: Annotated[str, Form()] = "") -> Response:
    """What one entity has given away. By POST, so that its id is in no address and no log."""
    service: Service = request.app.state.service
    found: dict[str, Any] = {}
    problem = ""
    if not is_entity(entity):
        problem = f"An id has 1 to {MAX_ENTITY_BYTES} bytes."
    else:
        found = await service.read(one_entity, service, entity)
    limited = bool(service.ledger.limits.policies)
    about = {"reader": reader, "model": service.model, "limited": limited, "problem": problem}
    return page("entity.html", 400 if problem else 200, **about, **found)


@router.get("/login")
async def ask_for_key(request: Request) -> Response:
    """The form to sign in with."""
    return page("login.html", problem="")


@router.post("/login", dependencies=[Depends(same_site)])
async def sign_in(request: Request, key: Annotated[str, Form()] = "") -> Response:
    """Start a session. Every unfit key gets the same words: unknown, revoked, or of a consumer."""
    address = request.client.host if request.client else ""
    try:
        found = await sign_in_of(request).sign_in(request.app.state.access, key.strip(), address)
    except Denied as denied:
        answer = page("login.html", denied.status, problem=denied.words)
        answer.headers.update(denied.headers)
        return answer
    if found is None:
        return page("login.html", 401, problem=UNFIT)
    record, token = found
    request.state.log = {"key": record.id}
    answer = RedirectResponse("/ui", SEE_OTHER)
    set_cookie(answer, token, secured=request.app.state.service.settings.secured)
    return answer


@router.post("/logout", dependencies=[Depends(same_site)])
async def sign_out(request: Request) -> Response:
    """End the session."""
    sign_in_of(request).sessions.end(request.cookies.get(COOKIE, ""))
    return _leave(request)


def _leave(request: Request) -> Response:
    answer = RedirectResponse("/ui/login", SEE_OTHER)
    clear_cookie(answer, secured=request.app.state.service.settings.secured)
    return answer


def _problem(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    answer = page("problem.html", status, title=TITLES.get(status, "Something went wrong"), words=words)
    answer.headers.update(headers or {})
    return answer
