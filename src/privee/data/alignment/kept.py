"""An alignment that was made once, kept by every party for itself, for as long as no table's ids change.

Each party's folder holds that party's common ids and a keyed digest of all ids of its table (`tables.aligned`). Rows
are found again from these alone: nothing is exchanged, and no folder tells of ids that its owner does not hold.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from privee.data.alignment.ids import Rows
from privee.data.tables.aligned import ALIGNED, AlignedList, digest_of, read_ids
from privee.errors import PriveeError

LATEST = "alignment.parquet"
"""Of the tables that a command was given last; `aligned.parquet` belongs to the training and stays."""


@dataclasses.dataclass(frozen=True)
class KeptAlignment:
    """What was found of an earlier alignment.

    Attributes:
        rows: of the common records in each party's table, in the common order; None if it cannot be used.
        name: of the alignment.
        changed: parties whose tables have other ids than those that were aligned.
    """

    rows: Mapping[str, Rows] | None = None
    name: str = ""
    changed: tuple[str, ...] = ()


def find_kept(folders: Mapping[str, Path], ids: Mapping[str, Sequence[str]]) -> KeptAlignment:
    """The alignment that the parties' folders hold for tables with these ids, if they do."""
    found = KeptAlignment()
    for file in (ALIGNED, LATEST):
        about = {party: _about(folder / file) for party, folder in folders.items()}
        names = {one.get("alignment", "") for one in about.values()}
        if len(names) != 1 or not all(names):
            continue  # of different alignments, or one that says nothing of the tables
        changed = tuple(party for party, one in about.items() if not _same(ids[party], one))
        if changed:
            found = KeptAlignment(changed=changed)
            continue
        with contextlib.suppress(PriveeError, KeyError):
            rows = {party: _rows(folders[party] / file, ids[party]) for party in folders}
            if len({len(one) for one in rows.values()}) == 1:
                return KeptAlignment(rows, names.pop())
    return found


def keep(folders: Mapping[str, Path], lists: Mapping[str, AlignedList]) -> None:
    """Keep an alignment for the next command. Where that is not allowed, the next one aligns again."""
    with contextlib.suppress(OSError, PriveeError):
        for party, held in lists.items():
            held.write(folders[party] / LATEST)


def _about(path: Path) -> dict[str, str]:
    """What a file says of the alignment; nothing if it is not there, or not readable."""
    try:
        noted = arrow_parquet.read_schema(path).metadata or {}
        return {
            key.decode(): value.decode() for key, value in noted.items() if key in (b"salt", b"alignment", b"table")
        }
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return {}


def _same(ids: Sequence[str], about: Mapping[str, str]) -> bool:
    try:
        return hmac.compare_digest(digest_of(ids, about["salt"]), about["table"])
    except (KeyError, ValueError, TypeError):
        return False


def _rows(path: Path, ids: Sequence[str]) -> Rows:
    (column,) = arrow_parquet.read_schema(path).names
    place = {one: row for row, one in enumerate(ids)}
    return np.array([place[one] for one in read_ids(path, [column]).to_pylist()], dtype=np.int64)
