"""A party's own part of the joint model: its bottom or, if it is sealed, its encoder, from its own weights file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.party.ledger import SealTerms
from privee.vfl.batch_invariance import batch_invariant, batch_invariant_blocks
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, noise_width, predicting
from privee.vfl.embedding_defenses.noise import read_noise_secret, record_noise
from privee.vfl.joint_model import make_bottom
from privee.vfl.learner import Learner
from privee.vfl.run_format import WEIGHTS, PartyDescription
from privee.vfl.seal.drawing import drawn, read_secret, seal_identity
from privee.vfl.seal.encoders import Encoder
from privee.vfl.seal.records import read_codes
from privee.vfl.weights import load_tensors


class PartyModel:
    """Turns encoded columns into embeddings. Safe to use from several threads."""

    sealed: SealTerms | None = None

    def __init__(self, folder: Path, about: PartyDescription) -> None:
        torch.set_num_threads(1)  # small products gain nothing from more, and the parties share machines
        file = folder / WEIGHTS
        learner = Learner(_bottom(about))
        learner.load_weights(load_tensors(file, about.party), about.party)
        self._model = predicting(learner.model).eval()
        self._shape = about.shape
        # Convolutions gain little from blocks, and one entity would pay for a whole block.
        convolves = any(isinstance(module, nn.Conv2d) for module in self._model.modules())
        self._blocks = (1,) if convolves else batch_invariant_blocks(self._apply, self._inputs(about))
        self.weights = hashlib.sha256(file.read_bytes()).hexdigest()
        self.width = self.embed(np.zeros((1, *about.shape), dtype=np.float32), [""]).shape[1]

    def embed(self, columns: NDArray[np.float32], entities: Sequence[str] = ()) -> NDArray[np.float32]:
        """Embeddings (n, width) of encoded columns (n, ...)."""
        return batch_invariant(self._apply, [columns.reshape(len(columns), *self._shape)], self._blocks)

    def codes(self, columns: NDArray[np.float32], entities: Sequence[str]) -> NDArray[np.uint8]:
        """Of a sealed run alone."""
        raise PriveeError("this run is not sealed, so it has no codes")

    @classmethod
    def load(cls, folder: Path, about: PartyDescription) -> PartyModel:
        """The model that a party's folder holds: sealed, with a noisy embedding, or neither."""
        noisy = about.embedding_defense is not None and about.embedding_defense.noisy
        return (SealedPartyModel if about.seal is not None else NoisyPartyModel if noisy else cls)(folder, about)

    def _inputs(self, about: PartyDescription) -> list[tuple[int, ...]]:
        """Shapes of what the model takes of one record."""
        return [about.shape]

    def _apply(self, inputs: list[Tensor]) -> Tensor:
        output: Tensor = self._model(inputs[0])
        return output


class NoisyPartyModel(PartyModel):
    """Turns encoded columns into embeddings with noise: of a record the same whenever it is asked about."""

    def __init__(self, folder: Path, about: PartyDescription) -> None:
        self._secret = read_noise_secret(folder)
        self._draws = noise_width(_bottom(about))
        super().__init__(folder, about)

    def embed(self, columns: NDArray[np.float32], entities: Sequence[str] = ()) -> NDArray[np.float32]:
        """Embeddings of these entities' columns, each with its noise."""
        rows = columns.reshape(len(columns), *self._shape)
        noise = record_noise(self._secret, entities, rows, self._draws).float().numpy()
        return batch_invariant(self._apply, [rows, noise], self._blocks)

    def _inputs(self, about: PartyDescription) -> list[tuple[int, ...]]:
        return [about.shape, (self._draws,)]

    def _apply(self, inputs: list[Tensor]) -> Tensor:
        if not isinstance(self._model, DefendedBottom):
            raise PriveeError("this run adds no noise")
        return self._model.sent(inputs[0], inputs[1])


def _bottom(about: PartyDescription) -> nn.Module:
    return make_bottom(
        about.model, about.party, about.shape, about.n_classes, about.seed, defense=about.embedding_defense
    )


class SealedPartyModel(PartyModel):
    """Turns encoded columns into codes. What was sent in training is sent again, whatever the columns say now."""

    def __init__(self, folder: Path, about: PartyDescription) -> None:
        torch.set_num_threads(1)
        if about.seal is None:
            raise PriveeError("this run is not sealed")
        file, self._seal = folder / WEIGHTS, about.seal
        encoder = make_bottom(about.model, about.party, about.shape, about.n_classes, about.seed, about.seal)
        learner = Learner(encoder)
        learner.load_weights(load_tensors(file, about.party), about.party)
        if not isinstance(encoder, Encoder):
            raise PriveeError("this run is not sealed")
        self._encoder, self._shape, self.width = encoder.eval(), about.shape, 1
        self._secret = read_secret(folder)
        self.weights = hashlib.sha256(file.read_bytes()).hexdigest()
        identity = seal_identity(self.weights, self._seal, self._secret)
        self.sealed = SealTerms(identity, self._seal.codes, self._seal.epsilon)
        entities, codes = read_codes(folder)
        self._sent = dict(zip(entities, codes.tolist(), strict=True))

    def embed(self, columns: NDArray[np.float32], entities: Sequence[str] = ()) -> NDArray[np.float32]:
        """A sealed party has no embeddings for anybody."""
        raise PriveeError("this party is sealed: it answers with codes and nothing else")

    def codes(self, columns: NDArray[np.float32], entities: Sequence[str]) -> NDArray[np.uint8]:
        """What would be sent for these entities if nothing was sent yet."""
        sent = np.fromiter((self._sent.get(entity, -1) for entity in entities), np.int64, len(entities))
        new = np.flatnonzero(sent < 0)
        if len(new):
            with torch.inference_mode():
                rows = torch.from_numpy(np.ascontiguousarray(columns[new])).reshape(len(new), *self._shape)
                chosen = self._encoder.choose(rows).numpy()
            sent[new] = drawn(chosen, self._seal, self._secret, [entities[place] for place in new.tolist()])
        return sent.astype(np.uint8)
