"""An audit back from its file: what later versions added may be missing, what is no audit is refused with one line."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import math
import types
import typing
from pathlib import Path
from typing import Any

from privee.atomic import read_json
from privee.audit.results import Audit, Curve, Picture, SubjectInfo
from privee.errors import PriveeError
from privee.given import existing_audit


def load_audit(path: Path | str) -> Audit:
    """Read `audit.json`, or that of a folder."""
    file = existing_audit(Path(path))
    try:
        audit: Audit = _value(Audit, read_json(file), "it")
        _check(audit)
    except _Nonsense as wrong:
        raise PriveeError(f"{file} is no audit that can be read: {wrong}") from None
    return audit


class _Nonsense(Exception):  # noqa: N818 (it never leaves this file)
    """What is wrong, and where."""


def _value(kind: Any, given: Any, where: str) -> Any:
    """The given JSON value as what the annotation says."""
    if dataclasses.is_dataclass(kind):
        return _record(typing.cast(type, kind), given, where)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        one = next(part for part in inner if part is not type(None))
        return None if given is None else _value(one, given, where)
    if origin is tuple:
        return _tuple(inner, given, where)
    if origin is collections.abc.Mapping:
        _expect(isinstance(given, dict), where, "a mapping")
        return {name: _value(inner[1], value, f"{where}.{name}") for name, value in given.items()}
    return _plain(kind, given, where)


def _plain(kind: Any, given: Any, where: str) -> Any:
    if kind is float:
        number = isinstance(given, int | float) and not isinstance(given, bool)
        _expect(number and math.isfinite(given), where, "a number")
        return float(given)
    if typing.get_origin(kind) is typing.Literal:
        words = typing.get_args(kind)
        _expect(isinstance(given, str) and given in words, where, f"one of {', '.join(words)}")
    elif kind is not Any:
        _expect(type(given) is kind, where, {int: "a whole number", str: "text", bool: "true or false"}[kind])
    return given


def _tuple(inner: tuple[Any, ...], given: Any, where: str) -> tuple[Any, ...]:
    _expect(isinstance(given, list | tuple), where, "a list")
    kinds = [inner[0]] * len(given) if inner[-1] is Ellipsis else list(inner)
    _expect(len(kinds) == len(given), where, f"a list of {len(kinds)}")
    return tuple(_value(kind, one, f"{where}[{k}]") for k, (kind, one) in enumerate(zip(kinds, given, strict=True)))


def _record(kind: type, given: Any, where: str) -> Any:
    _expect(isinstance(given, dict), where, "a mapping")
    values = {}
    for name, (annotation, needed) in _fields(kind).items():
        if name in given:
            values[name] = _value(annotation, given[name], name if where == "it" else f"{where}.{name}")
        elif needed:
            raise _Nonsense(f"{where} has no {name}")
    return kind(**values)


@functools.cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """By name: the annotation, and whether there is no default."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    }


def _expect(right: bool, where: str, what: str) -> None:
    if not right:
        raise _Nonsense(f"{where} is not {what}")


def _check(audit: Audit) -> None:
    """What the parts say of each other must agree."""
    names = [info.name for info in audit.subjects]
    _expect(len(names) > 0 and len(set(names)) == len(names), "subjects", "a list of models with names of their own")
    for k, info in enumerate(audit.subjects):
        _check_subject(info, f"subjects[{k}]")
    for k, curve in enumerate(audit.curves):
        _check_curve(curve, f"curves[{k}]")
    pictures = {info.name: info.picture for info in audit.subjects if info.picture is not None}
    for k, finding in enumerate(audit.findings):
        picture = pictures.get(finding.subject)
        wide = picture is not None and any(len(row) != len(picture.unknown) for row in finding.shown)
        _expect(not wide, f"findings[{k}].shown", "as wide as the unknown columns")


def _check_subject(info: SubjectInfo, where: str) -> None:
    held = min(info.known_columns, info.unknown_columns) >= 0 and info.known_columns + info.unknown_columns > 0
    _expect(held, f"{where}.known_columns", "a count that fits")
    if info.picture is not None:
        _expect(_fits(info.picture), f"{where}.picture", "made of pictures of its shape")


def _fits(picture: Picture) -> bool:
    size = math.prod(picture.shape) if min(picture.shape) > 0 else -1
    return all(len(row) == size for row in picture.truth) and all(0 <= place < size for place in picture.unknown)


def _check_curve(curve: Curve, where: str) -> None:
    lists = (curve.queries, curve.mean, curve.low, curve.high, curve.theory)
    _expect(len({len(values) for values in lists}) == 1 and len(curve.queries) > 0, where, "of lists of one length")
    _expect(min(curve.queries) > 0 and min(curve.mean) > 0, where, "above zero")
