"""A joint model in one process: parties and coordinator put together, from parts of data or from your own modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.coordinator import Coordinator
from privee.vfl.learner import Learner
from privee.vfl.messages import Message
from privee.vfl.models import architecture
from privee.vfl.party import ActiveParty, LocalChannel, PassiveParty
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
    """

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        labels: np.ndarray,
        bottoms: Mapping[str, nn.Module],
        top: nn.Module,
        *,
        tap: Tap | None = None,
    ) -> None:
        _check(columns, labels)
        names = list(columns)
        features = {name: _tensor(values) for name, values in columns.items()}
        first = ActiveParty(names[0], features[names[0]], bottoms[names[0]], torch.as_tensor(labels, dtype=torch.int64))
        others = [PassiveParty(name, features[name], bottoms[name]) for name in names[1:]]
        self.parties: list[PassiveParty] = [first, *others]
        self.coordinator = Coordinator(top, LocalChannel(self.parties, tap), names, names[0])
        self.rows = len(labels)

    @property
    def learners(self) -> dict[str, Learner]:
        """Every role's learner by role name."""
        return {party.name: party.learner for party in self.parties} | {COORDINATOR: self.coordinator.learner}

    def prepare(self, rows: Tensor, *, scaling: str = "none", class_weights: str = "none") -> None:
        """Let every party fit what a training on these rows needs; see `PassiveParty.prepare`."""
        for party in self.parties:
            party.prepare(rows, scaling=scaling, class_weights=class_weights)

    def scores(self, rows: Tensor | None = None, *, progress: Progress = lambda done, size: None) -> np.ndarray:
        """Class confidences of these rows (all of them by default), undefended."""
        chosen = torch.arange(self.rows) if rows is None else rows
        return self.coordinator.scores(chosen, progress=progress).numpy()


def make_models(
    kind: str, shapes: Mapping[str, Sequence[int]], n_classes: int, seed: int
) -> tuple[dict[str, nn.Module], nn.Module]:
    """Bottoms by party name and the top of a named architecture; weights depend on seed and role alone."""
    model = architecture(kind)
    if COORDINATOR in shapes:
        raise PriveeError(f"no party may be called {COORDINATOR!r}")
    bottoms = {name: build(seed, name, _maker(model.bottom, tuple(shape), n_classes)) for name, shape in shapes.items()}
    return bottoms, build(seed, COORDINATOR, lambda: model.top(len(shapes), n_classes))


def _maker(
    bottom: Callable[[tuple[int, ...], int], nn.Module], shape: tuple[int, ...], n: int
) -> Callable[[], nn.Module]:
    return lambda: bottom(shape, n)


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
