"""A sealed party: answers with codes and nothing else, in training as afterwards."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from privee.errors import PriveeError
from privee.vfl.party import MOST_WAITING, PassiveParty
from privee.vfl.seal.drawing import Codes, drawn, new_secret
from privee.vfl.seal.encoders import Encoder, OwnEncoder, Sent
from privee.vfl.seal.own_codes import fit_own_codes
from privee.vfl.seeds import derived

BLOCK = 4096
BINS = 4
"""A sensitive number counts by its quarters."""


@dataclasses.dataclass(frozen=True, eq=False)
class SealedRecords:
    """What a sealed party knows of its records beside their columns.

    Attributes:
        secret: decides the draws; None makes a fresh one.
        entities: ids of the rows; their numbers by default.
        sensitive: places of the features of each sensitive column.
        sent: codes that were drawn before, by row: they are sent again, whatever the encoder says.
    """

    secret: bytes | None = dataclasses.field(default=None, repr=False)
    entities: Sequence[str] | None = dataclasses.field(default=None, repr=False)
    sensitive: Sequence[Sequence[int]] = ()
    sent: Codes | None = dataclasses.field(default=None, repr=False)


class SealedParty(PassiveParty):
    """Holds columns of the common records, and sends one of some codes for each.

    Args:
        name: its own.
        features: its columns, rows in the aligned order.
        encoder: from columns to codes.
        records: what else it knows of them.
    """

    def __init__(self, name: str, features: Tensor, encoder: Encoder, *, records: SealedRecords | None = None) -> None:
        super().__init__(name, features, encoder)
        known = records or SealedRecords()
        self.encoder, self.seal = encoder, encoder.seal
        self.entities = known.entities or [str(row) for row in range(len(features))]
        self._secret = new_secret() if known.secret is None else known.secret
        self._sensitive = [list(places) for places in known.sensitive]
        self._sent: deque[Sent] = deque()
        self._hot = [_one_hot(features.flatten(1)[:, places]) for places in self._sensitive]
        self._codes = None if known.sent is None else torch.from_numpy(known.sent.copy())

    def prepare(self, rows: Tensor, *, scaling: str = "none", class_weights: str = "none", seed: int = 0) -> None:
        """Fit the scaling; codes of its own columns are learned and drawn here, once and for all records."""
        if len(rows) < self.seal.codes:
            raise PriveeError(f"a seal of {self.seal.codes} codes needs more than {len(rows)} records to learn from")
        if not isinstance(self.encoder, OwnEncoder):
            super().prepare(rows, scaling=scaling, class_weights=class_weights)
            return
        places = [place for places in self._sensitive for place in places]
        fit_own_codes(
            self.encoder,
            self._features[rows],
            scaling=scaling,
            seed=derived(seed, "codes", self.name),
            sensitive=places,
            party=self.name,
        )
        self.seal_records()

    @property
    def is_sealed(self) -> bool:
        """Whether the codes are drawn: from then on nothing else is sent."""
        return self._codes is not None

    def seal_records(self) -> Codes:
        """Draw the code of every record; from now on nothing else is sent."""
        if self._codes is None:
            self._codes = torch.from_numpy(self._drawn(torch.arange(len(self._features))))
        return self._codes.numpy()

    def send_again(self, codes: Mapping[str, int]) -> None:
        """Send these codes for the entities that have one; any other is drawn now, by its id."""
        known = np.fromiter((codes.get(entity, -1) for entity in self.entities), np.int64, len(self.entities))
        new = torch.from_numpy(np.flatnonzero(known < 0))
        sent = np.where(known < 0, 0, known).astype(np.uint8)
        if len(new):
            sent[new.numpy()] = self._drawn(new)
        self._codes = torch.from_numpy(sent)

    def _embed(self, rows: Tensor, train: bool, ahead: bool = False) -> Tensor:
        if self._codes is not None:
            return self._codes[rows]
        if not train:
            return torch.from_numpy(self._drawn(rows))
        self.learner.mode(train)
        if not ahead:
            self._waiting.clear()
            self._sent.clear()
        elif len(self._waiting) >= MOST_WAITING:
            raise PriveeError(f"party {self.name} has {MOST_WAITING} batches that wait for their gradients already")
        batch = self._features[rows]
        numbers, copies = self.learner.run_on_copies(batch) if ahead else (self.learner.model(batch), None)
        sent = self.encoder.send(numbers.detach(), [hot[rows] for hot in self._hot])
        self._waiting.append((numbers, copies))
        self._sent.append(sent)
        return sent.codes

    def _learn(self, gradient: Tensor) -> None:
        """The gradient is for codes; what is learned from are the numbers behind them."""
        if isinstance(self.encoder, OwnEncoder):
            raise PriveeError(f"the codes of {self.name} are its own; it takes no gradient")
        if self._codes is not None:
            raise PriveeError(f"the codes of {self.name} are drawn, its training is over; it takes no gradient")
        if not self._sent:
            raise PriveeError(f"party {self.name} was sent a gradient but has no batch to learn from")
        super()._learn(self._sent.popleft().back(gradient))

    def _drawn(self, rows: Tensor) -> Codes:
        self.learner.mode(train=False)
        with torch.inference_mode():
            parts = [self.encoder.choose(self._features[part]) for part in rows.split(BLOCK)]
        chosen = torch.cat(parts).numpy() if parts else np.zeros(0, dtype=np.uint8)
        return drawn(chosen, self.seal, self._secret, [self.entities[row] for row in rows.tolist()])


def _one_hot(columns: Tensor) -> Tensor:
    """A column's features as one of some values: a category as it is encoded, a number by its quarters."""
    if columns.shape[1] > 1:
        rest = (1 - columns.sum(dim=1, keepdim=True)).clamp_min(0)
        return torch.cat([columns, rest], dim=1)
    cuts = torch.quantile(columns[:, 0].double()[: 1 << 20], torch.linspace(0, 1, BINS + 1).double()[1:-1])
    places = torch.searchsorted(cuts.unique().to(columns.dtype), columns[:, 0].contiguous(), right=True)
    return torch.nn.functional.one_hot(places, BINS).to(columns.dtype)
