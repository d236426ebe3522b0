"""Text that a spreadsheet would take for a formula when it opens a CSV file.

Ids and column names come from outside. `=HYPERLINK(...)` as a customer's name is text to every program that reads CSV,
and a formula to Excel and LibreOffice. A quote in front makes it text there as well, and another id everywhere else; so
that is done only where it is asked for.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
