"""A party's own part of the joint model: its bottom, from its own weights file."""

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
from privee.vfl.batch_invariance import BLOCK, batch_invariant, batch_invariant_block
from privee.vfl.learner import Learner
from privee.vfl.models import architecture
from privee.vfl.run_format import WEIGHTS, PartyDescription
from privee.vfl.weights import load_tensors


class PartyModel:
    """Turns encoded columns into embeddings. Safe to use from several threads."""

    sealed: SealTerms | None = None

    def __init__(self, folder: Path, about: PartyDescription) -> None:
        torch.set_num_threads(1)  # small products gain nothing from more, and the parties share machines
        file = folder / WEIGHTS
        learner = Learner(architecture(about.model).bottom(about.shape, about.n_classes))
        learner.load_weights(load_tensors(file, about.party), about.party)
        self._model = learner.model.eval()
        self._shape = about.shape
        # Convolutions gain little from blocks, and one entity would pay for a whole block.
        convolves = any(isinstance(module, nn.Conv2d) for module in self._model.modules())
        self._block = 1 if convolves else batch_invariant_block(self._apply, [about.shape], BLOCK)
        self.weights = hashlib.sha256(file.read_bytes()).hexdigest()
        self.width = self.embed(np.zeros((1, *about.shape), dtype=np.float32)).shape[1]

    def embed(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Embeddings (n, width) of encoded columns (n, ...)."""
        return batch_invariant(self._apply, [columns.reshape(len(columns), *self._shape)], self._block)

    def codes(self, columns: NDArray[np.float32], entities: Sequence[str]) -> NDArray[np.uint8]:
        """Of a sealed run alone."""
        raise PriveeError("this run is not sealed, so it has no codes")

    def _apply(self, inputs: list[Tensor]) -> Tensor:
        output: Tensor = self._model(inputs[0])
        return output
