"""The coordinator's part of a saved run: it joins embeddings into scores, and holds no party's weights."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.party.errors import PartyError
from privee.vfl.batch_invariance import Blocks, batch_invariant, batch_invariant_blocks
from privee.vfl.embedding_defenses import EmbeddingDefense
from privee.vfl.joint_model import COORDINATOR, make_top
from privee.vfl.learner import Learner
from privee.vfl.run_format import UTILITY, WEIGHTS, embedding_defenses_of, seals_of
from privee.vfl.runs import RunFolder
from privee.vfl.seal import Seal, told_by
from privee.vfl.seal.books import SealedTop
from privee.vfl.weights import load_tensors
from privee.vfl.worth import ModelWorth, read_worth


@dataclasses.dataclass(frozen=True, eq=False)
class CoordinatorModel:
    """What the gateway knows of a model.

    Attributes:
        name: as it is asked for.
        version: changes with any role's weights.
        parties: in the order in which `top` takes their embeddings; the first is the active one.
        classes: what the columns of a release stand for.
        weights: the checksum of each party's weights file.
        top: takes the list of embeddings and gives logits.
        worth: what was measured when the model was trained, if the run has it.
        seals: of the parties that are sealed, by name.
        vectors: what each code of a sealed party stands for, (codes, width).
        embedding_defenses: of the parties that have one, by name.
    """

    name: str
    version: str
    parties: tuple[str, ...]
    classes: tuple[str, ...]
    weights: Mapping[str, str]
    top: nn.Module
    worth: ModelWorth | None = None
    seals: Mapping[str, Seal] = dataclasses.field(default_factory=dict)
    vectors: Mapping[str, NDArray[np.float32]] = dataclasses.field(default_factory=dict, repr=False)
    embedding_defenses: Mapping[str, EmbeddingDefense] = dataclasses.field(default_factory=dict)
    _blocks: dict[tuple[int, ...], Blocks] = dataclasses.field(default_factory=dict, init=False, repr=False)

    scorer: ClassVar[str] = ""
    """Its scores come from parties; see `ServedModel`."""

    @property
    def sealed(self) -> dict[str, dict[str, Any]]:
        """What can ever leave each sealed party, of one record."""
        return {party: told_by(seal) for party, seal in self.seals.items()}

    @property
    def embedding_specs(self) -> dict[str, str]:
        """The embedding defense of each party that has one."""
        return {party: one.spec for party, one in self.embedding_defenses.items()}

    @property
    def all_sealed(self) -> bool:
        """Whether every passive party is."""
        return all(party in self.seals for party in self.parties[1:])

    def scores(self, embeddings: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float64]:
        """Class confidences in double precision: float32 scores of confident models are mostly ties at 0 and 1.

        An entity's are the same to the last bit in any company, as its embeddings are: see `batch_invariant`.
        """
        parts = [self._entered(party, embeddings[party]) for party in self.parties]
        widths = tuple(part.shape[1] for part in parts)
        try:
            if widths not in self._blocks:
                self._blocks[widths] = batch_invariant_blocks(self._apply, [(width,) for width in widths])
            return batch_invariant(self._apply, parts, self._blocks[widths])
        except RuntimeError:
            raise PriveeError("the parties' embeddings do not fit this model; do they serve the same run?") from None

    def _entered(self, party: str, sent: NDArray[np.float32]) -> NDArray[np.float32]:
        """An embedding as it is; of a sealed party, what its codes stand for."""
        vectors = self.vectors.get(party)
        if vectors is None:
            return sent
        # Written so that NaN fails too.
        fits = sent.shape[1] == 1 and ((sent >= 0) & (sent < len(vectors)) & (sent == np.floor(sent))).all()
        if not fits:
            raise PartyError(party, "mismatch", f"is sealed with {len(vectors)} codes, and sent something else")
        return vectors[sent[:, 0].astype(np.int64)]

    def _apply(self, parts: list[Tensor]) -> Tensor:
        logits: Tensor = self.top(parts)
        return torch.softmax(logits.double(), dim=1)


def load_coordinator_model(run: Path, name: str | None = None) -> CoordinatorModel:
    """Read the coordinator's part of a finished run; the parties' folders need not be there."""
    folder = RunFolder.open(run)
    config = folder.config
    seals = seals_of(config)
    learner = Learner(make_top(config["model"], config["parties"], len(config["classes"]), 0, seals))
    _check(folder.part(COORDINATOR) / WEIGHTS, config["files"][f"{COORDINATOR}/{WEIGHTS}"])
    learner.load_weights(load_tensors(folder.part(COORDINATOR) / WEIGHTS, COORDINATOR), COORDINATOR)
    return CoordinatorModel(
        name=name or run.resolve().name,
        version=hashlib.sha256(json.dumps(config["files"], sort_keys=True).encode()).hexdigest()[:16],
        parties=tuple(config["parties"]),
        classes=tuple(str(label) for label in config["classes"]),
        weights={party: config["files"][f"parties/{party}/{WEIGHTS}"] for party in config["parties"]},
        top=learner.model.top if isinstance(learner.model, SealedTop) else learner.model,
        worth=_worth(run, config),
        seals=seals,
        vectors=_vectors(learner.model, config["parties"]),
        embedding_defenses=embedding_defenses_of(config),
    )


def _vectors(top: nn.Module, parties: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """What every code of every sealed party stands for."""
    if not isinstance(top, SealedTop):
        return {}
    books = ((party, top.book(place)) for place, party in enumerate(parties))
    with torch.inference_mode():
        return {
            party: book(torch.arange(book.seal.codes, dtype=torch.uint8)).numpy()
            for party, book in books
            if book is not None
        }


def _worth(run: Path, config: Mapping[str, Any]) -> ModelWorth | None:
    """Runs of an older privee have none, nor have federated ones, nor a folder that was copied without it."""
    if UTILITY not in config["files"] or not (run / UTILITY).is_file():
        return None
    _check(run / UTILITY, config["files"][UTILITY])
    return read_worth(run)


def _check(file: Path, expected: str) -> None:
    try:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise PriveeError(f"{file} is missing") from None
    if found != expected:
        raise PriveeError(f"{file} is damaged: its checksum is not the one recorded when the run finished")
