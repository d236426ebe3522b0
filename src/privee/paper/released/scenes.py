"""The printed attack figures, and the scenes they were printed of: one attack on one kind of model.

A figure is compared with every combination of the parts that could have touched it, and with no other: the more
combinations, the more figures are met by chance.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Literal

from privee.paper.printed import printed, printed_tables
from privee.paper.released.parts import Chosen, subsets

Attack = Literal["grna", "gia"]
STRENGTHS = (25, 50, 75)
CLIENTS = (5, 10, 15, 20, 25)
RHOS = (0.05, 0.07, 0.1, 0.3, 0.5, 0.9)
GIA_CLIENTS, GRNA_CLIENTS = "gia_mse_mnist_strength_50_by_clients", "grna_mnist_privee_u_by_clients_rho_0.1"
GRNA_RHO = "grna_mnist_privee_u_by_rho_25_clients"

BY_DEFENSE: dict[str, tuple[str, ...]] = {
    "ope": ("rank-surrogate",),
    "privee-u": ("draws-to-3",),
    "privee-u+": ("reversed-schedule",),
}
"""Parts that touch what a defense hands out: in the code PRIVEE-U alone draws up to 3."""
BY_MODEL: dict[tuple[str, bool, Attack], tuple[str, ...]] = {
    ("mnist", False, "grna"): ("double-softmax", "scrambled"),
    ("mnist", False, "gia"): ("double-softmax", "scrambled", "softmax-again"),
    ("mnist", True, "grna"): ("six-epochs", "scrambled", "logits-matched", "default-rate", "unfitted"),
    ("mnist", True, "gia"): ("six-epochs", "double-softmax", "scrambled"),
    ("drive", False, "grna"): ("double-softmax", "scrambled"),
    ("adult", False, "grna"): ("logits-as-confidences", "unscaled-columns", "scrambled"),
    ("cifar10", False, "grna"): ("scrambled-cifar",),
    ("cifar10", False, "gia"): ("ten-iterations",),
    ("cifar100", False, "grna"): ("cifar10-for-cifar100", "hundred-outputs"),
    ("cifar100", False, "gia"): ("cifar10-for-cifar100", "ten-iterations"),
    ("digits", False, "grna"): ("logits-as-confidences", "double-softmax", "scrambled"),
    ("digits", False, "gia"): ("double-softmax", "scrambled", "softmax-again"),
    ("digits", True, "grna"): ("six-epochs", "scrambled", "logits-matched", "default-rate", "unfitted"),
    ("digits", True, "gia"): ("six-epochs", "double-softmax", "scrambled"),
}
"""Parts that touch a model or an attack: dataset, many parties or two, attack."""
NEEDED: dict[tuple[str, bool, Attack], tuple[Chosen, ...]] = {
    ("mnist", True, "grna"): (frozenset({"six-epochs"}),),
    ("mnist", True, "gia"): (frozenset({"six-epochs"}), frozenset({"double-softmax"})),
    ("drive", False, "grna"): (frozenset({"double-softmax"}),),
    ("cifar100", False, "grna"): (frozenset({"cifar10-for-cifar100", "hundred-outputs"}),),
    ("cifar100", False, "gia"): (frozenset({"cifar10-for-cifar100"}),),
}
"""Not tried without one of these: sixty epochs of many parties and Drive with one softmax, the true CIFAR-100 are in
the tables of the page. The printed OPE of GRNA is that of 100 classes; GIA's PRIVEE is ten times what a residual of
100 can be."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """One attack on one kind of model.

    Attributes:
        known: percent of the columns that the attacker holds.
    """

    dataset: str
    attack: Attack
    known: int = 50
    parties: int = 2

    @property
    def parts(self) -> tuple[str, ...]:
        """What could have touched every figure of it."""
        return BY_MODEL.get((self.dataset, self.parties > 2, self.attack), ("scrambled",))

    @property
    def combinations(self) -> list[Chosen]:
        """Every combination that is tried."""
        needed = NEEDED.get((self.dataset, self.parties > 2, self.attack), (frozenset(),))
        return [some for some in subsets(self.parts) if any(some >= least for least in needed)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """One printed attack figure: where it stands, and of which scene and defense it is."""

    table: str
    scene: Scene
    defense: str
    printed: float
    rho: float = 0.1

    @property
    def kind(self) -> tuple[str, str]:
        """Figures of one kind are of one size: the defense, with the attack."""
        return self.scene.attack, self.defense

    @property
    def combinations(self) -> list[Chosen]:
        """What it is compared with."""
        own = list(subsets(BY_DEFENSE.get(self.defense, ())))
        return [base | more for base in self.scene.combinations for more in own]


@functools.cache
def figures() -> tuple[Figure, ...]:
    """All 249: six tables by strength, two by clients, one by rho."""
    return (*_by_strength(), *_by_clients(), *_by_rho())


def _by_strength() -> Iterator[Figure]:
    kinds: tuple[Attack, ...] = ("grna", "gia")
    for attack in kinds:
        for known in STRENGTHS:
            table = f"{attack}_mse_strength_{known}"
            for dataset, cells in printed_tables()[table].items():
                for name in cells:
                    scene = Scene(dataset=dataset, attack=attack, known=known)
                    value = _value(table, dataset, name)
                    yield Figure(table=f"{attack}-{known}", scene=scene, defense=name, printed=value)


def _by_clients() -> Iterator[Figure]:
    """Undefended figures of the GIA table are printed once per defense: their mean counts, once."""
    for parties in CLIENTS:
        cells = {name: row[str(parties)] for name, row in printed_tables()[GIA_CLIENTS].items()}
        scene = Scene(dataset="mnist", attack="gia", parties=parties)
        mean = sum(cell["before"] for cell in cells.values()) / len(cells)
        yield Figure(table="gia-mnist-clients", scene=scene, defense="none", printed=mean)
        for name, cell in cells.items():
            plain = name.replace("(rho=0.1)", "")
            yield Figure(table="gia-mnist-clients", scene=scene, defense=plain, printed=cell["after"])
    for parties in CLIENTS:
        scene = Scene(dataset="mnist", attack="grna", parties=parties)
        for name, column in (("none", "mse_without"), ("privee-u", "mse_with")):
            value = _value(GRNA_CLIENTS, str(parties), column)
            yield Figure(table="grna-mnist-clients", scene=scene, defense=name, printed=value)


def _by_rho() -> Iterator[Figure]:
    scene = Scene(dataset="mnist", attack="grna", parties=25)
    yield Figure(table="grna-mnist-rho", scene=scene, defense="none", printed=_value(GRNA_RHO, "0.10", "mse_without"))
    for rho in RHOS:
        value = _value(GRNA_RHO, f"{rho:.2f}", "mse_with")
        yield Figure(table="grna-mnist-rho", scene=scene, defense="privee-u", printed=value, rho=rho)


def _value(table: str, *keys: str) -> float:
    found = printed(table, *keys)
    if found is None:
        raise KeyError(keys)
    return found.value
