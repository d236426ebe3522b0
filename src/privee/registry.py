"""Things by name: for the command line, saved settings and other packages. Defenses and attacks each have one."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Generic, TypeVar

from privee.errors import SettingError

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes (frozen dataclasses with a `name`) of one kind, made from a name and settings or from a spec.

    Args:
        kind: what they are, for messages, such as "defense".
        entry_points: group under which other packages publish theirs; None if they cannot.
    """

    def __init__(self, kind: str, entry_points: str | None = None) -> None:
        self.kind, self.entry_points = kind, entry_points
        self._known: dict[str, type[T]] = {}
        self._discovered = False

    def register(self, cls: type[T]) -> type[T]:
        """Add a class under its `name`; refuses a name that is taken. Usable as a decorator."""
        name: str = cls.name  # type: ignore[attr-defined]
        held = self._known.setdefault(name, cls)
        if held is not cls:
            raise SettingError(f"a {self.kind} called {name!r} exists already: {held.__module__}.{held.__qualname__}")
        return cls

    def known(self) -> dict[str, type[T]]:
        """All of them by name, those of other installed packages included."""
        if self.entry_points is not None and not self._discovered:
            from importlib.metadata import entry_points  # here: it would be a sixth of the time to import privee

            for point in entry_points(group=self.entry_points):
                self.register(point.load())
            self._discovered = True
        return dict(self._known)

    def make(self, name: str, **settings: Any) -> T:
        """Make one from its name and settings, or from a spec such as `"privee-u:rho=0.1"`."""
        name, _, text = name.partition(":")
        cls = self._known.get(name) or self.known().get(name)
        if cls is None:
            raise SettingError(f"no {self.kind} is called {name!r}; there are {', '.join(sorted(self._known))}")
        given = parse_settings(text) | settings
        _check_names(cls, name, given)
        return cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()})


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
    text = ",".join(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in given)
    return f"{name}:{text}" if text else name


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
