"""A joint model with sealed parties: what these hold reaches the scores through one code for each record, and no more.

Codes of records that are attacked were drawn once and are given. Of any other columns the encoder tells the code, and
whoever simulates records draws what is sent for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from privee.attacks.joint_logits import JointLogits, Shape
from privee.randomness import Draws
from privee.theory import SealedChannel, released_codes
from privee.vfl.seal import Seal
from privee.vfl.seal.encoders import Encoder

BLOCK = 8192


class SealedPart(NamedTuple):
    """A sealed party as whoever knows the model sees it.

    Attributes:
        party: its name.
        seal: how many codes it has, by which randomised response they are drawn, and how they were learned.
        places: of its columns among all columns of the model.
    """

    party: str
    seal: Seal
    places: range

    @property
    def channel(self) -> SealedChannel:
        """What a code tells at most."""
        return SealedChannel(self.seal.codes, self.seal.epsilon, self.party)


class SealedLogits(JointLogits):
    """Splits flat rows among the parties' modules, and takes codes from those that are sealed."""

    def __init__(
        self, bottoms: Sequence[nn.Module], top: nn.Module, shapes: Sequence[Shape], names: Sequence[str]
    ) -> None:
        super().__init__(bottoms, top, shapes)
        self._encoders = {k: bottom for k, bottom in enumerate(bottoms[1:]) if isinstance(bottom, Encoder)}
        starts = [sum(self._sizes[: k + 1]) for k in range(len(bottoms) - 1)]
        self.sealed = tuple(
            SealedPart(names[k + 1], encoder.seal, range(starts[k], starts[k] + self._sizes[k + 1]))
            for k, encoder in self._encoders.items()
        )

    def chosen(self, unknown: Tensor) -> Tensor:
        """The code that each sealed party's encoder chooses, before the randomised response; (n, sealed parties)."""
        by_party = self._by_party(unknown.detach())
        with torch.no_grad():
            found = [
                torch.cat([encoder.choose(part) for part in by_party[k].split(BLOCK)])
                for k, encoder in self._encoders.items()
            ]
        return torch.stack(found, dim=1)

    def drawn(self, chosen: Tensor, draws: Draws) -> Tensor:
        """What is sent in place of these, with draws of one's own."""
        sent = [
            torch.from_numpy(released_codes(column.numpy(), part.seal.codes, part.seal.epsilon, draws))
            for column, part in zip(chosen.T.contiguous(), self.sealed, strict=True)
        ]
        return torch.stack(sent, dim=1)

    def _unknown_parts(self, unknown: Tensor, codes: Tensor | None = None) -> list[Tensor]:
        sent = self.chosen(unknown) if codes is None else codes
        columns = dict(zip(self._encoders, sent.T, strict=True))
        parts = enumerate(zip(self._bottoms[1:], self._by_party(unknown), strict=True))
        return [columns[k] if k in columns else bottom(rows) for k, (bottom, rows) in parts]
