"""A span around every request, where traces are wanted: its route as the template says, its method and its outcome."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privee import traces


class Traced:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with traces.span("privee.request") as tell:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    tell("http.response.status_code", message["status"])
                await send(message)

            try:
                await self.app(scope, receive, sending)
            finally:
                tell("http.request.method", scope["method"] if scope["method"].isalpha() else "other")
                tell("http.route", getattr(scope.get("route"), "path", "unknown"))
