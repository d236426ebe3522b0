"""The dashboard's addresses under /ui, and the way to it from the gateway's bare address."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from privee.gateway.http.problems import DeniedError
from privee.gateway.service import Service
from privee.gateway.ui.filters import read_filters
from privee.gateway.ui.overview import one_entity, overview
from privee.gateway.ui.page_route import SEE_OTHER, PageRoute, leave
from privee.gateway.ui.rendering import page
from privee.gateway.ui.sign_in import COOKIE, Reader, same_site, set_cookie, sign_in_of
from privee.party.wire import MAX_ENTITY_BYTES, is_entity

UNFIT = "This is not a valid key of an auditor or an administrator."

front = APIRouter(include_in_schema=False)
router = APIRouter(prefix="/ui", include_in_schema=False, route_class=PageRoute)


@front.get("/")
async def bare_address(request: Request) -> Response:
    """To the dashboard, for browsers; there is nothing here for programs."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    return RedirectResponse("/ui", SEE_OTHER)


@router.get("")
async def dashboard(request: Request, reader: Reader) -> Response:
    """Everything an auditor looks at, on one page."""
    filters = read_filters(request.query_params.multi_items())
    values = await overview(request.app.state.service, filters)
    return page("dashboard.html", reader=reader, here="/ui", **values)


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
    except DeniedError as denied:
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
    return leave(request)
