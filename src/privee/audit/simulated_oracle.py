"""Whom an attack asks in an audit: the model behind its defense.

What an interrupted attack has asked since its last checkpoint it asks again, of another process. That has to be the
same question with the same answer, or the attack would learn more than it may and come to another result. So draws are
fixed by the own columns asked with, by the step of the attack that asks, and by how often that step has asked the same
before: a step is done anew as a whole. The columns are in it because draws shared by two different questions would
cancel out; the step, because the same columns asked again later are to get draws of their own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch
from privee.defenses import Defense
from privee.randomness import seeded


class SimulatedOracle:
    """Gives a release of every record for own columns (n, columns) of one's choice.

    Args:
        scores: what the model says with these own columns.
        defense: what answers.
        seed, spec: of all draws.
    """

    def __init__(self, scores: Callable[[Tensor], NDArray[np.float64]], defense: Defense, seed: int, spec: str) -> None:
        self._scores, self._defense, self._seed, self._spec = scores, defense, seed, spec
        self.begin()

    def __call__(self, own: Tensor) -> Tensor:
        """A release of every record."""
        question = (*self._step, _digest(own))
        draws = seeded(self._seed, "oracle", self._spec, *question, self._asked[question])
        self._asked[question] += 1
        return torch.from_numpy(np.asarray(self._defense.release(self._scores(own), draws=draws)))

    def begin(self) -> None:
        """Nothing has been asked yet."""
        self._step: tuple[str, int] = ("", 0)
        self._asked: Counter[tuple[str | int, ...]] = Counter()

    def at(self, stage: str, step: int) -> None:
        """The attack that asks has come to this step of a stage."""
        self._step = (stage, step)

    def watched(self, watch: Watch) -> Watch:
        """The same watch, which also tells this oracle how far the attack is: give it to the attack that asks."""
        return _Telling(watch, self)


class _Telling(Watch):
    def __init__(self, watch: Watch, oracle: SimulatedOracle) -> None:
        super().__init__()
        self._watch, self._oracle = watch, oracle

    def begin(self, settings: Mapping[str, Any], seed: int, view: AttackerView) -> None:
        self._oracle.begin()
        self._watch.begin(settings, seed, view)

    def done(self) -> None:
        self._watch.done()

    def expect(self, steps: int) -> None:
        self._watch.expect(steps)

    def steps(
        self, name: str, total: int, tensors: Mapping[str, Tensor], optimizer: torch.optim.Optimizer | None = None
    ) -> Iterator[int]:
        for step in self._watch.steps(name, total, tensors, optimizer):
            self._oracle.at(name, step)
            yield step
        self._oracle.at(name, total)


def _digest(own: Tensor) -> str:
    columns = own.detach().contiguous().numpy()
    return hashlib.sha256(f"{columns.shape} {columns.dtype} ".encode() + columns.tobytes()).hexdigest()
