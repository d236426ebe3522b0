"""What a leaderboard measures, and in which order: what matters most first, so that it can be stopped at any time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from privee.audit.grid import Grid
from privee.bench.cases import Case, check_datasets
from privee.bench.parts import PARTS, WORTH, Part, attacks_for, later, left_out, registered_attacks, sees_embeddings
from privee.bench.protections import known_protections, proof_of
from privee.data.datasets import dataset_info
from privee.defenses import Defense, known_defenses
from privee.defenses import defense as make_defense
from privee.errors import PriveeError, SettingError
from privee.vfl.models import architecture

EPSILONS = (1.0, 4.0, 16.0)
"""At which defenses with an epsilon are compared."""
UNPROTECTED = "none"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured.

    Attributes:
        name: "quick" or "full".
        datasets: unless others are asked for.
        seeds: each draws records, auxiliary rows, releases and the attacks' own chances anew; models are trained once.
        records, auxiliary_rows: of attacks that rebuild whole records.
        column_limit: both, of attacks that learn each column by itself.
        worth_rows: records that what is kept and moved is measured on.
        slow: try slow defenses and slow attacks too.
        parts: the names of those that are tried; all by default.
    """

    name: str
    datasets: tuple[str, ...]
    seeds: int
    records: int
    auxiliary_rows: int
    column_limit: int
    worth_rows: int
    slow: bool
    parts: tuple[str, ...] = tuple(part.name for part in PARTS)


SIZES = {
    "quick": Size(
        name="quick",
        datasets=("digits", "breast-cancer"),
        seeds=1,
        records=100,
        auxiliary_rows=400,
        column_limit=400,
        worth_rows=500,
        slow=False,
    ),
    "full": Size(
        name="full",
        datasets=("digits", "breast-cancer", "drive", "adult", "mnist"),
        seeds=1,
        records=200,
        auxiliary_rows=600,
        column_limit=600,
        worth_rows=2000,
        slow=True,
    ),
}
MODELS = ("logistic", "mlp")


