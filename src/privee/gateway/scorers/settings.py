"""What a scorer is and where its rows come from, as it was told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from privee.errors import SettingError


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScorerSettings:
    """A model that stands alone.

    Attributes:
        given: a file, `module:function`, or the address of a model on another server.
        rows: a CSV or Parquet file, or the address of a database, with a row for each entity; None: rows come with
            requests.
        id_column: the column of `rows` that names entities.
        table: in a database: the table's name.
        columns: those of `rows` that the model takes, in its order; unless given, those that the model names, or all.
        classes: their names; unless given, the model's own, or numbers.
        features: numbers in a row that comes with a request, where the model does not say.
        input, output: names of the model's tensors, where there are several.
        logits: the model gives logits, of which a softmax makes scores.
        token: a file with a bearer token for the other server.
    """

    given: str
    rows: str | None = dataclasses.field(default=None, repr=False)  # may hold a password
    id_column: str | None = None
    table: str | None = None
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    features: int | None = None
    input: str | None = None
    output: str | None = None
    logits: bool = False
    token: Path | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and not self.id_column:
            raise SettingError("which column of --rows names the entities? Give --id COLUMN")
        if self.rows is None and (self.id_column or self.table):
            raise SettingError("--id and --table are for a table of rows: give it with --rows")
        if self.rows is not None and self.features is not None:
            raise SettingError("--features is for rows that come with requests; --rows has its own columns")
        if self.features is not None and self.features < 1:
            raise SettingError("a row has 1 feature or more")
        for what, names in (("class", self.classes), ("column", self.columns)):
            if len(set(names)) < len(names) or not all(names):
                raise SettingError(f"name each {what} once, with a comma between two")
        if len(self.classes) == 1:
            raise SettingError("there are two classes at least")
