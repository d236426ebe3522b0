"""Columns as files hold them, made into the two kinds privee knows: numbers (float64) and text; missing is null."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from privee.errors import PriveeError

Kind = Literal["numeric", "categorical"]

MISSING_MARKERS = ("", "na", "nan", "?", "null")  # in any case
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def is_missing(text: str | None) -> bool:
    """Whether a label or cell stands for "not known"."""
    return text is None or text.strip().lower() in MISSING_MARKERS


def kind_of(column: Any) -> Kind:
    """Kind of a column made by this module."""
    return "numeric" if pa.types.is_floating(column.type) else "categorical"


def from_text(column: Any, kind: Kind | None, where: str) -> Any:
    """A column of CSV cells: numbers if every cell that is not missing is one, else text, unless `kind` is given.

    White space around a cell is no part of it.
    """
    cells = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(pc.utf8_lower(cells), value_set=pa.array(MISSING_MARKERS))
    text = pc.if_else(missing, pa.scalar(None, pa.string()), cells)
    if kind == "categorical":
        return text
    try:
        return _without_nan(pc.cast(text, pa.float64()))
    except pa.ArrowInvalid:
        if kind == "numeric":
            row = next(row for row, cell in enumerate(text, 1) if not _is_number(cell))
            raise PriveeError(f"{where} must hold numbers; data row {row} holds something else") from None
        return text


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
        raise PriveeError(f"{where} has no id at data row {row + 1}")
    return ids


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
