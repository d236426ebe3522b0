"""Things by name: for the command line, saved settings and other packages.

A kind of thing (defense, attack, dataset, model, paper result) has one registry and a folder or two. A new one is a new
file there that registers what it defines; nothing else names it, because every module of the folder is imported when
all are asked for, or one that is not there yet.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from privee.errors import SettingError

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])

LAST = 100
"""The `place` in listings of what names none; equal places are ordered by name."""


class Named(Generic[T]):
    """Things of one kind by name, found by themselves.

    Args:
        kind: what they are, for messages, such as "defense".
        packages: the folders to look through, as dotted names: their modules and what their subpackages import.
        entry_points: group under which other packages publish theirs; empty for none.
    """

    def __init__(self, kind: str, packages: tuple[str, ...], entry_points: str = "") -> None:
        self.kind, self.packages, self.entry_points = kind, packages, entry_points
        self._known: dict[str, T] = {}
        self._discovered = False

    def add(self, name: str, thing: T) -> T:
        """Keep a thing under a name; refuses a name that is taken by another."""
        held = self._known.setdefault(name, thing)
        if held is not thing:
            where = f": {held.__module__}.{held.__qualname__}" if isinstance(held, type) else ""
            raise SettingError(f"a {self.kind} called {name!r} exists already{where}")
        return thing

    def known(self) -> dict[str, T]:
        """All of them by name, those of other installed packages included, in the order of their places."""
        if not self._discovered:
            for package in self.packages:
                for module in modules_of(package):
                    importlib.import_module(module)
            self._load_entry_points()
            self._discovered = True
        return dict(sorted(self._known.items(), key=lambda item: (getattr(item[1], "place", LAST), item[0])))

    def find(self, name: str) -> T:
        """The one of this name."""
        if name not in self._known and name not in self.known():
            raise unknown(self.kind, name, self.known())
        return self._known[name]

    def _load_entry_points(self) -> None:
        if self.entry_points:
            from importlib.metadata import entry_points  # here: it would be a sixth of the time to import privee

            for point in entry_points(group=self.entry_points):
                thing = point.load()
                self.add(thing.name, thing)


class Registry(Named[type[T]]):
    """Classes (frozen dataclasses with a `name`) of one kind, made from a name and settings or from a spec."""

    def register(self, cls: C) -> C:
        """Add a class under its `name`; refuses a name that is taken. Usable as a decorator."""
        self.add(cls.name, cls)
        return cls

    def make(self, name: str, **settings: Any) -> T:
        """Make one from its name and settings, or from a spec such as `"privee-u:rho=0.1"`."""
        name, _, text = name.partition(":")
        cls = self.find(name)
        given = parse_settings(text) | settings
        _check_names(cls, name, given)
        return cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()})


def unknown(kind: str, name: str, known: Iterable[str]) -> SettingError:
    """The error for a name that nothing of this kind has."""
    return SettingError(f"no {kind} is called {name!r}; there are {', '.join(known)}")


def modules_of(package: str) -> Iterator[str]:
    """Dotted names of the modules and subpackages directly in a package, by name; nothing is imported but its root.

    Names that begin with an underscore are left out: they hold what the others share.
    """
    root, *below = package.split(".")
    folders = [str(Path(path, *below)) for path in importlib.import_module(root).__path__]
    for name in sorted(module.name for module in pkgutil.iter_modules(folders)):
        if not name.startswith("_"):
            yield f"{package}.{name}"


def parse_settings(text: str) -> dict[str, Any]:
    """`a=1,b=word,c=[1,2]`: values are JSON where they can be, words otherwise."""
    pairs = re.split(r",(?![^\[]*\])", text) if text else []
    parsed = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise SettingError(f"expected setting=value after the name, got {pair!r}")
        parsed[key.strip().replace("-", "_")] = _value(value.strip())
    return parsed


def write_spec(name: str, settings: Any) -> str:
    """The spec of a dataclass: its name and the settings that differ from their defaults."""
    fields = dataclasses.fields(settings)
    given = [(f.name, getattr(settings, f.name)) for f in fields if getattr(settings, f.name) != f.default]
    text = ",".join(f"{key}={value if isinstance(value, str) else _text(value)}" for key, value in given)
    return f"{name}:{text}" if text else name


def _text(value: Any) -> str:
    """JSON without what nobody needs to read: spaces, and the `.0` of a whole number."""
    return re.sub(r"(?<=\d)\.0(?![\de])", "", json.dumps(value, separators=(",", ":")))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _check_names(cls: type[Any], name: str, given: dict[str, Any]) -> None:
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise SettingError(f"{name} has no setting {', '.join(unknown)}; its settings: {', '.join(fields) or 'none'}")
    absent = [n for n, f in fields.items() if f.default is dataclasses.MISSING and n not in given]
    if absent:
        raise SettingError(f"{name} needs {', '.join(absent)}, e.g. {name}:{absent[0]}=...")
