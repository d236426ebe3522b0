"""The report of an audit, as it was when the gateway started, for those who are signed in."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from privee.gateway.http.problems import DeniedError
from privee.gateway.service import Service
from privee.gateway.ui.page_route import PageRoute
from privee.gateway.ui.sign_in import Reader

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
"""What the report allows itself, and no more if another file should pose as one: no script, nothing from elsewhere."""

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=PageRoute)


@router.get("/audit")
async def audit(request: Request, reader: Reader) -> Response:
    """The whole report."""
    service: Service = request.app.state.service
    if service.audit is None:
        raise DeniedError(404, "not-found", "No audit was given to this gateway: privee gateway serve --audit does.")
    return HTMLResponse(service.audit.page, headers={"content-security-policy": POLICY})
