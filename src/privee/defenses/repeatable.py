"""Repeatable draws: the same query about the same entity gets the same release, so repeating it teaches nothing.

The draws of a row are fixed by a secret key and everything the release depends on: the defense and its settings, the
model version, the entity, the query and the exact scores. The scores are in it because draws shared by two different
score vectors would cancel out and show how the scores differ. So the worst a wrong label does is a fresh release.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any, NoReturn, overload

import numpy as np

from privee.defenses.base import Defense
from privee.defenses.secret_keys import check_key, read_key
from privee.errors import PriveeError, SettingError
from privee.randomness import Draws, keyed
from privee.scores import check_rows, to_rows
from privee.scores.forms import Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Repeatable:
    """A defense whose draws are keyed instead of fresh. The key is kept out of `repr`, `vars` and pickles.

    Args:
        defense: what turns scores into a release.
        key: at least 16 secret bytes, see `new_key`. Another key means other draws, that is one more release.
        model_version: names the joint model; change it whenever the model changes.

    Example:
        >>> import privee
        >>> repeatable = Repeatable(privee.PriveeU(rho=0.1), key=privee.new_key(), model_version="risk 3")
        >>> first, second = (repeatable.release([0.7, 0.2, 0.1], entities="customer 7") for _ in range(2))
        >>> bool((first == second).all())
        True
    """

    defense: Defense
    _: dataclasses.KW_ONLY
    key: dataclasses.InitVar[bytes]
    model_version: str
    _row_draws: Callable[[bytes], Draws] = dataclasses.field(init=False, repr=False)

    def __post_init__(self, key: bytes) -> None:
        if not isinstance(self.defense, Defense):
            raise SettingError('the first argument must be a defense, e.g. privee.defense("privee-u:rho=0.1")')
        check_key(key)
        if not isinstance(self.model_version, str) or not self.model_version:
            raise SettingError("model_version must be a text that names the joint model")
        object.__setattr__(self, "_row_draws", _draws_by_row(key, self.defense, self.model_version))

    @classmethod
    def from_key_file(cls, defense: Defense, path: str | os.PathLike[str], *, model_version: str) -> Repeatable:
        """Take the bytes of a file as the key; refuses a file that everybody can read or write."""
        return cls(defense, key=read_key(path), model_version=model_version)

    @overload
    def release(self, scores: Floats, *, entities: Any, queries: Any = None, check_sum: bool = True) -> Floats: ...
    @overload
    def release(self, scores: Any, *, entities: Any, queries: Any = None, check_sum: bool = True) -> Any: ...
    def release(self, scores: Any, *, entities: Any, queries: Any = None, check_sum: bool = True) -> Any:
        """Hand out a release in place of the scores; the same again for the same entity, query and scores.

        Args:
            scores: one vector (K,) or a batch (n, K), as for `Defense.release`.
            entities: the passive records' own ids (text, bytes or whole numbers), one per row; for one vector, one id.
            queries: what was asked, one per row: text, bytes, a whole number, or the active party's columns as an
                array row. None: the scores alone tell queries about an entity apart.
            check_sum: False accepts rows that do not sum to one.

        Raises:
            PriveeError: scores, entities or queries are not valid; the message names the row.
        """
        rows, form = to_rows(scores)
        check_rows(rows, check_sum=check_sum)
        count = None if form.one_vector else len(rows)
        named = [_encoded_id(entity, f"the entity of row {i}") for i, entity in _by_row(entities, count, "entities")]
        asked = [b""] * len(rows) if queries is None else [_query(q, i) for i, q in _by_row(queries, count, "queries")]
        out = np.empty_like(rows)
        for i, message in enumerate(map(_message, named, asked, rows)):
            # One row at a time: how many draws a defense takes, and in which shape, is then its own affair.
            out[i] = self.defense.release(rows[i], draws=self._row_draws(message), check_sum=False)
        return form.restore(out)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Repeatable holds a secret key and is not copied; make one there, e.g. from the key file")


def _draws_by_row(key: bytes, defense: Defense, model_version: str) -> Callable[[bytes], Draws]:
    """From a row's message to its draws. The key lives in this closure alone, which no `repr` or `vars` shows."""
    start = b"privee repeatable v1" + _framed(b"d", _settings(defense)) + _framed(b"v", _text(model_version))
    return lambda message: keyed(key, start + message)


def _settings(defense: Defense) -> bytes:
    """Name and all settings, defaults too; 1 and 1.0 are the same setting."""
    plain = json.loads(json.dumps(defense.settings()), parse_float=_whole_if_it_is)
    return json.dumps(plain, sort_keys=True).encode()


def _whole_if_it_is(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _message(entity: bytes, query: bytes, scores: Floats) -> bytes:
    """Unambiguous: every part carries its kind and length. Equal scores count as equal in any dtype, as does -0."""
    return entity + query + _framed(b"s", (scores.astype("<f8") + 0.0).tobytes())


def _framed(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(8, "big") + body


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # never fails, so no id can end up in an error


def _encoded_id(value: Any, what: str) -> bytes:
    """Ids of different kinds never meet: "7", 7 and b"7" are three entities."""
    if isinstance(value, str):
        return _framed(b"t", _text(value))
    if isinstance(value, bytes):
        return _framed(b"b", value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        whole = int(value)
        return _framed(b"i", whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True))
    raise PriveeError(f"{what} must be text, bytes or a whole number")


def _query(query: Any, row: int) -> bytes:
    """As an id, or as numbers: equal numbers are the same query in any dtype, so a dtype buys no second release."""
    if isinstance(query, str | bytes | int | np.integer):
        return _framed(b"q", _encoded_id(query, f"the query of row {row}"))
    try:
        values = np.asarray(query)
    except (TypeError, ValueError, RuntimeError):
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "biuf":
        raise PriveeError(f"the query of row {row} must be text, bytes, a whole number or an array of numbers")
    values = values.astype("<f8") + 0.0
    if np.isnan(values).any():
        raise PriveeError(f"the query of row {row} holds a NaN; fill in missing values first")
    return _framed(b"a", _framed(b"n", np.array(values.shape, dtype="<i8").tobytes()) + values.tobytes())


def _by_row(values: Any, count: int | None, what: str) -> enumerate[Any]:
    """One value per row with its row number; `count` is None for one vector, whose one value comes bare."""
    if count is None:
        return enumerate([values])
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise PriveeError(f"{what} of a batch must be a list or array with one item per row")
    if len(values) != count:
        raise PriveeError(f"got {len(values)} {what} for {count} rows of scores")
    return enumerate(values)
