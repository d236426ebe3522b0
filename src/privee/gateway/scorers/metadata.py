"""What another server of the Open Inference Protocol says of a model: which tensors it takes and gives."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from privee.errors import SettingError

DTYPES = {"FP64": "<f8", "FP32": "<f4", "FP16": "<f2", "INT64": "<i8", "INT32": "<i4"}
TEXTS = "BYTES"
FLOATS = ("FP16", "FP32", "FP64")


class About(NamedTuple):
    """What a server says of one tensor; a length that it leaves open is -1."""

    name: str
    datatype: str
    shape: tuple[int, ...]


UNNAMED = About("input-0", "FP64", (-1, -1))
"""What is sent to a server that does not say what it takes."""


def listed(said: Any) -> list[Any]:
    """What should be a list, and is empty if it is none."""
    return said if isinstance(said, list) else []


def described(said: Any) -> list[About]:
    """The inputs or outputs in a model's metadata; what has no name is left out."""
    found = [one for one in listed(said) if isinstance(one, dict) and "name" in one]
    return [About(str(one["name"]), str(one.get("datatype")), _lengths(one.get("shape"))) for one in found]


def whole_rows(inputs: list[About], wanted: str | None) -> About | None:
    """The tensor that takes whole rows; None if there is one for each column."""
    strange = [one.datatype for one in inputs if one.datatype not in (*DTYPES, TEXTS)]
    if strange:
        raise SettingError(f"the other server takes {strange[0]}; a scorer takes numbers and texts")
    if wanted is not None:
        named = next((one for one in inputs if one.name == wanted), UNNAMED._replace(name=wanted))
        return named if named.shape else named._replace(shape=UNNAMED.shape)
    if not inputs:
        return UNNAMED
    if len(inputs) == 1 and len(inputs[0].shape) == 1 and inputs[0].shape[0] > 1:
        raise SettingError("the other server takes one row at a time: have it take batches (Triton: max_batch_size)")
    return inputs[0] if len(inputs) == 1 and len(inputs[0].shape) > 1 and inputs[0].datatype != TEXTS else None


def rows_at_once(matrix: About | None, said: Any) -> int | None:
    """How many rows it takes at once, if it says so."""
    if matrix is not None and len(matrix.shape) > 1 and matrix.shape[0] > 0:
        return matrix.shape[0] if matrix.shape[0] == 1 else None
    return said if isinstance(said, int) and said > 0 else None


def chosen_output(outputs: list[About], wanted: str | None) -> About | None:
    """The one that is named; else the only one of numbers with a column for each class."""
    if wanted is not None:
        return next((one for one in outputs if one.name == wanted), About(wanted, "", ()))
    floats = [one for one in outputs if one.datatype in FLOATS]
    if len(floats) > 1:
        raise SettingError(
            f"which output of the other server are the scores? Give --scorer-output, one of {names_of(outputs)}"
        )
    return floats[0] if floats else None


def no_scores(outputs: list[dict[str, Any]]) -> SettingError:
    """Why none of these outputs can be it."""
    given = ", ".join(f"{one['name']} ({one['datatype']})" for one in outputs)
    if any(one["datatype"] in FLOATS for one in outputs):
        return SettingError(f"which output of the other server are the scores? Give --scorer-output, one of {given}")
    return SettingError(
        f"the other server gives {given or 'nothing'}, and scores are floating-point numbers: have it give "
        "probabilities, not classes"
    )


def names_of(tensors: list[About]) -> str:
    """Their names, for people."""
    return ", ".join(one.name for one in tensors) or "nothing by name"


def _lengths(shape: Any) -> tuple[int, ...]:
    try:
        found = tuple(int(length) for length in shape or ())
    except (TypeError, ValueError):
        return ()
    return found if math.prod(found) else ()
