"""Turns values into pages: templates that escape everything, and headers that let a page load nothing."""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import Any

from fastapi import Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from privee.gateway.ui import filters


def page(template: str, status: int = 200, /, **values: Any) -> Response:
    """A whole page."""
    text = environment().get_template(template).render(**values)
    return HTMLResponse(text, status, headers={"content-security-policy": _policy()})


@functools.cache
def environment() -> Environment:
    """The templates and what they may use."""
    made = Environment(
        loader=PackageLoader("privee.gateway.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters.FILTERS
    made.globals |= {"style": _style()}
    return made


@functools.cache
def _style() -> Markup:
    """The style sheet, which is ours and needs no escaping."""
    loader = PackageLoader("privee.gateway.ui")
    return Markup(loader.get_source(Environment(autoescape=True), "style.css")[0])  # noqa: S704


@functools.cache
def _policy() -> str:
    """Nothing runs and nothing is loaded; one style sheet, named by its hash; forms go here alone."""
    digest = base64.b64encode(hashlib.sha256(str(_style()).encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
