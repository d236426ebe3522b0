"""Values as people write them, and pages made of them.

Templates escape everything, and headers let a page load nothing.
"""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import math
from collections.abc import Callable
from typing import Any

from fastapi import Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from privee.gateway.numbers_as_text import counted, number

NO_BREAK = "\u00a0"
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def percent(share: float) -> str:
    """Rounded down, so that only what is used up reads 100 %.

    Example:
        >>> [percent(share).replace(NO_BREAK, " ") for share in (0.0, 0.004, 0.999, 1.0)]
        ['0 %', 'under 1 %', '99 %', '100 %']
    """
    if 0 < share < 0.01:
        return f"under 1{NO_BREAK}%"
    return f"{math.floor(100 * share + 1e-9)}{NO_BREAK}%"


def milliseconds(seconds: float) -> str:
    """How long a party took.

    Example:
        >>> [milliseconds(seconds).replace(NO_BREAK, " ") for seconds in (0.0004, 0.0123, 2.04)]
        ['0.4 ms', '12 ms', '2.0 s']
    """
    if seconds >= 1:
        return f"{seconds:.1f}{NO_BREAK}s"
    return f"{1000 * seconds:.{0 if seconds >= 0.01 else 1}f}{NO_BREAK}ms"


def span(seconds: int) -> str:
    """A length of time in its largest whole unit.

    Example:
        >>> [span(seconds) for seconds in (86400, 7 * 86400, 5400, 45)]
        ['1 day', '7 days', '90 minutes', '45 seconds']
    """
    size, unit = next(pair for pair in UNITS if seconds % pair[0] == 0)
    return counted(seconds // size, unit)


def when(seconds: float) -> str:
    """A time, in UTC; what cannot be one, in a ledger that somebody tampered with, as it is.

    Example:
        >>> when(0), when(10**18)
        ('1970-01-01 00:00:00 UTC', '1000000000000000000')
    """
    return _utc(seconds, "%Y-%m-%d %H:%M:%S UTC")


def iso(seconds: float) -> str:
    """The same for machines.

    Example:
        >>> iso(0)
        '1970-01-01T00:00:00Z'
    """
    return _utc(seconds, "%Y-%m-%dT%H:%M:%SZ")


def sentence(text: str) -> str:
    """With a capital in front and a full stop behind.

    Example:
        >>> sentence("the full ranking"), sentence("none.")
        ('The full ranking.', 'None.')
    """
    return text[:1].upper() + text[1:].rstrip(".") + "."


def coded(text: str) -> Markup:
    """What stands between backticks as code; all of it escaped.

    Example:
        >>> coded("`remaining` < 1")
        Markup('<code>remaining</code> &lt; 1')
    """
    parts = [
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(text.split("`"))
    ]
    return Markup("").join(parts)


def _utc(seconds: float, pattern: str) -> str:
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime(pattern)
    except (TypeError, ValueError, OverflowError, OSError):
        return str(seconds)


OUTCOMES = {"released": "answered", "refused": "refused", "refused-variants": "refused for another variant"}
"""What became of a request, in words, by what the ledger calls it."""
FILTERS: dict[str, Callable[..., Any]] = {
    "number": number,
    "counted": counted,
    "percent": percent,
    "milliseconds": milliseconds,
    "span": span,
    "when": when,
    "iso": iso,
    "sentence": sentence,
    "coded": coded,
}


def page(template: str, status: int = 200, /, **values: Any) -> Response:
    """Make a whole page from a template."""
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
    made.filters |= FILTERS
    made.globals |= {"style": _style(), "outcomes": OUTCOMES}
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
