"""The parts of the profile: behaviours of the released code that its paper does not tell, one word for each.

They were read in the code's public snapshot as behaviours; nothing of it is copied. A part has no dial, it is on or
off.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import combinations

from privee.errors import SettingError

Chosen = frozenset[str]


@dataclasses.dataclass(frozen=True)
class Part:
    """One behaviour.

    Attributes:
        name: how it is switched on.
        stage: where it acts: "training", "release" or "attack".
        says: what it does, beside what the paper says.
        read: it was read in the code; otherwise it is a conjecture of this project, and counted apart.
    """

    name: str
    stage: str
    says: str
    read: bool = True


PARTS = {
    part.name: part
    for part in (
        Part("double-softmax", "training", "the loss takes softmax of what is softmax already (MNIST, Drive)"),
        Part("six-epochs", "training", "models of many parties are trained for 6 epochs, not 60"),
        Part("unscaled-columns", "training", "Adult's columns as they stand: raw numbers, categories as whole numbers"),
        Part("cifar10-for-cifar100", "training", "CIFAR-10 is loaded where CIFAR-100 is meant"),
        Part("logits-as-confidences", "release", "Adult's logits are handed out, and matched, in place of scores"),
        Part("hundred-outputs", "release", "the CIFAR-10 model has 100 outputs, of which 90 never occur"),
        Part("rank-surrogate", "release", "OPE hands out (K - j) / K for the class at rank j, counted from 0"),
        Part("draws-to-3", "release", "PRIVEE-U's draws go up to 3, not 1 (those of PRIVEE-U+ go up to 1)"),
        Part("reversed-schedule", "release", "PRIVEE-U+ takes rho from 0.1 for the leading class down to 0.05"),
        Part("scrambled", "attack", "each attacked record is paired with another record's release"),
        Part("softmax-again", "attack", "gradient inversion takes softmax of the model's scores once more"),
        Part("logits-matched", "attack", "GRNA on many parties matches raw logits with the released scores"),
        Part("ten-iterations", "attack", "gradient inversion on CIFAR stops after 10 steps, not 100"),
        Part("scrambled-cifar", "attack", "`scrambled`, on CIFAR, where it was not read", read=False),
        Part("default-rate", "attack", "GRNA on many parties has the default rate 0.01, not MNIST's 0.1", read=False),
        Part("unfitted", "attack", "columns found from undefended scores are measured against releases", read=False),
    )
}
PROFILE: Chosen = frozenset(part.name for part in PARTS.values() if part.read)
"""The profile `as_released`: everything that was read in the code."""
CONJECTURES: Chosen = frozenset(part.name for part in PARTS.values() if not part.read)


WHOLE = "profile"
"""In a list of parts: all of the profile."""


def chosen(text: str) -> Chosen:
    """Parts from a list with commas, `profile` for all that were read in the code; none for an empty one.

    Example:
        >>> sorted(chosen("scrambled, double-softmax"))
        ['double-softmax', 'scrambled']
    """
    return named(text) | (PROFILE if WHOLE in _words(text) else frozenset())


def named(text: str) -> Chosen:
    """Those that are asked for by name: each of them has to touch something, of a whole profile what can."""
    names = _words(text)
    unknown = [name for name in names if name not in PARTS and name != WHOLE]
    if unknown:
        raise SettingError(f"there is no part called {unknown[0]!r}; there are {', '.join(PARTS)}, or {WHOLE}")
    return frozenset(names) - {WHOLE}


def _words(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def written(parts: Iterable[str]) -> str:
    """The name of a combination: its parts in the order of `PARTS`, or "as published"."""
    given = set(parts)
    return " + ".join(name for name in PARTS if name in given) or "as published"


def subsets(names: Iterable[str]) -> Iterator[Chosen]:
    """Every combination of these parts, the smaller ones first."""
    some = [name for name in PARTS if name in set(names)]
    for count in range(len(some) + 1):
        yield from map(frozenset, combinations(some, count))
