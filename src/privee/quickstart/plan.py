"""The file that says what is what: tables, columns, wishes. YAML; every value is read as text, then checked."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from privee.data.tables.choices import TableChoices
from privee.data.tables.label_choices import LabelChoices
from privee.defenses import defense as make_defense
from privee.defenses.advice import check_keep
from privee.errors import PriveeError, SettingError
from privee.quickstart.plan_values import converted, is_class, known, loaded, mapping, number, seal, text, texts, whole
from privee.vfl.defaults import LEFT_OPEN, left_open
from privee.vfl.seal.settings import Seal
from privee.vfl.training import TrainingSettings

MOST_BYTES, MOST_PORT = 1 << 20, 65535
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}"
TAKEN = ("audit", "service", "alignment")
"""Folders beside the model's."""

SETTINGS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("name", "model", "keep", "defense"), text),
    **dict.fromkeys(("releases", "port", "lifetime_codes"), whole),
    "seal": seal,
    "test_share": number,
    "sensitive": texts,
}
LABELS: dict[str, Callable[[Any, str], Any]] = {
    "missing_labels": text,
    "label_is": is_class,
    "label_threshold": number,
}
TRAINING: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("epochs", "batch_size", "patience", "seed"), whole),
    "learning_rate": number,
}
PARTY: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("label", "delimiter"), text),
    **dict.fromkeys(("drop", "categorical"), texts),
}


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
        keep: what a release must keep, as for `privee recommend`; None for its default.
        releases: how many a record may give; the same question again gets the same answer and counts once. None: one,
            or any number where the passive parties are sealed.
        seal: of the passive parties; None leaves them unsealed.
        lifetime_codes: how many codes a sealed record may give in its life, over all models of the service.
        defense: to release with, in place of the recommended one.
        sensitive: private columns to look at first, as for `privee audit`; a seal's codes should tell little of them.
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
    keep: str | None = None
    releases: int | None = None
    seal: Seal | None = None
    lifetime_codes: int = 1
    defense: str | None = None
    sensitive: tuple[str, ...] = ()
    port: int = 8080

    @property
    def active(self) -> str:
        """The party with the labels."""
        return next(iter(self.parties))

    @property
    def most_releases(self) -> int | None:
        """How many a record may give; None for any number."""
        return 1 if self.releases is None and self.seal is None else self.releases

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
    if path.is_dir():
        raise PriveeError(f"{path} is a folder; name the file in it that says what is what")
    if not path.is_file():
        raise PriveeError(f"{path}: no such file; `privee quickstart --init` writes one to fill in")
    if path.stat().st_size > MOST_BYTES:
        raise PriveeError(f"{path} is too large for a plan")
    try:
        return _plan(mapping(loaded(path.read_bytes()), "the plan"), path.parent)
    except PriveeError as error:
        raise SettingError(f"{path}: {error}") from None


def _plan(saved: Mapping[str, Any], base: Path) -> Plan:
    known(saved, [*SETTINGS, *LABELS, "parties", "training", "out"], "the plan")
    parties = {name: _party(name, one, base) for name, one in mapping(saved.get("parties"), "parties").items()}
    active = [name for name, party in parties.items() if party.label is not None]
    if len(parties) < 2 or len(active) != 1:
        raise PriveeError("name two parties or more, and a label at exactly one of them, the active party")
    training = mapping(saved.get("training") or {}, "training")
    known(training, TRAINING, "training")
    given = converted(training, TRAINING)
    plan = Plan(
        parties={name: parties[name] for name in sorted(parties, key=lambda name: name != active[0])},
        out=base / text(saved.get("out", "quickstart"), "out"),
        labels=LabelChoices(**converted(saved, LABELS, {"missing_labels": "missing", "label_is": "is_class"})),
        training=TrainingSettings(**given),
        left_open=left_open(given, dataset=None),
        **converted(saved, SETTINGS),
    )
    _check(plan)
    return plan


def _check(plan: Plan) -> None:
    """What would else be refused after minutes of work."""
    if not re.fullmatch(NAME, plan.name) or plan.name in TAKEN:
        raise PriveeError(f"`name` is letters, digits, '-' and '_', and none of {', '.join(TAKEN)}; got {plan.name!r}")
    if plan.keep is not None:
        check_keep(plan.keep)
    if plan.defense is not None:
        make_defense(plan.defense)
    if not 0 < plan.test_share < 1:
        raise PriveeError(f"`test_share` must lie between 0 and 1, both excluded; got {plan.test_share:g}")
    for key in ("releases", "lifetime_codes"):
        if getattr(plan, key) == 0:
            raise PriveeError(f"`{key}` must be 1 or more")
    if not 1 <= plan.port <= MOST_PORT - len(plan.parties):
        raise PriveeError(
            f"`port` and the next {len(plan.parties)} must lie between 1 and {MOST_PORT}; got {plan.port}"
        )


def _party(name: str, saved: Any, base: Path) -> PartyPlan:
    if not re.fullmatch(NAME, name) or name == "coordinator":
        raise PriveeError(f"a party's name is letters, digits, '-' and '_', and not `coordinator`; got {name!r}")
    one = mapping(saved, name)
    known(one, ["file", "id", *PARTY], name)
    for key in ("file", "id"):
        if not one.get(key):
            raise PriveeError(f"{name} needs `{key}`")
    return PartyPlan(file=base / text(one["file"], "file"), id=text(one["id"], "id"), **converted(one, PARTY))
