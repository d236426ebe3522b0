"""What is handed out in a scene, which parts touch it, and which datasets a part needs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence

from privee.errors import SettingError
from privee.paper.outcomes import Size, listed
from privee.paper.released.parts import PARTS, Chosen, subsets
from privee.paper.released.scenes import BY_DEFENSE, Scene, figures

DATASETS = ("mnist", "adult", "drive", "cifar10", "cifar100")
"""Those that figures are printed of, cheap ones first."""
USUAL = (("none", 0.1), ("ope", 0.1), ("privee-u", 0.1), ("privee-u+", 0.1))


@dataclasses.dataclass(frozen=True)
class Kind:
    """Something that is handed out: a defense of the tables with its rho, and the parts that touch it."""

    defense: str
    rho: float
    parts: Chosen

    @property
    def label(self) -> str:
        """The defense and its rho in one word."""
        return label(self.defense, self.rho)


def kinds(scene: Scene) -> list[Kind]:
    """Everything that the printed figures of a scene are compared with; the usual ones if it has none."""
    wanted = dict.fromkeys((f.defense, f.rho) for f in figures() if f.scene == scene) or USUAL
    return [Kind(name, rho, parts) for name, rho in wanted for parts in subsets(BY_DEFENSE.get(name, ()))]


def label(defense: str, rho: float) -> str:
    """A defense and its rho in one word."""
    return f"{defense}@{rho:g}" if defense == "privee-u" else defense


def touched(scenes: Iterable[Scene]) -> Chosen:
    """Every part that touches a model, a release or an attack of these scenes."""
    return frozenset(name for scene in scenes for name in (*scene.parts, *_of_kinds(scene)))


def _of_kinds(scene: Scene) -> Chosen:
    return frozenset().union(*(kind.parts for kind in kinds(scene)))


def refuse_idle(parts: Chosen, played: Sequence[Scene], size: Size) -> None:
    """Parts that touch nothing that is played would leave every figure as it is, without a word."""
    idle = [name for name in PARTS if name in parts - touched(played)]
    if idle:
        names = listed(dict.fromkeys(scene.dataset for scene in played))
        raise SettingError(
            f"{', '.join(idle)}: no effect on {names}, all that is played here at {size} size; "
            f"take --full --only {','.join(datasets_for(parts))}"
        )


def datasets_for(parts: Chosen) -> list[str]:
    """Few and cheap datasets on which each of these parts touches something."""
    found: list[str] = []
    for name in (name for name in PARTS if name in parts):
        if not any(name in _touched_on(dataset) for dataset in found):
            found.append(next(dataset for dataset in DATASETS if name in _touched_on(dataset)))
    return found


@functools.cache
def _touched_on(dataset: str) -> Chosen:
    return touched({f.scene for f in figures() if f.scene.dataset == dataset})