class Batch(NamedTuple):
    """One part of the rows of one model, with one seed; without a part, what needs no attack."""

    case: Case
    part: Part | None
    seed: int

    @property
    def what(self) -> str:
        """For file names and progress."""
        return WORTH if self.part is None else self.part.name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """All rows and parts of a leaderboard.

    Attributes:
        size: how much is measured.
        datasets, models: on what.
        defenses: specs, or names that stand for all their specs; every registered one unless given.
        attacks: specs; every registered one unless given.
        protections: KIND:SPEC, see `protections`; every one unless given, and () for none.
    """

    size: Size
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = MODELS
    defenses: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    protections: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what there is not, and write every spec in its one short form."""
        datasets = self.datasets or self.size.datasets
        check_datasets(datasets)
        for model in self.models:
            architecture(model)
        protections = known_protections() if self.protections is None else self.protections
        for protection in protections:
            proof_of(protection)
        defenses = [_checked(text) for text in self.defenses] or registered_defenses(slow=self.size.slow)
        attacks = self.attacks or registered_attacks()
        if not any(attacks_for(part, attacks, slow=self._slow) for part in PARTS):
            raise SettingError(f"none of these attacks can be compared: {', '.join(attacks)}")
        named = {"datasets": datasets, "models": self.models, "defenses": defenses, "protections": protections}
        for name, value in (named | {"attacks": attacks}).items():
            object.__setattr__(self, name, tuple(dict.fromkeys(value)))

    @property
    def _slow(self) -> bool:
        """Slow attacks are tried if there is time, or if they were asked for."""
        return self.size.slow or set(self.attacks) != set(registered_attacks())

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Models without a protection first, then each with all protections."""
        plain = [Case(dataset=dataset, model=model) for dataset in self.datasets for model in self.models]
        protected = [dataclasses.replace(case, protection=one) for case in plain for one in self.protections or ()]
        return (*plain, *protected)

    def defenses_of(self, case: Case, part: Part | None = None) -> tuple[str, ...]:
        """The specs of a model's rows; of a part that needs no release, the scores' own row if that is wanted.

        A protection is measured by itself: the scores of its model are released as they are.
        """
        if case.protection:
            return (UNPROTECTED,)
        specs = tuple(self._labels(dataset_info(case.dataset).classes))
        return tuple(spec for spec in specs if spec == UNPROTECTED) if part is not None and part.sent else specs

    def label_of(self, case: Case, spec: str) -> str:
        """What a row is called: the same on every model, also where a spec depends on the number of classes."""
        return spec if case.protection else self._labels(dataset_info(case.dataset).classes).get(spec, spec)

    def _labels(self, n_classes: int) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in self.defenses:
            cls = known_defenses().get(text)
            named = {text: text} if cls is None else labelled_specs(cls, n_classes)
            found |= {spec: label for spec, label in named.items() if spec not in found}
        return found

    def attacks_of(self, part: Part) -> tuple[str, ...]:
        """Those of this part."""
        return attacks_for(part, self.attacks, slow=self._slow) if part.name in self.size.parts else ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """Attacks that are registered and not tried."""
        return left_out(self.attacks, (spec for part in PARTS for spec in self.attacks_of(part)))

    @property
    def batches(self) -> Iterator[Batch]:
        """All work, what matters most first.

        Models without protection by the strong attacks, asked once, five times with chosen columns, ten times; then
        protected models; then every other attack, slow ones last; then further seeds of all that.
        """
        first = [part for part in PARTS if not later(part)]
        for seed in range(self.size.seeds):
            for case in self.cases:
                yield Batch(case, None, seed)
                yield from self._tried(case, first, seed)
            for part in filter(later, PARTS):
                for case in self.cases:
                    yield from self._tried(case, [part], seed)

    def _tried(self, case: Case, parts: Sequence[Part], seed: int) -> Iterator[Batch]:
        for part in parts:
            makes_sense = not part.sent or case.protection or any(map(sees_embeddings, self.attacks_of(part)))
            if self.attacks_of(part) and makes_sense and self.defenses_of(case, part):
                yield Batch(case, part, seed)

    def grid(self, part: Part, defenses: tuple[str, ...], seed: int) -> Grid:
        """What an audit is asked for."""
        return Grid(
            defenses=defenses,
            attacks=self.attacks_of(part),
            seeds=(seed,),
            records=None if part.sent else self.size.records,
            auxiliary_rows=None if part.sent else self.size.auxiliary_rows,
            column_limit=self.size.column_limit,
            queries=part.queries,
            questions=(),
            attackers=("adaptive",),
            pictures=False,
            curves=False,
            own_columns=False,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def registered_defenses(*, slow: bool) -> tuple[str, ...]:
    """The names of every registered defense."""
    return tuple(name for name, cls in known_defenses().items() if slow or not cls.slow)


def labelled_specs(cls: type[Defense], n_classes: int) -> dict[str, str]:
    """A defense's own specs, then one for each epsilon that is compared; with what each is called in tables."""
    compared = dict(_at_epsilons(cls, n_classes))
    own = cls.benched or cls.audited or (() if compared else ((cls.example or cls.name),))
    return {make_defense(spec).spec: make_defense(spec).spec for spec in own} | compared


def _at_epsilons(cls: type[Defense], n_classes: int) -> Iterator[tuple[str, str]]:
    """With every epsilon that is compared, where that is a setting and no other is needed.

    A defense whose epsilon is not that of a whole score vector says by `for_vector` which setting has it.
    """
    if "epsilon" not in {field.name for field in dataclasses.fields(cls)}:  # type: ignore[arg-type]
        return
    make: Callable[..., Defense] | None = getattr(cls, "for_vector", None)
    for epsilon in EPSILONS:
        try:
            made = make_defense(cls.name, epsilon=epsilon) if make is None else make(epsilon, n_classes)
        except PriveeError:  # such as an epsilon that its proof does not reach
            continue
        yield made.spec, made.spec if make is None else f"{cls.name}:epsilon={epsilon:g} of a vector"


def _checked(text: str) -> str:
    """A name that stands for all its specs, or a spec in its one short form."""
    return text if text in known_defenses() else make_defense(text).spec
