"""CSV read, CSV and Parquet written, through Arrow.

Text that a spreadsheet would take for a formula when it opens a CSV file.

Ids and column names come from outside. `=HYPERLINK(...)` as a customer's name is text to every program that reads CSV,
and a formula to Excel and LibreOffice. A quote in front makes it text there as well, and another id everywhere else; so
that is done only where it is asked for.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from privee.data.files.size_limits import refuse_wide
from privee.data.score_files.blocks import Block
from privee.errors import PriveeError
from privee.scores.columns import Columns, choose_columns
from privee.scores.forms import Floats

CSV_BLOCK = 1 << 20  # Arrow reads some 30 blocks ahead, so this is what bounds memory
CSV_CELL = 256  # and a row has to fit into a block
NOT_UTF8 = "this is no UTF-8 text: save it as UTF-8 (in a spreadsheet, as CSV UTF-8)"


class CsvReader:
    """A CSV file with a header. Kept columns are read as text, so ids such as 007 survive."""

    score_names: list[str] | None
    column_order: list[str] | None
    one_vector = False

    def __init__(self, path: Path, keep: Sequence[str], scores: Sequence[str], delimiter: str) -> None:
        self._path, self._delimiter = path, delimiter
        self._names = csv_names(path, delimiter)
        refuse_wide(len(self._names), path.name)
        self._columns = choose_columns(self._names, keep, scores)
        self.column_order, self.score_names = self._names, self._columns.scores
        self.width = len(self._columns.scores)
        self.size = path.stat().st_size
        self._file = pa.OSFile(str(path))  # not a Python file: Arrow reads ahead in threads, also while we exit
        types = dict.fromkeys(self._columns.scores, pa.float64()) | dict.fromkeys(self._columns.kept, pa.string())
        self._options = (
            arrow_csv.ReadOptions(block_size=max(CSV_BLOCK, CSV_CELL * len(self._names))),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )

    @property
    def done(self) -> int:
        return self.size if self._file.closed else self._file.tell()

    def blocks(self) -> Iterator[Block]:
        with self._file:
            try:
                for batch in arrow_csv.open_csv(self._file, *self._options):
                    yield make_block(batch, self._columns)
            except pa.ArrowInvalid as error:
                raise PriveeError(self._explain(str(error))) from None

    def _explain(self, message: str) -> str:
        """Arrow names a column and a cell; ours says in which row that cell is, and what can be done."""
        found = re.search(r"CSV column #(\d+).*invalid value '(.*)'", message, re.DOTALL)
        if found:
            name, row = self._names[int(found[1])], self._row_of(int(found[1]), found[2])
            place = f"data row {row}, column {name!r}" if row else f"column {name!r}"
            return f"{place} holds {shown(found[2])}, which is not a number (--id {name} would keep it as it is)"
        if "straddl" in message:
            return f"a row is longer than {max(CSV_BLOCK, CSV_CELL * len(self._names)):,} bytes"
        counts = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", message)
        if counts:
            return f"a row has {counts[3]} columns where the header has {counts[2]}"
        return NOT_UTF8 if "UTF8" in message else "this is not a readable CSV file"

    def _row_of(self, column: int, cell: str) -> int | None:
        """The first data row with this cell; the file is read once more, as only now a row is asked for."""
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                rows = (row for row in csv.reader(file, delimiter=self._delimiter) if row)
                next(rows)
                return next((n for n, row in enumerate(rows, 1) if len(row) > column and row[column] == cell), None)
        except (OSError, UnicodeDecodeError, csv.Error):  # then the column and the cell have to do
            return None


class TableWriter:
    """Writes blocks as CSV (if there is a delimiter) or Parquet, columns in their old order.

    `formulas` counts the text that a spreadsheet would take for a formula; with `spreadsheet` it is made plain text.
    """

    def __init__(
        self,
        path: Path,
        names: list[str] | None,
        order: list[str] | None,
        delimiter: str | None,
        *,
        spreadsheet: bool = False,
    ) -> None:
        self._path, self._names, self._order, self._delimiter = path, names, order, delimiter
        self._spreadsheet, self.formulas = spreadsheet, 0
        self._out: Any = None

    def write(self, block: Block) -> None:
        table = self._table(block)
        if self._delimiter is not None:
            self.formulas += count_formulas(table) + (count_formulas(header(table)) if self._out is None else 0)
            table = table_as_text(table) if self._spreadsheet else table
        if self._out is None:
            self._out = self._open(table.schema)
        self._out.write_table(table)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()

    def _table(self, block: Block) -> Any:
        names = self._names or [f"class_{k}" for k in range(block.scores.shape[1])]
        columns = {name: pa.array(block.scores[:, k]) for k, name in enumerate(names)}
        if block.kept is not None:
            kept = {name: block.kept.column(name) for name in block.kept.schema.names}
            columns |= kept if self._delimiter is None else {name: decoded(column) for name, column in kept.items()}
        return pa.table({name: columns[name] for name in self._order or names})

    def _open(self, schema: Any) -> Any:
        if self._delimiter is None:
            return arrow_parquet.ParquetWriter(self._path, schema)
        options = arrow_csv.WriteOptions(delimiter=self._delimiter)
        return arrow_csv.CSVWriter(self._path, schema, write_options=options)


def shown(cell: str, most: int = 40) -> str:
    """A cell as an example in an error, not longer than needed."""
    return repr(cell if len(cell) <= most else f"{cell[:most]}...")


def csv_names(path: Path, delimiter: str) -> list[str]:
    """The names in a CSV file's header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file, delimiter=delimiter))
    except StopIteration:
        raise PriveeError("the file is empty") from None
    except UnicodeDecodeError:
        raise PriveeError(NOT_UTF8) from None
    except csv.Error:
        raise PriveeError("this is not a readable CSV file") from None
    other = next((sign for sign in ";\t|" if sign in names[0]), None) if len(names) == 1 else None
    if other is not None:
        say = "call the file .tsv" if other == "\t" else f"say --delimiter '{other}'"
        raise PriveeError(f"the header is one column, and what parts it seems to be {other!r}: {say}")
    return names


