"""Answers of a gateway: read into results that say where they come from, or into the error that they tell of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.client.errors import (
    GatewayError,
    GatewayUnavailable,
    NotAllowed,
    PartyFailed,
    QuotaReached,
    RateLimited,
    Refused,
    UnknownEntity,
    VariantsReached,
)

LONGEST_WORDS = 400
UNCOUNTED = ("party-", "scorer-unreachable", "scorer-deadline", "scorer-mismatch")
"""How codes begin of failures that cost nothing; a scorer that makes no scores of a row has told something about it."""
REFUSALS = {"ledger": Refused, "variants": VariantsReached, "party-budget": Refused}
REDIRECTED = "the address redirects elsewhere, and a key does not go along: give the real address"


@dataclasses.dataclass(frozen=True)
class Reply:
    """An HTTP answer; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's value; ValueError if it is not JSON."""
        return json.loads(self.body)

    def problem(self) -> dict[str, Any]:
        """The gateway's own account of a failure; empty if somebody else answered, such as a proxy."""
        try:
            found = self.json()
        except ValueError:
            return {}
        return found if isinstance(found, dict) and isinstance(found.get("code"), str) else {}

    @property
    def code(self) -> str:
        """The gateway's short word for a failure."""
        return str(self.problem().get("code", ""))

    @property
    def retry_after(self) -> float | None:
        """Seconds that the gateway asks us to wait."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() else None


def error_of(reply: Reply, *, effect: str, request_id: str) -> GatewayError:
    """What a failed request's answer means; `effect` as in Call."""
    problem = reply.problem()
    code, status = reply.code, reply.status
    words = _one_line(problem.get("error")) or f"the gateway answered with HTTP status {status}"
    about: dict[str, Any] = {"status": status, "code": code, "request_id": request_id}
    if code in REFUSALS:
        return REFUSALS[code](words, _details(problem.get("refused")), **about)
    if code == "quota":
        return QuotaReached(words, _details(problem.get("refused")), reply.retry_after, **about)
    if code == "unknown-entity":
        return UnknownEntity(words, _positions(problem.get("positions")), **about)
    if status == 429:
        return RateLimited(words, reply.retry_after, **about)
    if status >= 500 and not code.startswith(UNCOUNTED):
        return _unavailable(words, effect, about)
    kind = NotAllowed if status in {401, 403} else PartyFailed if status >= 500 else GatewayError
    return kind(REDIRECTED if 300 <= status < 400 else words, **about)


def unreadable(effect: str, request_id: str, status: int) -> GatewayUnavailable:
    """An answer that says all is well and cannot be read."""
    about = {"status": status, "code": "", "request_id": request_id}
    return _unavailable("the answer is not a privee gateway's", effect, about)


def read_release(answer: Any, count: int) -> Release:
    """The releases for `count` entities; ValueError and its like if these are none."""
    tensor = next(output for output in answer["outputs"] if output["name"] == "release")
    rows, classes = tensor["shape"]
    values = np.array(tensor["data"], dtype=np.float64)  # JSON carries doubles exactly: shortest digits, read back
    if tensor["datatype"] != "FP64" or rows != count or not np.isfinite(values).all():
        raise ValueError("not a release")
    said = answer["parameters"]
    return make_release(
        values.reshape(rows, classes),
        release_id=str(said["release_id"]),
        remaining=None if said["remaining"] < 0 else int(said["remaining"]),
        charged=int(said["charged"]),
        defense=str(said["defense"]),
        model_version=str(answer["model_version"]),
    )


def read_quote(answer: Any) -> Quote:
    """Read a price."""
    plain = {name: answer[name] for name in ("allowed", "asked", "spent", "limit", "remaining")}
    return Quote(**plain, positions=tuple(answer["positions"]), variants=dict(answer.get("variants", {})))


def read_new_key(answer: Any) -> NewKey:
    """A key that was made."""
    record = read_record(answer)
    return NewKey({name: value for name, value in record.items() if name != "key"}, str(record["key"]))


def read_record(answer: Any) -> dict[str, Any]:
    """Read a JSON object."""
    if not isinstance(answer, dict):
        raise TypeError("not an object")
    return answer


def read_records(answer: Any) -> list[dict[str, Any]]:
    """A list of JSON objects."""
    if not isinstance(answer, list):
        raise TypeError("not a list")
    return [read_record(item) for item in answer]


def _unavailable(words: str, effect: str, about: dict[str, Any]) -> GatewayUnavailable:
    said = f"{words}; {effect} (request id {about['request_id']})" if effect else words
    return GatewayUnavailable(said, maybe_counted=bool(effect), **about)


def _details(refused: Any) -> dict[str, Any]:
    given = refused if isinstance(refused, dict) else {}
    numbers = {name: given[name] for name in ("asked", "spent", "limit") if isinstance(given.get(name), dict)}
    return numbers | {"positions": _positions(given.get("positions")), "quota": _one_line(given.get("quota"))}


def _positions(given: Any) -> list[int]:
    return [place for place in given if isinstance(place, int)] if isinstance(given, list) else []


def _one_line(words: object) -> str:
    """A server's words without line breaks or anything that a terminal would act on."""
    text = " ".join(words.split()) if isinstance(words, str) else ""
    return "".join(letter for letter in text if letter.isprintable())[:LONGEST_WORDS]


class Release(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Releases as an array (n, K), one row per entity, or (K,) for one alone; with what the gateway said about them.

    Slices and copies keep what was said; results of arithmetic are plain arrays, for they are no release any more.

    Attributes:
        release_id: under which the ledger has the request.
        remaining: one number, the fewest left to any entity asked about: each can give at least so many more, while
            nobody else asks; None where nothing limits them.
        charged: releases that were charged; fewer than entities where draws are repeatable.
        defense: how they were made, such as "ordered-dp:epsilon=1.0".
        model_version: changes with any role's weights.
        classes: names of the columns, if `model()` was called before on the same version; else None.
    """

    release_id: str = ""
    remaining: int | None = None
    charged: int = 0
    defense: str = ""
    model_version: str = ""
    classes: tuple[str, ...] | None = None

    def __array_finalize__(self, source: NDArray[Any] | None) -> None:
        if isinstance(source, Release):
            self.__dict__.update(source.__dict__)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)


def make_release(values: NDArray[np.float64], **about: Any) -> Release:
    """These values as a release."""
    release = values.view(Release)
    release.__dict__.update(about)
    return release


@dataclasses.dataclass(frozen=True)
class Quote:
    """What a query would cost now, and whether it would be answered; plain numbers in the policy's own units.

    Attributes:
        allowed: whether it would be answered.
        asked, spent, limit: of the entity that has spent most.
        remaining: one number, the fewest releases left to any of the entities before this query; None where nothing
            limits them.
        positions: which of the entities do not allow it, as indices.
        variants: `used`, the most that any of the entities was asked about in, and `allowed`, None for any number;
            empty if the gateway is an older one.
    """

    allowed: bool
    asked: dict[str, float]
    spent: dict[str, float]
    limit: dict[str, float]
    remaining: int | None
    positions: tuple[int, ...]
    variants: dict[str, int | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class NewKey:
    """A key that was just made; `text` is what its owner sends, to be had only now and never shown in `repr`."""

    record: dict[str, Any]
    text: str = dataclasses.field(repr=False)
