"""What people say of tables that the files do not tell: columns to leave out or to take for categories, delimiters."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from privee.data.files.arrow import no_column
from privee.data.tables.cells import Kind
from privee.data.tables.label_choices import LabelChoices
from privee.data.tables.reading import PartyTable
from privee.errors import SettingError

WORDS = {"tab": "\t", "\\t": "\t", "semicolon": ";", "comma": ",", "space": " "}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableChoices:
    """Each of these is for all parties, or for one if it is written `party:...`.

    Attributes:
        delimiter: what parts the cells of CSV files, where it is not found by itself.
        categorical: columns to take for categories, whole numbers that are codes for instance.
        drop: columns to leave out.
        label: what the labels mean.
    """

    delimiter: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    label: LabelChoices = dataclasses.field(default_factory=LabelChoices)

    def delimiter_of(self, party: str, parties: Collection[str]) -> str:
        """What parts the cells of this party's file; empty where it is to be found."""
        split = [_split(text, parties) for text in self.delimiter]
        chosen = [rest for whose, rest in split if whose == party] or [rest for whose, rest in split if whose is None]
        if len(chosen) > 1:
            raise SettingError(f"which delimiter is {party}'s? Give --delimiter PARTY:CHARACTER for each party")
        return WORDS.get(chosen[0], chosen[0]) if chosen else ""

    def kinds_of(self, party: str, parties: Collection[str]) -> dict[str, Kind]:
        """For `read_party_table`."""
        return dict.fromkeys(for_party(self.categorical, party, parties), "categorical")

    def check(self, tables: Mapping[str, PartyTable], files: Mapping[str, str]) -> None:
        """Refuse names of columns that no table has; one that is meant for all parties may be at any of them."""
        for text in (*self.categorical, *self.drop):
            party, column = _split(text, tables)
            among = tables if party is None else [party]
            if not any(column in (*tables[name].columns, *tables[name].left_out) for name in among):
                names = [name for one in among for name in tables[one].columns]
                raise no_column(files[party] if party else " and ".join(files.values()), column, names)


def for_party(texts: Collection[str], party: str, parties: Collection[str]) -> list[str]:
    """What is said for this party, `bank:column`, and for all, `column`."""
    split = [_split(text, parties) for text in texts]
    return [rest for whose, rest in split if whose in (party, None)]


def _split(text: str, parties: Collection[str]) -> tuple[str | None, str]:
    party, colon, rest = text.partition(":")
    return (party, rest) if colon and rest and party in parties else (None, text)