def make_block(batch: Any, columns: Columns) -> Block:
    """Scores as numbers, and what is kept beside them."""
    scores = [_numbers(batch.column(name), name) for name in columns.scores]
    stacked: Floats = np.stack(scores, axis=1) if scores else np.empty((batch.num_rows, 0))
    return Block(stacked, batch.select(columns.kept) if columns.kept else None)


def _numbers(column: Any, name: str) -> Floats:
    """An empty cell becomes NaN, which validation then reports with its row."""
    if pa.types.is_float32(column.type) or pa.types.is_float64(column.type):
        numbers: Floats = column.to_numpy(zero_copy_only=False)
        return numbers
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    words = next((shown(cell) for cell in column.to_pylist() if isinstance(cell, str)), "")
    such = f" such as {words}" if words else ""
    raise PriveeError(f"column {name!r} holds {column.type}{such}, not scores: name it with --id to keep it")


# What OWASP lists, with the full-width forms that Excel takes for the same. A plain number begins so and is none.
_BEGINS = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def find_formulas(texts: Any) -> Any:
    """Which cells of an Arrow column of text begin like a formula."""
    begins, number = (pc.match_substring_regex(texts, pattern=pattern) for pattern in (_BEGINS, _NUMBER))
    return pc.fill_null(pc.and_not(begins, number), False)


def as_text(texts: Any) -> Any:
    """The same cells, with a quote before those that begin like a formula."""
    quoted = pc.binary_join_element_wise(pa.scalar("'", texts.type), texts, pa.scalar("", texts.type))
    return pc.if_else(find_formulas(texts), quoted, texts)


def header(table: Any) -> Any:
    """The column names as a table of their own."""
    return pa.table({"names": pa.array(table.column_names, pa.string())})


def count_formulas(table: Any) -> int:
    """How many cells of a table begin like a formula."""
    return sum(pc.sum(find_formulas(column)).as_py() or 0 for column in table.columns if is_text(column.type))


def table_as_text(table: Any) -> Any:
    """A table in which no cell and no name begins like a formula; numbers stay as they are."""
    columns = [as_text(column) if is_text(column.type) else column for column in table.columns]
    return pa.table(columns, names=as_text(header(table).column(0)).to_pylist())


def decoded(column: Any) -> Any:
    """A column whose text is coded or viewed, as plain text; any other as it is."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.cast(pa.large_string()) if is_text(kind) or pa.types.is_string_view(kind) else column


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
