"""Columns as files hold them, made into the two kinds privee knows: numbers (float64) and text; missing is null."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from privee.data.tables.dates import seconds_of_dates
from privee.errors import PriveeError, TableError

Kind = Literal["numeric", "categorical"]

MISSING_MARKERS = ("", "na", "nan", "?", "null")  # in any case
_WHOLE = r"[+-]?([0-9]+|[1-9][0-9]{0,2}(\.[0-9]{3})+)"
WITH_COMMA, GROUPED = rf"^({_WHOLE}|[+-]?),[0-9]+([eE][+-]?[0-9]+)?$", rf"^{_WHOLE}$"
"""Numbers with a decimal comma, and whole ones beside them, a dot between thousands or none."""
WHOLE_ID = r"^(0|-?[1-9][0-9]{0,17})$"
THREE_DECIMALS = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
FEW_VALUES, MOSTLY = 20, 0.9
"""A column with more values than this, of which so many are numbers, is one of numbers."""
TOO_LARGE = pa.scalar(1 << 63, pa.uint64())
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def is_missing(text: str | None) -> bool:
    """Whether a label or cell stands for "not known"."""
    return text is None or text.strip().lower() in MISSING_MARKERS


def kind_of(column: Any) -> Kind:
    """Kind of a column made by this module."""
    return "numeric" if pa.types.is_floating(column.type) else "categorical"


def text_cells(column: Any) -> Any:
    """CSV cells without white space around them, null where one stands for "not known"."""
    cells = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(cells), value_set=pa.array(MISSING_MARKERS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), cells)


def has_decimal_commas(column: Any, delimiter: str) -> bool:
    """Whether the numbers of a CSV column are written as 1.234,5.

    Where a comma parts the cells too, 1,234 in quotes may be a thousand, so another number of decimals must be there.
    """
    cells = pc.drop_null(text_cells(column))
    with_comma = cells.filter(pc.match_substring_regex(cells, WITH_COMMA))
    if not len(with_comma) or not _all(pc.match_substring_regex(cells, f"{WITH_COMMA}|{GROUPED}")):
        return False
    return delimiter != "," or not _all(pc.match_substring_regex(with_comma, THREE_DECIMALS))


def from_text(column: Any, kind: Kind | None, where: str, *, decimal_comma: bool = False) -> Any:
    """A column of CSV cells: numbers if every cell that is not missing is one, or all are dates; else text.

    That is, unless `kind` is given. A column that is nearly all numbers, and has many of them, is no category by
    intention: it is refused, so that somebody looks at the rest. White space around a cell is no part of it.
    """
    text = text_cells(column)
    if kind == "categorical":
        return text
    plain = _dotted(text) if decimal_comma else text
    try:
        return _without_nan(pc.cast(plain, pa.float64()))
    except pa.ArrowInvalid:
        dates = seconds_of_dates(text)
        if dates is not None:
            return dates
        if kind == "numeric":
            row, cell = _first_no_number(plain, text)
            raise TableError(f"{where} must hold numbers; data row {row} holds something else", example=cell) from None
    _refuse_text_among_numbers(text, where)
    return text


def _refuse_text_among_numbers(text: Any, where: str) -> None:
    known = len(text) - text.null_count
    if known <= FEW_VALUES or pc.count_distinct(text).as_py() <= FEW_VALUES:
        return
    matches = pc.match_substring_regex(text, f"{NUMBER}|{WITH_COMMA}|{GROUPED}")
    numbers = pc.sum(matches).as_py() or 0
    if known > numbers >= MOSTLY * known:
        place, others = pc.index(matches, False).as_py(), known - numbers
        row, cell = place + 1, text[place].as_py()
        raise TableError(
            f"{where} holds numbers, but {others:,} of {known:,} cells {'is' if others == 1 else 'are'} something "
            f"else, first at data row {row}: correct or empty them, leave the column out with --drop, or take it for a "
            "category with --categorical",
            example=cell,
        )


def _dotted(text: Any) -> Any:
    """Numbers with a decimal comma as others write them; a column that holds anything else stays as it is."""
    if not _all(pc.match_substring_regex(pc.drop_null(text), f"{WITH_COMMA}|{GROUPED}")):
        return text
    return pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")


def _first_no_number(plain: Any, text: Any) -> tuple[int, str]:
    """The data row and the cell."""
    return next((row, text[row - 1].as_py()) for row, cell in enumerate(plain, 1) if not _is_number(cell))


def _all(matches: Any) -> bool:
    return bool(pc.all(matches, min_count=0).as_py())


def are_dates(column: Any) -> bool:
    """Whether a column of a file holds dates or times, which become numbers."""
    if not _is_text(column.type):
        return bool(pa.types.is_temporal(column.type))
    return seconds_of_dates(text_cells(column)) is not None


def from_typed(column: Any, kind: Kind | None, where: str) -> Any:
    """A Parquet column by its type; whole numbers become text only if `kind` says so."""
    column = _decoded(column)
    codes = kind == "categorical" and pa.types.is_integer(column.type)
    if _is_text(column.type) or pa.types.is_boolean(column.type) or codes:
        return pc.cast(column, pa.string())
    if _is_number_type(column.type):
        return _without_nan(pc.cast(column, pa.float64(), safe=False))  # whole numbers beyond 2**53 are rounded
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        return _seconds(column)
    raise PriveeError(
        f"{where} holds {_type_name(column.type)}; features are numbers, text, booleans or dates: convert or remove it"
    )


def ids_of(column: Any, where: str) -> Any:
    """The id column as text, exactly. Fractional types are refused: 7 and 7.0 would be two entities."""
    column = _decoded(column)
    if not pa.types.is_integer(column.type) and not _is_text(column.type):
        raise PriveeError(f"{where} holds {_type_name(column.type)}; ids are text or whole numbers")
    ids = pc.cast(column, pa.large_string())
    missing = pc.fill_null(pc.equal(ids, ""), True)
    row = pc.index(missing, True).as_py()
    if row >= 0:
        count = pc.sum(missing).as_py()
        more = f"; {count:,} of {len(ids):,} rows have none" if count > 1 else ""
        raise TableError(f"{where} has no id at data row {row + 1}{more}: give them ids or take them out")
    return ids


def are_whole(column: Any, *, typed: bool) -> bool:
    """Whether ids are whole numbers of 64 bits: by the type of a Parquet column; in CSV, if each is written as such."""
    column = _decoded(column)
    if not typed:
        return _all(pc.match_substring_regex(column, WHOLE_ID))
    return pa.types.is_integer(column.type) and (column.type != pa.uint64() or _all(pc.less(column, TOO_LARGE)))


def labels_of(column: Any, where: str) -> list[str]:
    """The label column as text; a missing label is the empty text."""
    column = _decoded(column)
    held = column.type
    if not (_is_text(held) or _is_number_type(held) or pa.types.is_boolean(held) or pa.types.is_temporal(held)):
        raise PriveeError(f"{where} holds {_type_name(held)}; labels are text, numbers or booleans")
    return [(text or "").strip() for text in pc.cast(column, pa.string()).to_pylist()]


def _decoded(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_text(kind: Any) -> bool:
    return any(check(kind) for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_number_type(kind: Any) -> bool:
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(check(kind) for check in checks)


def _seconds(column: Any) -> Any:
    """Dates, times and durations as seconds: since 1970, since midnight, or long."""
    kind = column.type
    counts = pc.cast(pc.cast(column, pa.int32() if kind.bit_width == 32 else pa.int64()), pa.float64(), safe=False)
    if pa.types.is_date32(kind):
        return pc.multiply(counts, 86_400.0)
    return pc.divide(counts, PER_SECOND["ms" if pa.types.is_date64(kind) else kind.unit])


def _without_nan(numbers: Any) -> Any:
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def _is_number(cell: Any) -> bool:
    try:
        pc.cast(cell, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _type_name(kind: Any) -> str:
    """Arrow's name of a type without its parts: those of a struct would fill the line."""
    return str(kind).split("<", 1)[0]
