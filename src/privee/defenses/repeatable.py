"""Repeatable draws: the same query about the same entity gets the same release, so repeating it teaches nothing.

The draws of a row are fixed by a secret key and everything the release depends on: the defense and its settings, the
model version, the entity, the query and the exact scores. The scores are in it because draws shared by two different
score vectors would cancel out and show how the scores differ. So the worst a wrong label does is a fresh release.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, overload

import numpy as np

from privee.defenses.base import Defense
from privee.defenses.repeatable_messages import as_text, framed, messages
from privee.defenses.row_draws import RowDraws, stream_keys
from privee.defenses.secret_keys import check_key, read_key
from privee.errors import SettingError
from privee.randomness import KeystreamDraws
from privee.scores import check_rows, to_rows
from privee.scores.along_rows import row_blocks
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
    _stream_keys: Callable[[Iterable[bytes]], list[bytes]] = dataclasses.field(init=False, repr=False)

    def __post_init__(self, key: bytes) -> None:
        if not isinstance(self.defense, Defense):
            raise SettingError('the first argument must be a defense, e.g. privee.defense("privee-u:rho=0.1")')
        check_key(key)
        if not isinstance(self.model_version, str) or not self.model_version:
            raise SettingError("model_version must be a text that names the joint model")
        defense, version = _settings(self.defense), as_text(self.model_version)
        start = b"privee repeatable v1" + framed(b"d", defense) + framed(b"v", version)
        object.__setattr__(self, "_stream_keys", stream_keys(key, start))

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
        return form.restore(self._released(rows, messages(rows, entities, queries, one_vector=form.one_vector)))

    def _released(self, rows: Floats, asked: list[bytes]) -> Floats:
        """Releases of checked rows, with the draws that these messages stand for."""
        return (_in_batches if self.defense.rows_apart else _one_by_one)(self.defense, rows, self._stream_keys(asked))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Repeatable holds a secret key and is not copied; make one there, e.g. from the key file")


def _in_batches(defense: Defense, rows: Floats, keys: list[bytes]) -> Floats:
    """Blocks of rows, each of which gets the very draws that it would get alone."""
    out = np.empty_like(rows)
    for block in row_blocks(rows):
        out[block] = defense.release(rows[block], draws=RowDraws(keys[block]), check_sum=False)
    return out


def _one_by_one(defense: Defense, rows: Floats, keys: list[bytes]) -> Floats:
    """How many draws a defense takes, and in which shape, is then its own affair."""
    out = np.empty_like(rows)
    for i, key in enumerate(keys):
        out[i] = defense.release(rows[i], draws=KeystreamDraws(key), check_sum=False)
    return out


def _settings(defense: Defense) -> bytes:
    """Name and all settings, defaults too; 1 and 1.0 are the same setting."""
    plain = json.loads(json.dumps(defense.settings()), parse_float=_whole_if_it_is)
    return json.dumps(plain, sort_keys=True).encode()


def _whole_if_it_is(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value
