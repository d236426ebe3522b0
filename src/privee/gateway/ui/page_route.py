"""Routes whose failures are pages for people."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from privee.durable.database import LedgerUnavailableError, clear_errors
from privee.gateway.http.problems import DeniedError
from privee.gateway.ui.rendering import page
from privee.gateway.ui.sign_in import NotSignedInError, clear_cookie

SEE_OTHER = 303
TITLES = {
    400: "Not understood",
    403: "Not allowed",
    404: "Not found",
    429: "Too many requests",
    503: "The ledger cannot be read",
}


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
                return leave(request)
            except DeniedError as denied:
                return _problem(denied.status, denied.words, denied.headers)
            except LedgerUnavailableError as error:
                return _problem(503, f"{error}.")
            except RequestValidationError:  # its words may quote what was sent
                return _problem(400, "This is not what the form sends.")

        return caught


def leave(request: Request) -> Response:
    """To where one signs in, without a session."""
    answer = RedirectResponse("/ui/login", SEE_OTHER)
    clear_cookie(answer, secured=request.app.state.service.settings.secured)
    return answer


def _problem(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    answer = page("problem.html", status, title=TITLES.get(status, "Something went wrong"), words=words)
    answer.headers.update(headers or {})
    return answer
