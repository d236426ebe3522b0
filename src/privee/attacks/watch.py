"""Progress of a long attack, and checkpoints from which it goes on as if it had never stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from privee.attacks.checkpoints import Checkpoints, Stage, fingerprint
from privee.attacks.view import AttackerView

OnStep = Callable[[int, int], None]
"""Called with (steps done, steps in all) after every step."""


def nothing(done: int, total: int) -> None:
    """Progress that nobody looks at."""


class Watch:
    """Watches one attack at a time: `attack.run(view, watch=Watch(show, Path("runs/attack")))`.

    Args:
        on_step: called with (steps done, steps in all) after every step.
        folder: where checkpoints go, one folder per attack; None writes none. An attack that is run again with the
            same folder goes on from there, to the same result; once it has ended well its checkpoints are removed.
        every: seconds between checkpoints; an attack that takes less writes none.
    """

    def __init__(self, on_step: OnStep = nothing, folder: Path | None = None, every: float = 30.0) -> None:
        self._on_step, self._folder, self._every = on_step, folder, every
        self._checkpoints: Checkpoints | None = None
        self._start_counting()

    def _start_counting(self) -> None:
        self._finished = self._expected = 0
        self._last_saved = time.monotonic()

    def begin(self, settings: Mapping[str, Any], seed: int, view: AttackerView) -> None:
        """An attack starts; a folder with checkpoints of another one is refused."""
        self._start_counting()
        if self._folder is not None:
            self._checkpoints = Checkpoints(self._folder, fingerprint(settings, seed, view))

    def done(self) -> None:
        """The attack has ended well and needs its checkpoints no more."""
        if self._checkpoints is not None and self._checkpoints.exist:
            self._checkpoints.remove()

    def expect(self, steps: int) -> None:
        """An attack of several stages says how many steps they have together, at most."""
        self._expected = self._finished + steps

    def steps(
        self, name: str, total: int, tensors: Mapping[str, Tensor], optimizer: torch.optim.Optimizer | None = None
    ) -> Iterator[int]:
        """Loop over this in place of `range(total)`; steps that a checkpoint holds the outcome of are left out.

        Args:
            name: of this stage of the attack; no other has it.
            total: how many steps the stage has.
            tensors: all that it changes and needs again, but for the optimizer's own state and torch's random
                generator; a checkpoint is put back into these very tensors.
            optimizer: its optimizer, if it has one.
        """
        stage, kept = Stage(name, tensors, optimizer), self._checkpoints
        saved = 0 if kept is None else kept.restore(stage)
        in_all = max(self._expected, self._finished + total)
        for step in range(saved, total):
            yield step
            if kept is not None and time.monotonic() - self._last_saved >= self._every:
                saved = self._save(kept, stage, step + 1)
            self._on_step(self._finished + step + 1, in_all)
        if kept is not None and kept.exist and saved < total:  # so that later stages find this one done
            self._save(kept, stage, total)
        self._finished += total

    def _save(self, checkpoints: Checkpoints, stage: Stage, steps_done: int) -> int:
        checkpoints.save(stage, steps_done)
        self._last_saved = time.monotonic()  # not before: a checkpoint that takes long must not be written all the time
        return steps_done
