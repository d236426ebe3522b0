"""Defenses by name, for the command line, saved settings and other packages."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from privee.defenses.base import Defense
from privee.errors import SettingError

ENTRY_POINTS = "privee.defenses"

_known: dict[str, type[Defense]] = {}
_discovered = False


def register(cls: type[Defense]) -> type[Defense]:
    """Add a defense under its `name`; refuses a name that is taken. Usable as a decorator."""
    held = _known.setdefault(cls.name, cls)
    if held is not cls:
        raise SettingError(f"a defense called {cls.name!r} exists already: {held.__module__}.{held.__qualname__}")
    return cls


def known_defenses() -> dict[str, type[Defense]]:
    """All known defenses by name, those of other installed packages included."""
    global _discovered
    if not _discovered:
        from importlib.metadata import entry_points  # here: it would be a sixth of the time it takes to import privee

        for point in entry_points(group=ENTRY_POINTS):
            register(point.load())
        _discovered = True
    return dict(_known)


def defense(name: str, **settings: Any) -> Defense:
    """Make a defense from its name and settings, or from a spec such as `"privee-u:rho=0.1"`.

    Example:
        >>> defense("privee-u:rho=0.1,transform=identity")
        PriveeU(amplitude=0.48, transform='identity', draw_range=1.0, rho=0.1)
        >>> defense(**defense("rounding", digits=2).settings())
        Rounding(digits=2)
    """
    name, _, text = name.partition(":")
    cls = _known.get(name) or known_defenses().get(name)
    if cls is None:
        raise SettingError(f"no defense is called {name!r}; there are {', '.join(sorted(_known))}")
    given = _parse(text) | settings
    _check_names(cls, given)
    return cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()})


def _parse(text: str) -> dict[str, Any]:
    """`a=1,b=word,c=[1,2]`: values are JSON where they can be, words otherwise."""
    pairs = re.split(r",(?![^\[]*\])", text) if text else []
    parsed = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise SettingError(f"expected setting=value after the name, got {pair!r}")
        parsed[key.strip().replace("-", "_")] = _value(value.strip())
    return parsed


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _check_names(cls: type[Defense], given: dict[str, Any]) -> None:
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(given) - set(fields))
    if unknown:
        known = ", ".join(fields) or "none"
        raise SettingError(f"{cls.name} has no setting {', '.join(unknown)}; its settings: {known}")
    absent = [n for n, f in fields.items() if f.default is dataclasses.MISSING and n not in given]
    if absent:
        raise SettingError(f"{cls.name} needs {', '.join(absent)}, e.g. {cls.name}:{absent[0]}=...")
