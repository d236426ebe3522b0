"""What repeatable draws are keyed on, as bytes: unambiguous, because every part carries its kind and length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.scores.forms import Floats


def messages(rows: Floats, entities: Any, queries: Any, *, one_vector: bool) -> list[bytes]:
    """One for each row: entity, query and exact scores. For one vector, entity and query come bare."""
    count = None if one_vector else len(rows)
    named = [_encoded_id(entity, f"the entity of row {i}") for i, entity in _by_row(entities, count, "entities")]
    asked = [b""] * len(rows) if queries is None else _queries(queries, count)
    return [entity + query + scores for entity, query, scores in zip(named, asked, _scores(rows), strict=True)]


def framed(kind: bytes, body: bytes) -> bytes:
    """A part of a message."""
    return kind + len(body).to_bytes(8, "big") + body


def as_text(text: str) -> bytes:
    """Never fails, so no id can end up in an error."""
    return text.encode("utf-8", "surrogatepass")


def _scores(rows: Floats) -> Iterable[bytes]:
    """Equal scores count as equal in any dtype, as does -0."""
    return _framed_rows(b"s", rows.astype("<f8") + 0.0)


def _framed_rows(kind: bytes, values: NDArray[np.float64], before: bytes = b"") -> Iterable[bytes]:
    """Each of the rows of an array as a part of its own, behind bytes that all of them have."""
    length, raw = values[0].nbytes if len(values) else 0, values.tobytes()
    start = kind + (len(before) + length).to_bytes(8, "big") + before
    return [start + raw[at * length : (at + 1) * length] for at in range(len(values))]


def _encoded_id(value: Any, what: str) -> bytes:
    """Ids of different kinds never meet: "7", 7 and b"7" are three entities."""
    if isinstance(value, str):
        return framed(b"t", as_text(value))
    if isinstance(value, bytes):
        return framed(b"b", value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        whole = int(value)
        return framed(b"i", whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True))
    raise PriveeError(f"{what} must be text, bytes or a whole number")


def _queries(queries: Any, count: int | None) -> Iterable[bytes]:
    by_row = _by_row(queries, count, "queries")
    if count and type(queries) is np.ndarray and queries.ndim > 1 and queries.dtype.kind in "biuf":
        return _numbers(queries)
    return [_query(query, i) for i, query in by_row]


def _query(query: Any, row: int) -> bytes:
    """As an id, or as numbers: equal numbers are the same query in any dtype, so a dtype buys no second release."""
    if isinstance(query, str | bytes | int | np.integer):
        return framed(b"q", _encoded_id(query, f"the query of row {row}"))
    try:
        values = np.asarray(query)
    except (TypeError, ValueError, RuntimeError):
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "biuf":
        raise PriveeError(f"the query of row {row} must be text, bytes, a whole number or an array of numbers")
    return next(iter(_numbers(values[None], row)))


def _numbers(queries: NDArray[Any], first_row: int = 0) -> Iterable[bytes]:
    """An array of numbers for each row, all of one shape."""
    values = queries.astype("<f8") + 0.0
    if np.isnan(values).any():
        row = first_row + int(np.isnan(values).reshape(len(values), -1).any(axis=1).argmax())
        raise PriveeError(f"the query of row {row} holds a NaN; fill in missing values first")
    return _framed_rows(b"a", values, framed(b"n", np.array(values.shape[1:], dtype="<i8").tobytes()))


def _by_row(values: Any, count: int | None, what: str) -> enumerate[Any]:
    """One value per row with its row number; `count` is None for one vector, whose one value comes bare."""
    if count is None:
        return enumerate([values])
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise PriveeError(f"{what} of a batch must be a list or array with one item per row")
    if len(values) != count:
        raise PriveeError(f"got {len(values)} {what} for {count} rows of scores")
    return enumerate(values)
