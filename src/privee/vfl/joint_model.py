"""A joint model in one process: parties and coordinator put together, from parts of data or from your own modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.coordinator import Coordinator
from privee.vfl.embedding_defenses.base import EmbeddingDefense, Place
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, noise_width
from privee.vfl.embedding_defenses.given import check_combination
from privee.vfl.embedding_defenses.noise import NoisyParty, NoisyRecords
from privee.vfl.learner import Learner
from privee.vfl.messages import Message
from privee.vfl.models import architecture
from privee.vfl.party import ActiveParty, LocalChannel, PassiveParty
from privee.vfl.seal.books import SealedTop
from privee.vfl.seal.encoders import Encoder, make_encoder
from privee.vfl.seal.party import SealedParty, SealedRecords
from privee.vfl.seal.settings import Seal
from privee.vfl.seeds import build

Tap = Callable[[str, str, Message], None]
COORDINATOR = "coordinator"


class JointModel:
    """All roles in this process. The first party is the active one.

    Args:
        columns: each party's columns by name, (n, ...) floats, rows in the aligned order.
        labels: the active party's labels, one per row; zeros will do for prediction.
        bottoms: each party's module, by name.
        top: takes the list of embeddings and gives logits (see `privee.vfl.models.ConcatTop`).
        tap: sees every message.
        sealed: what the parties whose bottoms are encoders of codes know beside their columns, by name.
        noisy: the same of parties that add noise to what they send; draws are fresh ones otherwise.
    """

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        labels: np.ndarray,
        bottoms: Mapping[str, nn.Module],
        top: nn.Module,
        *,
        tap: Tap | None = None,
        sealed: Mapping[str, SealedRecords] | None = None,
        noisy: Mapping[str, NoisyRecords] | None = None,
    ) -> None:
        _check(columns, labels)
        names = list(columns)
        features = {name: _tensor(values) for name, values in columns.items()}
        first = ActiveParty(names[0], features[names[0]], bottoms[names[0]], torch.as_tensor(labels, dtype=torch.int64))
        known: dict[str, SealedRecords | NoisyRecords] = {**(sealed or {}), **(noisy or {})}
        others = [_passive(name, features[name], bottoms[name], known.get(name)) for name in names[1:]]
        self.parties: list[PassiveParty] = [first, *others]
        self.coordinator = Coordinator(top, LocalChannel(self.parties, tap), names, names[0])
        self.rows = len(labels)

    @property
    def learners(self) -> dict[str, Learner]:
        """Every role's learner by role name."""
        return {party.name: party.learner for party in self.parties} | {COORDINATOR: self.coordinator.learner}

    @property
    def sealed(self) -> list[SealedParty]:
        """The parties that send codes."""
        return [party for party in self.parties if isinstance(party, SealedParty)]

    @property
    def noisy(self) -> list[NoisyParty]:
        """The parties that add noise to what they send."""
        return [party for party in self.parties if isinstance(party, NoisyParty)]

    def prepare(self, rows: Tensor, *, scaling: str = "none", class_weights: str = "none", seed: int = 0) -> None:
        """Let every party fit what a training on these rows needs; see `PassiveParty.prepare`."""
        for party in self.parties:
            party.prepare(rows, scaling=scaling, class_weights=class_weights, seed=seed)

    def seal_records(self) -> None:
        """Let every sealed party draw the codes of its records: the training is over."""
        for party in self.sealed:
            party.seal_records()

    def scores(self, rows: Tensor | None = None, *, progress: Progress = lambda done, size: None) -> np.ndarray:
        """Class confidences of these rows (all of them by default), undefended."""
        chosen = torch.arange(self.rows) if rows is None else rows
        return self.coordinator.scores(chosen, progress=progress).numpy()


def make_models(
    kind: str,
    shapes: Mapping[str, Sequence[int]],
    n_classes: int,
    seed: int,
    seals: Mapping[str, Seal] | None = None,
    defenses: Mapping[str, EmbeddingDefense] | None = None,
) -> tuple[dict[str, nn.Module], nn.Module]:
    """Bottoms by party name and the top of a named architecture; weights depend on seed and role alone.

    The bottom of a party that is sealed is an encoder of codes, and the top holds what each code stands for. An
    embedding defense is around the bottom of a party that has one.
    """
    if COORDINATOR in shapes:
        raise PriveeError(f"no party may be called {COORDINATOR!r}")
    known = seals or {}
    for name in known:
        if name not in list(shapes)[1:]:
            raise PriveeError(f"only a passive party can be sealed, and {name!r} is none")
    around = defenses or {}
    check_combination(around, known, list(shapes))
    bottoms = {
        name: make_bottom(kind, name, shape, n_classes, seed, known.get(name), around.get(name))
        for name, shape in shapes.items()
    }
    return bottoms, make_top(kind, list(shapes), n_classes, seed, known)


def make_bottom(
    kind: str,
    name: str,
    shape: Sequence[int],
    n_classes: int,
    seed: int,
    seal: Seal | None = None,
    defense: EmbeddingDefense | None = None,
) -> nn.Module:
    """One party's part of a named architecture."""
    model = architecture(kind)
    if defense is not None:
        around, place = defense, Place(name, math.prod(shape), model.width(n_classes))
        return build(seed, name, lambda: around.around(model.bottom(tuple(shape), n_classes), place))
    if seal is None:
        return build(seed, name, lambda: model.bottom(tuple(shape), n_classes))
    sealed = seal
    return build(
        seed,
        name,
        lambda: make_encoder(model.bottom(tuple(shape), n_classes), model.width(n_classes), sealed, name),
    )


def make_top(
    kind: str, parties: Sequence[str], n_classes: int, seed: int, seals: Mapping[str, Seal] | None = None
) -> nn.Module:
    """The coordinator's part of a named architecture."""
    model = architecture(kind)
    if not seals:
        return build(seed, COORDINATOR, lambda: model.top(len(parties), n_classes))
    places = {list(parties).index(name): seal for name, seal in seals.items()}
    return build(
        seed,
        COORDINATOR,
        lambda: SealedTop(model.sealed_top(len(parties), n_classes), places, model.width(n_classes)),
    )


def _passive(
    name: str, features: Tensor, bottom: nn.Module, records: SealedRecords | NoisyRecords | None
) -> PassiveParty:
    if isinstance(bottom, Encoder):
        return SealedParty(name, features, bottom, records=records if isinstance(records, SealedRecords) else None)
    if isinstance(bottom, DefendedBottom) and noise_width(bottom):
        return NoisyParty(name, features, bottom, records=records if isinstance(records, NoisyRecords) else None)
    return PassiveParty(name, features, bottom)


def _tensor(values: np.ndarray) -> Tensor:
    if not values.flags.writeable:
        values = values.copy()
    return torch.from_numpy(
        np.ascontiguousarray(values, dtype=values.dtype if values.dtype == np.float64 else np.float32)
    )


def _check(columns: Mapping[str, np.ndarray], labels: np.ndarray) -> None:
    if len(columns) < 2:
        raise PriveeError("a joint model needs at least two parties")
    for name, values in columns.items():
        if len(values) != len(labels):
            raise PriveeError(f"party {name} has {len(values)} rows where there are {len(labels)} labels; align first")
        if not np.isfinite(values).all():
            raise PriveeError(f"party {name} has columns with values that are not finite numbers")
