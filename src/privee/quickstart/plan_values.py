"""What stands in a plan: every value is text, checked and turned into what it means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from privee.errors import PriveeError
from privee.extras import needed
from privee.vfl.seal.settings import Seal, parse_seal

OPTIONS = re.compile(
    "--(keep|missing-labels|label-is|label-threshold|drop|categorical)( drop| class| X| order-of-records)?"
)
"""Options of commands that a plan has a setting for, with the values that messages name."""


def in_plan_words(message: str) -> str:
    """A message that names options of commands, with the settings of a plan in their place.

    Example:
        >>> in_plan_words("give --missing-labels drop, or leave it out with --drop")
        'give `missing_labels: drop`, or leave it out with `drop`'
    """
    return OPTIONS.sub(lambda found: f"`{found[1].replace('-', '_')}{':' + found[2] if found[2] else ''}`", message)


def loaded(raw: bytes) -> Any:
    """YAML with every value as text; nothing may be said twice, of which YAML would take the last."""
    yaml = needed("yaml", "PyYAML", extra="vfl", what="quickstart")

    class Loader(yaml.BaseLoader):  # type: ignore[misc, name-defined]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [key.value for key, _ in node.value]
            for place, key in enumerate(keys):
                if key in keys[:place]:
                    line = node.value[place][0].start_mark.line + 1
                    raise PriveeError(f"`{key}` stands there twice, the second time in line {line}")
            made: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return made

    try:
        return yaml.load(raw.decode("utf-8-sig"), Loader=Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise PriveeError(f"this is not readable YAML{f'; look at line {mark.line + 1}' if mark else ''}") from None


def converted(
    saved: Mapping[str, Any], kinds: Mapping[str, Callable[[Any, str], Any]], names: Any = ()
) -> dict[str, Any]:
    """The settings that were given, by what each becomes; `names` are those that are called otherwise inside."""
    called = dict(names)
    given = ((key, convert) for key, convert in kinds.items() if saved.get(key) not in (None, ""))
    return {called.get(key, key.removeprefix("label_")): convert(saved[key], key) for key, convert in given}


def known(saved: Mapping[str, Any], names: Collection[str], where: str) -> None:
    """Refuse what is no setting, and say what may have been meant."""
    for key in saved:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            meant = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names)}"
            raise PriveeError(f"{where} has no setting `{key}`; {meant}")


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """Settings with their values."""
    if not isinstance(value, dict):
        raise PriveeError(f"{where} must be settings with their values, one on a line")
    return value


def text(value: Any, key: str) -> str:
    """One value, as text."""
    if not isinstance(value, str):
        raise PriveeError(f"`{key}` must be one value")
    return value


def texts(value: Any, key: str) -> tuple[str, ...]:
    """One value or a list of them."""
    return tuple(text(one, key) for one in value) if isinstance(value, list) else (text(value, key),)


def number(value: Any, key: str) -> float:
    """A number."""
    try:
        return float(text(value, key))
    except ValueError:
        raise PriveeError(f"`{key}` must be a number, got {value!r}") from None


def whole(value: Any, key: str) -> int:
    """A whole number, from 0 on."""
    if not re.fullmatch(r"[0-9]{1,9}", text(value, key)):
        raise PriveeError(f"`{key}` must be a whole number, got {value!r}")
    return int(value)


def is_class(value: Any, key: str) -> bool:
    """Labels are classes, which is all that can be said here."""
    if value != "class":
        raise PriveeError(f"`{key}` can only be `class`, got {value!r}")
    return True


def seal(value: Any, key: str) -> Seal:
    """Of all passive parties alike."""
    try:
        return parse_seal(text(value, key))
    except PriveeError as error:
        raise PriveeError(f"`{key}`: {error}") from None
