"""The file that says what is what: tables, columns, wishes. YAML; every value is read as text, then checked."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from privee.data.tables.choices import TableChoices
from privee.data.tables.label_choices import LabelChoices
from privee.errors import PriveeError, SettingError
from privee.extras import needed
from privee.vfl.defaults import LEFT_OPEN, left_open
from privee.vfl.training import TrainingSettings

MOST_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartyPlan:
    """One party's table; who has a label is the active party."""

    file: Path
    id: str
    label: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    delimiter: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What `privee quickstart` is to do.

    Attributes:
        parties: their tables by name, the active party's first.
        out: folder for all that is made.
        name: of the model.
        labels: what labels mean.
        test_share: share of the records kept for testing.
        model: name of the architecture.
        training: how to train, as far as it was said.
        left_open: the settings of training that the table decides.
        keep: what a release must keep, as for `privee recommend`.
        releases: how many a record may give; the same question again gets the same answer and counts once.
        defense: to release with, in place of the recommended one.
        sensitive: private columns to look at first, as for `privee audit`.
        port: of the gateway; the parties listen on the next ones.
    """

    parties: Mapping[str, PartyPlan]
    out: Path
    name: str = "model"
    labels: LabelChoices = dataclasses.field(default_factory=LabelChoices)
    test_share: float = 0.2
    model: str = "mlp"
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)
    left_open: tuple[str, ...] = LEFT_OPEN
    keep: str = "ranking"
    releases: int = 1
    defense: str | None = None
    sensitive: tuple[str, ...] = ()
    port: int = 8080

    @property
    def active(self) -> str:
        """The party with the labels."""
        return next(iter(self.parties))

    @property
    def files(self) -> dict[str, Path]:
        """Each party's table."""
        return {name: party.file for name, party in self.parties.items()}

    @property
    def choices(self) -> TableChoices:
        """What is said of tables, columns and labels."""

        def named(which: str) -> tuple[str, ...]:
            return tuple(f"{name}:{one}" for name, party in self.parties.items() for one in getattr(party, which))

        delimiters = tuple(f"{name}:{one.delimiter}" for name, one in self.parties.items() if one.delimiter)
        return TableChoices(
            delimiter=delimiters, categorical=named("categorical"), drop=named("drop"), label=self.labels
        )


def read_plan(path: Path) -> Plan:
    """Read and check a plan; its paths are seen from its own folder."""
    if not path.is_file():
        raise PriveeError(f"{path}: no such file; `privee quickstart --init` writes one to fill in")
    if path.stat().st_size > MOST_BYTES:
        raise PriveeError(f"{path} is too large for a plan")
    yaml = needed("yaml", "PyYAML", extra="vfl", what="quickstart")
    try:
        saved = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=yaml.BaseLoader)  # every value is text
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise PriveeError(f"{path} is not readable YAML{f'; look at line {mark.line + 1}' if mark else ''}") from None
    try:
        return _plan(_mapping(saved, "the plan"), path.parent)
    except PriveeError as error:
        raise SettingError(f"{path}: {error}") from None


def _plan(saved: Mapping[str, Any], base: Path) -> Plan:
    _known(saved, [*SETTINGS, *LABELS, "parties", "training", "out"], "the plan")
    parties = {name: _party(name, one, base) for name, one in _mapping(saved.get("parties"), "parties").items()}
    active = [name for name, party in parties.items() if party.label is not None]
    if len(parties) < 2 or len(active) != 1:
        raise PriveeError("name two parties or more, and a label at exactly one of them, the active party")
    training = _mapping(saved.get("training") or {}, "training")
    _known(training, TRAINING, "training")
    given = _converted(training, TRAINING)
    return Plan(
        parties={name: parties[name] for name in sorted(parties, key=lambda name: name != active[0])},
        out=base / _text(saved.get("out", "quickstart"), "out"),
        labels=LabelChoices(**_converted(saved, LABELS, {"missing_labels": "missing", "label_is": "is_class"})),
        training=TrainingSettings(**given),
        left_open=left_open(given, dataset=None),
        **_converted(saved, SETTINGS),
    )


def _party(name: str, saved: Any, base: Path) -> PartyPlan:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", name) or name == "coordinator":
        raise PriveeError(f"a party's name is letters, digits, '-' and '_', and not `coordinator`; got {name!r}")
    one = _mapping(saved, name)
    _known(one, ["file", "id", *PARTY], name)
    for key in ("file", "id"):
        if not one.get(key):
            raise PriveeError(f"{name} needs `{key}`")
    return PartyPlan(file=base / _text(one["file"], "file"), id=_text(one["id"], "id"), **_converted(one, PARTY))


def _converted(
    saved: Mapping[str, Any], kinds: Mapping[str, Callable[[Any, str], Any]], names: Any = ()
) -> dict[str, Any]:
    called = dict(names)
    given = ((key, convert) for key, convert in kinds.items() if saved.get(key) not in (None, ""))
    return {called.get(key, key.removeprefix("label_")): convert(saved[key], key) for key, convert in given}


def _known(saved: Mapping[str, Any], names: Collection[str], where: str) -> None:
    for key in saved:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            meant = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names)}"
            raise PriveeError(f"{where} has no setting `{key}`; {meant}")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise PriveeError(f"{where} must be settings with their values, one on a line")
    return value


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise PriveeError(f"`{key}` must be one value")
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:
    return tuple(_text(one, key) for one in value) if isinstance(value, list) else (_text(value, key),)


def _number(value: Any, key: str) -> float:
    try:
        return float(_text(value, key))
    except ValueError:
        raise PriveeError(f"`{key}` must be a number, got {value!r}") from None


def _whole(value: Any, key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", _text(value, key)):
        raise PriveeError(f"`{key}` must be a whole number, got {value!r}")
    return int(value)


def _is_class(value: Any, key: str) -> bool:
    if value != "class":
        raise PriveeError(f"`{key}` can only be `class`, got {value!r}")
    return True


SETTINGS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("name", "model", "keep", "defense"), _text),
    **dict.fromkeys(("releases", "port"), _whole),
    "test_share": _number,
    "sensitive": _texts,
}
LABELS: dict[str, Callable[[Any, str], Any]] = {
    "missing_labels": _text,
    "label_is": _is_class,
    "label_threshold": _number,
}
TRAINING: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("epochs", "batch_size", "patience", "seed"), _whole),
    "learning_rate": _number,
}
PARTY: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("label", "delimiter"), _text),
    **dict.fromkeys(("drop", "categorical"), _texts),
}
