"""What is read from a file has the types that its fields say: checked once, where it is read."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

Fits = Callable[[Any], bool]
MOST = 2**63
"""Whole numbers are below it: of anything."""


class Structure(TypedDict):
    """See `privee.scores.Structure`."""

    distances: float
    distance_order: float
    inner_products: float
    correlations: float


class Worth(TypedDict):
    """What tables, the picture and the comparison at equal epsilon need of a row's worth."""

    l1_moved: float
    ranking_kept: float
    top_kept: float
    microseconds: float | None
    accuracy: float | None
    auc: float | None
    calibration_error: float | None
    structure: Structure
    epsilon: float | None
    same: str
    order_proven: bool | None


class _Machine(TypedDict):
    cores: int
    system: str


class _Size(TypedDict):
    name: str
    seeds: int
    records: int
    auxiliary_rows: int
    worth_rows: int
    slow: bool


class _Untrained(TypedDict, total=False):
    untrained: list[str]


class _Done(_Untrained):
    measured: int
    planned: int
    seconds: float


class _Taken(TypedDict):
    file: str
    rows: int


# `from` is no name that a class can give.
_Later = TypedDict("_Later", {"not_begun": list[str], "from": _Taken}, total=False)


class About(_Later):
    """What the page needs to say how a board was made; files of before lack what `_Later` and `_Untrained` have."""

    command: str
    privee: str
    date: str
    machine: _Machine
    size: _Size
    attacks: dict[str, list[str]]
    left_out: list[str]
    done: _Done


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of this type, with all that is in it; numbers are finite.

    Example:
        >>> fits([("a", 0.5)], list[tuple[str, float]]), fits([("a", "b")], list[tuple[str, float]])
        (True, False)
    """
    return _fits(kind)(value)


@functools.cache
def _fits(kind: Any) -> Fits:
    if kind is Any:
        return lambda value: True
    if kind is float:
        whole = _fits(int)
        return lambda value: whole(value) or (isinstance(value, float) and math.isfinite(value))
    if kind is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    if is_typeddict(kind):
        return _record(kind)
    return _generic(kind, get_origin(kind), get_args(kind))


def _generic(kind: Any, origin: Any, inner: tuple[Any, ...]) -> Fits:
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in inner
    every = [_fits(one) for one in inner if one is not Ellipsis]
    if origin in (Union, types.UnionType):
        return lambda value: any(one(value) for one in every)
    if origin is tuple and Ellipsis not in inner:
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(every)
            and all(one(part) for one, part in zip(every, value, strict=True))
        )
    if origin in (tuple, list):
        return lambda value: isinstance(value, tuple | list) and all(map(every[0], value))
    if origin in (dict, Mapping):
        return lambda value: isinstance(value, Mapping) and all(map(every[1], value.values()))
    return lambda value: isinstance(value, kind)


def _object(kind: Any) -> Fits:
    named = [(name, _fits(one)) for name, one in get_type_hints(kind).items() if name in kind.__dataclass_fields__]
    return lambda value: isinstance(value, kind) and all(one(getattr(value, name)) for name, one in named)


def _record(kind: Any) -> Fits:
    named, needed = {name: _fits(one) for name, one in get_type_hints(kind).items()}, kind.__required_keys__
    return lambda value: (
        isinstance(value, Mapping)
        and needed <= set(value)
        and all(one(value[name]) for name, one in named.items() if name in value)
    )
