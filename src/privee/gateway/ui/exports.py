"""The pages' tables as CSV files, for those who are signed in."""

from __future__ import annotations

import datetime
import re
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from privee.gateway.http.problems import DeniedError
from privee.gateway.service import Service
from privee.gateway.ui.csv_text import csv_text
from privee.gateway.ui.export_tables import EXPORTS
from privee.gateway.ui.filters import read_filters
from privee.gateway.ui.page_route import PageRoute
from privee.gateway.ui.sign_in import Reader

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=PageRoute)


@router.get("/export/{name}.csv")
async def export(request: Request, reader: Reader, name: str) -> Response:
    """A whole table, however long. Its first piece is read before the answer begins, so that a failure is a page."""
    service: Service = request.app.state.service
    filters, found = read_filters(request.query_params.multi_items()), EXPORTS.get(name)
    if found is None:
        raise DeniedError(404, "not-found", f"There is no such table; there are {', '.join(EXPORTS)}.")
    pieces = found.pieces(service, filters)
    first = await anext(pieces, list[tuple[Any, ...]]())

    async def written() -> AsyncIterator[bytes]:
        yield await service.read(csv_text, found.columns, first, True)
        async for rows in pieces:
            yield await service.read(csv_text, found.columns, rows)

    file = file_name(service.model.name, name, service.ledger.now())
    headers = {"content-disposition": f'attachment; filename="{file}"'}
    return StreamingResponse(written(), media_type="text/csv; charset=utf-8", headers=headers)


def file_name(model: str, table: str, now: float) -> str:
    """Model, table and day, of plain characters alone.

    Example:
        >>> file_name('risk "2"', "requests", 0)
        'risk-2-requests-1970-01-01.csv'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", model).strip("-.") or "model"
    return f"{plain}-{table}-{datetime.datetime.fromtimestamp(now, datetime.UTC).date()}.csv"
