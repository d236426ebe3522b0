"""The parties' own tables, read and brought into one order: aligned once, and from then on as it was kept."""

from __future__ import annotations

import dataclasses
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from privee.data.alignment import align
from privee.data.alignment.ids import Rows
from privee.data.alignment.kept import find_kept, keep
from privee.data.tables import PartyTable, Preprocessing, fit_preprocessing
from privee.data.tables.aligned import AlignedList
from privee.data.tables.cells import kind_of
from privee.errors import PriveeError, TableError
from privee.progress import Progress

Result = TypeVar("Result")
Tell = Callable[[str], None]
"""Takes one line for people."""

ID_LIKE = 20
"""From so many records on, a text that is another for every record is no category."""
MOST_CATEGORIES, MOST_ASKED = 100, 10_000
"""A text with more values is left out, unless somebody says that it is a category; then more are too many even so."""


@dataclasses.dataclass(frozen=True)
class Matched:
    """Tables with the records that all parties hold, in the common order, the active party's first.

    Attributes:
        tables: by party.
        rows: where each record is in the party's file.
        lists: what each party keeps of the alignment.
        kept: whether the alignment is that of an earlier command.
    """

    tables: dict[str, PartyTable]
    rows: Mapping[str, Rows]
    lists: dict[str, AlignedList]
    kept: bool

    @property
    def size(self) -> int:
        """How many records all parties hold."""
        return len(next(iter(self.rows.values())))


def matched(
    tables: Mapping[str, PartyTable],
    id_columns: Mapping[str, str],
    folders: Mapping[str, Path] | None = None,
    *,
    progress: Progress | None = None,
    tell: Tell = lambda line: None,
) -> Matched:
    """Bring the parties' rows into one order by private set intersection, or as an earlier one did.

    Args:
        tables: as read, the active party's first.
        id_columns: by party.
        folders: each party's own, where an alignment is kept; None keeps none.
        progress: called with how far the alignment is.
        tell: takes a line if tables have changed since they were aligned.
    """
    ids = {name: table.ids for name, table in tables.items()}
    found = find_kept(folders, ids) if folders else None
    if found is not None and found.rows is not None:
        rows, name, again = found.rows, found.name, True
    else:
        if found is not None and found.changed:
            tell(f"other ids than before at {', '.join(found.changed)}: aligning again")
        rows, name, again = align(ids, active=next(iter(tables)), progress=progress).rows, secrets.token_hex(16), False
    taken = {party: table.take(rows[party]) for party, table in tables.items()}
    lists = {party: AlignedList(id_columns[party], one.ids, ids[party], name) for party, one in taken.items()}
    if folders and not again:
        keep(folders, lists)
    return Matched(taken, rows, lists, again)


def of_party(party: str, work: Callable[[], Result]) -> Result:
    """Do something with a party's table; errors name the party."""
    try:
        return work()
    except TableError as error:
        raise error.of_party(party) from None
    except PriveeError as error:
        raise TableError(f"party {party}: {error}") from None


def check_ids(ids: Sequence[str], file: str) -> None:
    """Refuse ids that stand for two rows, before anything long begins."""
    counts = Counter(ids)
    if len(counts) == len(ids):
        return
    twice = {one for one, count in counts.items() if count > 1}
    places = [row for row, one in enumerate(ids) if one in twice]
    first = ids[places[0]]
    rows = [row + 1 for row in places if ids[row] == first][:2]
    raise TableError(
        f"{file} has {len(twice):,} duplicate id{'s' if len(twice) > 1 else ''}, {len(places):,} of {len(ids):,} rows; "
        f"first at data rows {rows[0]} and {rows[1]}: keep one row for each id",
        example=first,
    )


def fitted_columns(table: PartyTable, train: Rows, categories: Collection[str] = ()) -> Preprocessing:
    """A party's preprocessing, fitted on its training rows.

    Text with too many values is left out, unless somebody takes it for one of these categories.
    """
    texts = [
        name for name in table.columns if name not in categories and (is_id_like(table, name) or is_free(table, name))
    ]
    left = table.without(texts)
    if not left.columns:
        raise PriveeError(f"{table.name} has no columns but ids and texts with too many values: nothing to learn from")
    fitted = fit_preprocessing(left.take(train), max_categories=MOST_ASKED)
    return dataclasses.replace(fitted, dropped=(*fitted.dropped, *texts, *table.left_out))


def encoded(table: PartyTable, fitted: Preprocessing) -> NDArray[np.float32]:
    """The features of a table that may still hold what was left out in fitting."""
    return dataclasses.replace(fitted, dropped=()).apply(table.without(fitted.dropped))


def is_id_like(table: PartyTable, name: str) -> bool:
    """Whether a column is text that is another for every record."""
    column = table.columns[name]
    known = len(column) - column.null_count
    return kind_of(column) == "categorical" and known > ID_LIKE and len(column.drop_null().unique()) == known


def is_free(table: PartyTable, name: str) -> bool:
    """Whether a column is text with more values than a category has."""
    column = table.columns[name]
    return kind_of(column) == "categorical" and pc.count_distinct(column).as_py() > MOST_CATEGORIES
