"""Checkpoints of one attack: a folder that knows which attack on which data it belongs to.

    attack.json             the attack's fingerprint
    STAGE.safetensors       how far one loop of it is: its tensors, its optimizer's, step number, random generator

A folder serves one attack at a time; anything else in it is left alone.

What a checkpoint belongs to: the attack, its seed, and everything it was given.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor

from privee.atomic import read_json, write_json
from privee.attacks.view import AttackerView
from privee.errors import PriveeError
from privee.version import __version__
from privee.vfl.weights import load_optimizer_tensors, load_tensors, optimizer_tensors, save_tensors

ABOUT = "attack.json"


class Stage(NamedTuple):
    """One loop of an attack: its name, and all that it changes and needs again."""

    name: str
    tensors: Mapping[str, Tensor]
    optimizer: torch.optim.Optimizer | None


class Checkpoints:
    """Saves and restores the stages of the attack with this fingerprint; the folder of another one is refused.

    Attributes:
        exist: has any been written?
    """

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        if folder.exists() and not folder.is_dir():
            raise PriveeError(f"{folder} is a file; checkpoints need a folder")
        text = json.dumps(fingerprint, sort_keys=True)
        self._folder, self._about = folder, json.loads(text)
        self._digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._names: set[str] = set()
        self.exist = (folder / ABOUT).exists()
        if self.exist:
            self._refuse_another()

    def save(self, stage: Stage, steps_done: int) -> None:
        """Replace the checkpoint of a stage."""
        state = {f"tensor.{name}": tensor.detach() for name, tensor in stage.tensors.items()}
        state |= {"steps_done": torch.tensor(steps_done), "random": torch.get_rng_state()}
        if stage.optimizer is not None:
            state |= optimizer_tensors(stage.optimizer)
        try:
            if not self.exist:
                write_json(self._folder / ABOUT, self._about)
                self.exist = True
            save_tensors(self._file(stage.name), state, self._role(stage.name))
        except (OSError, SafetensorError) as error:
            raise PriveeError(f"cannot write a checkpoint to {self._folder}: {error}") from None

    def restore(self, stage: Stage) -> int:
        """Put the checkpoint of a stage back in place, if there is one; how many of its steps are done."""
        self._names.add(stage.name)
        if not self._file(stage.name).exists():
            return 0
        with self._remedy():
            state = load_tensors(self._file(stage.name), self._role(stage.name))
        with torch.no_grad():
            for name, tensor in stage.tensors.items():
                tensor.copy_(state[f"tensor.{name}"])
        if stage.optimizer is not None:
            load_optimizer_tensors(stage.optimizer, state)
        torch.set_rng_state(state["random"])
        return int(state["steps_done"])

    def remove(self) -> None:
        """Remove all of them, and the folder if nothing else is in it."""
        names = [*(self._file(stage).name for stage in self._names), ABOUT]
        # A process that is killed while it writes leaves a partial file, safetensors one named like .tmpA1b2C3.
        leftovers = [f".{name}.*.partial" for name in names] + [".tmp??????"]
        for pattern in leftovers + names:
            for file in self._folder.glob(pattern):
                file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()
        self.exist = False

    def _file(self, stage: str) -> Path:
        return self._folder / f"{stage}.safetensors"

    def _role(self, stage: str) -> str:
        return f"{stage} of attack {self._digest}"

    def _refuse_another(self) -> None:
        with self._remedy():
            found = read_json(self._folder / ABOUT)
            found = found if isinstance(found, dict) else {}
            other = [key for key, value in self._about.items() if key not in found or found[key] != value]
            if other:
                raise PriveeError(f"{self._folder} holds checkpoints of another attack (other {', '.join(other)})")

    @contextlib.contextmanager
    def _remedy(self) -> Iterator[None]:
        """Whatever is wrong with a checkpoint, the cure is the same."""
        try:
            yield
        except PriveeError as error:
            raise PriveeError(f"{error}; remove the folder {self._folder} to start afresh") from None


def fingerprint(settings: Mapping[str, Any], seed: int, view: AttackerView) -> dict[str, Any]:
    """Equal for equal work, ready for JSON; data appears as shapes and digests only."""
    rows = view.auxiliary
    return {
        "privee": __version__,
        "attack": dict(settings),
        "seed": seed,
        "defense": view.defense.settings(),
        "adaptive": view.adaptive,
        "own columns": _digest(view.own),
        "releases": _digest(view.releases),
        "auxiliary rows": None if rows is None else [_digest(rows.own), _digest(rows.unknown)],
        **({} if view.codes is None else {"codes": _digest(view.codes)}),
        **({} if view.embeddings is None else {"embeddings": _digest(view.embeddings)}),
        "model": _digest(_probe(view)),
    }


def _probe(view: AttackerView) -> Tensor:
    """The model's word on a made-up record, in single precision: another machine's last bits must not matter."""
    own, unknown = (
        torch.full((1, columns), 0.5, dtype=view.own.dtype)
        for columns in (view.model.own_columns, view.model.unknown_columns)
    )
    with torch.no_grad():
        return view.model.logits(own, unknown).float()


def _digest(tensor: Tensor) -> str:
    shape = "x".join(str(side) for side in tensor.shape)
    return f"{shape} {tensor.dtype} {hashlib.sha256(tensor.contiguous().numpy().data).hexdigest()[:16]}"
