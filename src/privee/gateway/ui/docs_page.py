"""The API's documentation at /docs, made from the OpenAPI document. Public, as the API itself is no secret."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from privee.gateway.ui.examples import ANY_KEY, EVERYONE, EXAMPLES, Example
from privee.gateway.ui.rendering import page

router = APIRouter(include_in_schema=False)
PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+\Z")
LINE = 52
SOME_URL = "http://127.0.0.1:8080"


class Operation(NamedTuple):
    """One method of one address, as the page shows it."""

    id: str
    group: str
    method: str
    path: str
    words: tuple[str, ...]
    who: str
    note: str
    query: tuple[tuple[str, str], ...]
    curl: str
    body: str
    answer: str
    failures: tuple[tuple[str, str], ...]


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Every operation with examples."""
    document = request.app.openapi()
    groups: dict[str, list[Operation]] = {}
    for operation in operations(document):
        groups.setdefault(operation.group, []).append(operation)
    here = str(request.base_url).rstrip("/")
    url = here if PLAIN_URL.match(here) else SOME_URL  # it comes from the request, and will be pasted into a shell
    model = shlex.quote(request.app.state.service.model.name)
    return page("docs.html", info=document["info"], groups=groups, url=url, model=model)


def operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    """All operations of an OpenAPI document, in its order."""
    for path, methods in document["paths"].items():
        for method, details in methods.items():
            yield _operation(path, method.upper(), details)


def curl(method: str, path: str, example: Example) -> str:
    """A command for a shell in which URL, KEY and MODEL are set.

    Example:
        >>> print(curl("GET", "/v2/models/{model}/ready", Example((), {})))
        curl "$URL/v2/models/$MODEL/ready"
    """
    lines = ["curl"]
    if example.who:
        lines.append('--header "Authorization: Bearer $KEY"')
    if example.body is not None:
        lines += ["--header 'Content-Type: application/json'", f"--data {shlex.quote(json.dumps(example.body))}"]
    elif method != "GET":
        lines.append(f"--request {method}")
    address = re.sub(r"\{(\w+)\}", lambda name: f"${name[1].upper()}", path)
    return " \\\n  ".join([*lines, f'"$URL{address}"']) if len(lines) > 1 else f'curl "$URL{address}"'


def who_may(example: Example) -> str:
    """The roles that may use an operation, in words.

    Example:
        >>> who_may(Example((), {})), who_may(Example(("auditor", "administrator"), {}))
        ('everyone, without a key', 'keys with the role auditor or administrator')
    """
    if not example.who:
        return "everyone, without a key"
    return f"keys with the role {', '.join(example.who[:-1])}{' or ' if example.who[:-1] else ''}{example.who[-1]}"


def _operation(path: str, method: str, details: Mapping[str, Any]) -> Operation:
    unknown = Example(ANY_KEY if details.get("security") else EVERYONE, "")
    example = EXAMPLES.get(details["operationId"], unknown)
    asked = [one for one in details.get("parameters", ()) if one["in"] == "query"]
    failures = [(status, one["description"]) for status, one in details["responses"].items() if status >= "4"]
    return Operation(
        id=details["operationId"],
        group=(details.get("tags") or ["other"])[0],
        method=method,
        path=path,
        words=tuple(details.get("description", details["summary"]).split("\n\n")),
        who=who_may(example),
        note=example.note,
        query=tuple((one["name"], _range(one["schema"])) for one in asked),
        curl=curl(method, path, example),
        body="" if example.body is None else _shown(example.body),
        answer=_shown(example.answer),
        failures=tuple((status, words) for status, words in failures if status != "422"),
    )


def _range(schema: Mapping[str, Any]) -> str:
    words = [f"from {schema['minimum']} to {schema['maximum']}"] if {"minimum", "maximum"} <= set(schema) else []
    return ", ".join([*words, f"{schema['default']} unless given"] if "default" in schema else words)


def _shown(value: Any, indent: str = "") -> str:
    """JSON, with whatever fits on a line on one line.

    Example:
        >>> print(_shown({"name": "a name that is long enough for a line", "shape": [2, 3]}))
        {
          "name": "a name that is long enough for a line",
          "shape": [2, 3]
        }
    """
    flat = value if isinstance(value, str) and not indent else json.dumps(value)
    if len(indent) + len(flat) <= LINE or not isinstance(value, dict | list):
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_shown(part, inner)}" for key, part in value.items()]
    else:
        parts = [_shown(part, inner) for part in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}{end}"
