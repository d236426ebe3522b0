"""Requests to a gateway as plain values: what is sent, and how its answer is read."""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Set
from numbers import Integral
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from privee.client import replies
from privee.client.replies import NewKey, Quote, Release
from privee.errors import PriveeError

Result = TypeVar("Result")
Entities = str | int | Iterable[str | int]
COUNTED = "the ledger may have counted it"
DONE = "it may have taken effect"


@dataclasses.dataclass(frozen=True)
class Call(Generic[Result]):
    """One request: what is sent, and how its answer is read.

    Attributes:
        method, path, body: what is sent.
        read: makes the result from the answer's JSON.
        effect: what may have happened if the answer is lost; empty for requests that change nothing.
        request_id: the same for every attempt.
    """

    method: str
    path: str
    body: dict[str, Any] | None
    read: Callable[[Any], Result]
    effect: str = ""
    request_id: str = dataclasses.field(default_factory=lambda: secrets.token_hex(8))

    def headers(self) -> dict[str, str]:
        """Sent with it, besides the key."""
        return {"x-request-id": self.request_id} | ({} if self.body is None else {"content-type": "application/json"})

    def content(self) -> bytes | None:
        """The body as ASCII, so that any text gets through; floats with the digits that give them back exactly."""
        return None if self.body is None else json.dumps(self.body, separators=(",", ":"), allow_nan=False).encode()


@dataclasses.dataclass(frozen=True)
class InferQuery:
    """Checked entities and columns, as the protocol writes them; `single` if one was asked about alone."""

    inputs: list[dict[str, Any]]
    count: int
    single: bool


def query(entities: Entities, columns: ArrayLike | None = None) -> InferQuery:
    """Entities (text or whole numbers), and the active party's own columns, one row for each."""
    single = isinstance(entities, str | Integral)
    if isinstance(entities, bytes | bytearray | Set | Mapping):  # bytes would pass as numbers, a set has no order
        raise PriveeError("give entities as a list of texts or whole numbers, or one of them alone")
    given = [entities] if single or not isinstance(entities, Iterable) else entities
    ids = [_entity(entity, position) for position, entity in enumerate(given)]
    if not ids:
        raise PriveeError("give one entity at least")
    inputs: list[dict[str, Any]] = [{"name": "entities", "shape": [len(ids)], "datatype": "BYTES", "data": ids}]
    if columns is not None:
        inputs.append(_columns(columns, len(ids), single))
    return InferQuery(inputs, len(ids), single)


def infer(model: str, asked: InferQuery) -> Call[Release]:
    """Ask for releases."""

    def read(answer: Any) -> Release:
        release = replies.read_release(answer, asked.count)
        return release[0] if asked.single else release

    return Call("POST", f"{_model(model)}/infer", {"inputs": asked.inputs}, read, COUNTED)


def price(model: str, asked: InferQuery) -> Call[Quote]:
    """What that would cost."""
    return Call("POST", f"{_model(model)}/price", {"inputs": asked.inputs}, replies.read_quote)


def metadata(model: str) -> Call[dict[str, Any]]:
    """What the model takes and gives."""
    return Call("GET", _model(model), None, replies.read_record)


def server() -> Call[dict[str, Any]]:
    """Ask who answers."""
    return Call("GET", "/v2", None, replies.read_record)


def health() -> Call[bool]:
    """Whether the gateway can answer."""
    return Call("GET", "/v2/health/ready", None, lambda answer: bool(replies.read_record(answer).get("ready")))


def spent(entity: str | int) -> Call[dict[str, Any]]:
    """What an entity has given away; its id goes in the body, so that no access log has it."""
    return Call("POST", "/ledger/spent", {"entity": _entity(entity, 0)}, replies.read_record)


def totals() -> Call[dict[str, Any]]:
    """Ask for the counts so far."""
    return Call("GET", "/ledger/totals", None, replies.read_record)


def chain() -> Call[dict[str, Any]]:
    """Whether the audit chain is unbroken."""
    return Call("GET", "/ledger/chain", None, replies.read_record)


def log(last: int) -> Call[list[dict[str, Any]]]:
    """The latest administrative acts."""
    return Call("GET", f"/ledger/log?last={int(last)}", None, replies.read_records)


def list_keys() -> Call[list[dict[str, Any]]]:
    """Ask for all keys."""
    return Call("GET", "/admin/keys", None, replies.read_records)


def create_key(name: str, *, scopes: Iterable[str] | None, **wanted: Any) -> Call[NewKey]:
    """Make a key; what is None is left to the gateway."""
    if isinstance(scopes, str):
        raise PriveeError("scopes must be a list of models' names")
    given = wanted | {"scopes": None if scopes is None else [*scopes]}
    body = {"name": name} | {what: value for what, value in given.items() if value is not None}
    return Call("POST", "/admin/keys", body, replies.read_new_key, DONE)


def revoke_key(key_id: str, reason: str) -> Call[dict[str, Any]]:
    """Revoke a key."""
    return Call("POST", f"{_key(key_id)}/revoke", {"reason": reason}, replies.read_record, DONE)


def set_quotas(key_id: str, reason: str, quotas: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """Change what a key may use up."""
    return Call("POST", f"{_key(key_id)}/quotas", {"reason": reason, **quotas}, replies.read_record, DONE)


def reset(entity: str | int, reason: str) -> Call[dict[str, Any]]:
    """Let an entity start from nothing again."""
    body = {"entity": _entity(entity, 0), "reason": reason}
    return Call("POST", "/admin/entities/reset", body, replies.read_record, DONE)


def reset_many(entities: Iterable[str | int] | None, key_id: str | None, since: int | None, reason: str) -> Call[int]:
    """The same for many."""
    ids = None if entities is None else [_entity(entity, position) for position, entity in enumerate(entities)]
    given = {"entities": ids, "key_id": key_id, "since": since}
    body = {"reason": reason} | {what: value for what, value in given.items() if value is not None}
    return Call("POST", "/admin/entities/reset-many", body, lambda answer: int(answer["entities"]), DONE)


def _key(key_id: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{8}", key_id, re.ASCII):  # a whole key, perhaps: it must not go into an address
        raise PriveeError("a key's id has 8 hexadecimal digits: the part between the two underscores")
    return f"/admin/keys/{key_id}"


def _model(name: str) -> str:
    return f"/v2/models/{quote(name, safe='')}"


def _entity(entity: object, position: int) -> str:
    if isinstance(entity, str):
        return str(entity)
    if not isinstance(entity, bool) and isinstance(entity, Integral):
        return str(int(entity))
    raise PriveeError(f"the entity at position {position} is neither text nor a whole number")


def _columns(columns: ArrayLike, count: int, single: bool) -> dict[str, Any]:
    try:
        given = np.asarray(columns)
        values = given if given.dtype == np.float32 else given.astype(np.float64)
    except (TypeError, ValueError):
        raise PriveeError("columns must be an array of numbers, one row per entity") from None
    values = values[None] if single and values.ndim == 1 else values
    if values.ndim < 2 or len(values) != count:
        raise PriveeError(f"columns must have one row for each of the {count} entities")
    if not np.isfinite(values).all():
        raise PriveeError("columns must hold finite numbers")
    datatype = "FP32" if values.dtype == np.float32 else "FP64"
    return {"name": "columns", "shape": list(values.shape), "datatype": datatype, "data": values.ravel().tolist()}
