"""Which seal tells least and is still good enough: tried on training rows held out, test records are not touched."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.theory import leaked_bits
from privee.vfl.experiment import open_model, train_run
from privee.vfl.joint_data import JointData
from privee.vfl.joint_model import JointModel
from privee.vfl.seal.sealing import longer
from privee.vfl.seal.settings import Seal
from privee.vfl.seeds import derived
from privee.vfl.training import TrainingSettings

CODES = (2, 4, 8, 16, 32, 64)
EPSILONS = (1.0, 2.0, 4.0, 8.0, None)
HELD = 0.2
"""Share of the training rows that seals are judged on."""


@dataclasses.dataclass(frozen=True)
class SealTrial:
    """One seal, tried.

    Attributes:
        seal: as it is written on the command line; empty for the model that is not sealed.
        leaked_bits: what can ever leave of one record of one party, at most.
        accuracy: on training rows held out.
    """

    seal: str
    leaked_bits: float | None
    accuracy: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class SealChoice:
    """What the search found: the model that is not sealed, all trials by rising leak, and the first good enough."""

    unsealed: SealTrial
    least: float
    trials: tuple[SealTrial, ...]
    best: SealTrial | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def candidates(learn: str = "joint", epsilons: Sequence[float | None] = EPSILONS) -> list[Seal]:
    """Seals by what can leave through them, the least first; of equals the one with an epsilon."""
    made = [Seal(codes=codes, epsilon=epsilon, learn=learn) for codes in CODES for epsilon in epsilons]
    return sorted(made, key=lambda seal: (leaked_bits(seal.codes, seal.epsilon), seal.epsilon is None))


def tune_seal(
    data: JointData,
    model: str,
    settings: TrainingSettings,
    *,
    study_file: Path,
    lose: float = 0.01,
    least: float | None = None,
    learn: str = "joint",
    on_trial: Callable[[int, int], None] = lambda done, size: None,
) -> SealChoice:
    """Search for the seal that tells least with an accuracy that is named; a study from before is gone on with.

    What more bits are good for rises with them but for chance, so the list is halved until its edge is found, and the
    seals just below the edge are tried as well.

    Args:
        data: what to train on.
        model: name of the architecture.
        settings: how to train the model that is not sealed; sealed ones take longer.
        study_file: where the trials are kept.
        lose: how much accuracy may be lost against the model that is not sealed, if `least` is not given.
        least: the accuracy that is needed.
        learn: `joint` or `own`.
        on_trial: told how many trials there are, and how many there may be.
    """
    held = _held_out(data, settings.seed)
    study = _Study(study_file, _fingerprint(held, model, settings, learn))
    seals = candidates(learn)
    size = 1 + len(seals).bit_length() + 2
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "unsealed"
        train_run(plain, held, model, settings)
        teacher = open_model(plain, held)
        unsealed = SealTrial("", None, study.tried("", lambda: _accuracy(teacher, held)))
        needed = unsealed.accuracy - lose if least is None else least
        if unsealed.accuracy < needed:
            raise PriveeError(
                f"the model that is not sealed has an accuracy of {unsealed.accuracy:.3f} on rows held out, "
                f"below the {needed:.3f} that is asked for"
            )

        def good(place: int) -> bool:
            seal = seals[place]
            found = study.tried(seal.spec, lambda: _sealed_accuracy(Path(folder), held, model, settings, seal, teacher))
            on_trial(len(study.found), max(size, len(study.found)))
            return found >= needed

        low, high = 0, len(seals)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if good(middle) else (middle + 1, high)
        for place in range(max(0, low - 2), low):  # a trial that failed by chance
            if good(place):
                break
    trials = [_trial(seal, study.found[seal.spec]) for seal in seals if seal.spec in study.found]
    best = next((trial for trial in trials if trial.accuracy >= needed), None)
    return SealChoice(unsealed, needed, tuple(trials), best)


def _trial(seal: Seal, accuracy: float) -> SealTrial:
    return SealTrial(seal.spec, leaked_bits(seal.codes, seal.epsilon), accuracy)


def _sealed_accuracy(
    folder: Path, data: JointData, model: str, settings: TrainingSettings, seal: Seal, teacher: JointModel
) -> float:
    seals = dict.fromkeys(list(data.columns)[1:], seal)
    path = folder / seal.spec.replace(",", "-")
    return train_run(path, data, model, longer(settings), seals=seals, teacher=teacher).test.accuracy


def _accuracy(joint: JointModel, data: JointData) -> float:
    import torch

    return joint.coordinator.evaluate(torch.from_numpy(data.test)).accuracy


def _held_out(data: JointData, seed: int) -> JointData:
    """The training rows in two parts, the second to judge by."""
    rows = np.random.default_rng(derived(seed, "held out")).permutation(data.train)
    held = max(1, round(len(rows) * HELD))
    if held >= len(rows):
        raise PriveeError(f"{len(rows)} training rows are too few to hold some out")
    return dataclasses.replace(data, train=np.sort(rows[held:]), test=np.sort(rows[:held]), private={})


def _fingerprint(data: JointData, model: str, settings: TrainingSettings, learn: str) -> str:
    found = hashlib.sha256(json.dumps([model, settings.as_dict(), learn, data.class_names]).encode())
    for values in data.columns.values():
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


class _Study:
    """Trials in a file, for the same data and settings."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        saved = read_json(path) if path.is_file() else {"of": fingerprint, "accuracy": {}}
        if not isinstance(saved, dict) or saved.get("of") != fingerprint:
            raise PriveeError(f"{path} holds trials of other data or settings; choose another file with --out")
        self._path, self._of, self.found = path, fingerprint, dict(saved["accuracy"])

    def tried(self, spec: str, work: Callable[[], float]) -> float:
        """What was found before, or now."""
        if spec not in self.found:
            self.found[spec] = work()
            write_json(self._path, {"of": self._of, "accuracy": self.found})
        return float(self.found[spec])
