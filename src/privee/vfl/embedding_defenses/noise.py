"""The noise that a party adds to what it sends at prediction: fixed for ever by its secret, the record and its columns.

Fresh noise would average out: whoever asks about a record again and again, with the coordinator's help, would have the
embedding without it. With the id alone in it, one draw for two versions of a record would show how they differ. So the
same columns of the same record get the same draw, made again after a crash or by a second server alike, and other
columns get another one, which is a second look at a record that changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.randomness import keyed
from privee.vfl.embedding_defenses.bottoms import DefendedBottom
from privee.vfl.party import PassiveParty
from privee.vfl.seal.drawing import kept_secret, new_secret, read_secret

NOISE_KEY = "noise.key"
BLOCK = 4096
_LABEL = b"privee embedding noise v1\0"


@dataclasses.dataclass(frozen=True, eq=False)
class NoisyRecords:
    """What a party that adds noise knows of its records beside their columns.

    Attributes:
        secret: decides the draws; None makes a fresh one.
        entities: ids of the rows; their numbers by default.
    """

    secret: bytes | None = dataclasses.field(default=None, repr=False)
    entities: Sequence[str] | None = dataclasses.field(default=None, repr=False)


def record_noise(secret: bytes, entities: Sequence[str], columns: NDArray[np.float32], width: int) -> Tensor:
    """Normal draws for these records, (n, width), by a keyed hash of each one's id and encoded columns."""
    rows = np.ascontiguousarray(columns.reshape(len(columns), -1), dtype="<f4") + np.float32(0)  # -0 is 0
    drawn = [_draw(secret, entity, row.tobytes(), width) for entity, row in zip(entities, rows, strict=True)]
    return torch.from_numpy(np.stack(drawn)) if drawn else torch.zeros(0, width, dtype=torch.float64)


def _draw(secret: bytes, entity: str, columns: bytes, width: int) -> NDArray[np.float64]:
    raw = entity.encode("utf-8", "surrogatepass")
    return keyed(secret, _LABEL + len(raw).to_bytes(4, "big") + raw + columns).normal(width)


def kept_noise_secret(folder: Path) -> bytes:
    """The party's secret in its folder of a run; made there if there is none yet, for its owner's eyes alone."""
    return kept_secret(folder, NOISE_KEY)


def read_noise_secret(folder: Path) -> bytes:
    """The party's secret in its folder of a run."""
    return read_secret(folder, NOISE_KEY)


class NoisyParty(PassiveParty):
    """Holds columns of the common records, and sends embeddings with noise that is a record's own.

    Args:
        name: its own.
        features: its columns, rows in the aligned order.
        model: the bottom with its defense.
        records: what else it knows of them.
    """

    def __init__(
        self, name: str, features: Tensor, model: DefendedBottom, *, records: NoisyRecords | None = None
    ) -> None:
        super().__init__(name, features, model)
        known = records or NoisyRecords()
        self._bottom = model
        self._secret = new_secret() if known.secret is None else known.secret
        self._entities = known.entities

    def noise(self, rows: Tensor) -> Tensor:
        """The draws of these records: a secret of the party's."""
        entities = [str(row) if self._entities is None else self._entities[row] for row in rows.tolist()]
        return record_noise(self._secret, entities, self._features[rows].float().numpy(), self._bottom.noise_width)

    def _embed(self, rows: Tensor, train: bool, ahead: bool = False) -> Tensor:
        """Draws of a training come from its seed, as everybody's do; those of any other question are a secret."""
        if train:
            return super()._embed(rows, train, ahead)
        self.learner.mode(train=False)
        with torch.inference_mode():
            parts = [self._bottom.sent(self._features[part], self.noise(part)) for part in rows.split(BLOCK)]
            return torch.cat(parts)
