"""A sealed party's part of the model: from its columns to a code, and how that is learned.

While training, an encoder gives what it sends (codes) and what a gradient for them can be pushed back through: chances
of the codes, as if these had been sent (straight-through). The chance of a code grows with what the top model makes of
it; noise that fades away, and a pull towards using all codes, keep the choice open until the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from privee.errors import PriveeError
from privee.vfl.models import Scaling
from privee.vfl.seal.settings import Seal
from privee.vfl.seal.steps import Steps

EXPLORE = 1.0
"""Gumbel noise on the codes' logits at the start of a training; it fades to nothing."""
BALANCE = 0.1
"""How strongly codes are pulled towards being used alike: the weight of their entropy in a batch."""
HUSH = 4.0
"""How strongly codes are kept from telling a sensitive column: the weight of their mutual information."""


class Learned(NamedTuple):
    """A batch of codes, and what their gradient goes back through: rows times features, then the party's own loss."""

    surrogate: Tensor
    codes: Tensor


class Encoder(nn.Module):
    """Turns columns into codes."""

    def __init__(self, seal: Seal) -> None:
        super().__init__()
        self.seal = seal

    def choose(self, columns: Tensor) -> Tensor:
        """The code of each row, as bytes; before the randomised response."""
        raise NotImplementedError


class JointEncoder(Encoder):
    """Learned with the task: a bottom, and a layer that says how likely each code is."""

    def __init__(self, bottom: nn.Module, width: int, seal: Seal, role: str) -> None:
        super().__init__(seal)
        self.bottom, self.head = bottom, nn.Linear(width, seal.codes)
        self.steps = Steps(role)

    def choose(self, columns: Tensor) -> Tensor:
        """The likeliest code."""
        logits: Tensor = self.head(self.bottom(columns))
        return logits.argmax(dim=1).to(torch.uint8)

    def forward(self, columns: Tensor, secrets: Sequence[Tensor] = ()) -> Learned:
        """A training batch; `secrets` are the sensitive columns of these rows, one-hot."""
        logits, draws = self.head(self.bottom(columns)), self.steps.next()
        uniform = torch.rand(logits.shape, generator=draws).clamp_(1e-9, 1 - 1e-7)
        noisy = logits - EXPLORE * (1 - self.steps.done) * uniform.log_().neg_().log_()
        chances = functional.softmax(noisy, dim=1)
        share = chances.mean(dim=0)
        local = BALANCE * (share * (share + 1e-9).log()).sum()
        for secret in secrets:
            local = local + HUSH * mutual_information(secret, chances)
        sent = responded(noisy.argmax(dim=1), self.seal, draws)
        return Learned(torch.cat([(self.seal.keeps * chances).flatten(), local[None]]), sent.to(torch.uint8))


class SignEncoder(Encoder):
    """HashVFL's form: so many signs, each of a number brought to a mean of 0 over the batch."""

    def __init__(self, bottom: nn.Module, width: int, seal: Seal, role: str) -> None:
        super().__init__(seal)
        bits = seal.signs or 1
        self.bottom, self.head = bottom, nn.Linear(width, bits)
        self.level = nn.BatchNorm1d(bits, affine=False)
        self.steps = Steps(role)

    def _numbers(self, columns: Tensor) -> Tensor:
        numbers: Tensor = self.level(self.head(self.bottom(columns)))
        return numbers

    def choose(self, columns: Tensor) -> Tensor:
        """The signs as one number."""
        return _as_number(self._numbers(columns) > 0).to(torch.uint8)

    def forward(self, columns: Tensor, secrets: Sequence[Tensor] = ()) -> Learned:
        """A training batch."""
        numbers = self._numbers(columns)
        local = torch.zeros(())
        for secret in secrets:
            for one in torch.sigmoid(4 * numbers).T:
                local = local + HUSH * mutual_information(secret, torch.stack([one, 1 - one], dim=1))
        sent = responded(_as_number(numbers > 0), self.seal, self.steps.next())
        surrogate = self.seal.keeps * functional.hardtanh(numbers)
        return Learned(torch.cat([surrogate.flatten(), local[None]]), sent.to(torch.uint8))


class OwnEncoder(Encoder):
    """Learned from the party's own columns alone: the nearest of some centres. No gradient ever comes in."""

    centres: Tensor | None
    turn: Tensor | None

    def __init__(self, seal: Seal) -> None:
        super().__init__(seal)
        self.scaling = Scaling()
        self.register_buffer("centres", None)
        self.register_buffer("turn", None)

    def put(self, centres: Tensor, turn: Tensor) -> None:
        """Columns on their own scale times `turn` are compared with the centres from now on."""
        self.centres, self.turn = centres, turn

    def choose(self, columns: Tensor) -> Tensor:
        """The nearest centre."""
        if self.centres is None or self.turn is None:
            raise PriveeError("the codes are not learned yet")
        return torch.cdist(self.scaling(columns) @ self.turn, self.centres).argmin(dim=1).to(torch.uint8)

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        """Takes whatever shape was saved."""
        for name in ("centres", "turn"):
            saved = state_dict.get(prefix + name)
            setattr(self, name, None if saved is None else torch.empty_like(saved))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def make_encoder(bottom: nn.Module, width: int, seal: Seal, role: str) -> Encoder:
    """The encoder that a seal calls for, around a party's bottom."""
    if seal.learn == "own":
        return OwnEncoder(seal)
    return (JointEncoder if seal.signs is None else SignEncoder)(bottom, width, seal, role)


def mutual_information(secret: Tensor, chances: Tensor) -> Tensor:
    """Between a column (one-hot) and codes (chances) over a batch, in nats."""
    both = secret.T @ chances / len(secret)
    alone = both.sum(dim=1, keepdim=True) * both.sum(dim=0, keepdim=True)
    return (both * ((both + 1e-9) / (alone + 1e-9)).log()).sum()


def responded(codes: Tensor, seal: Seal, draws: torch.Generator) -> Tensor:
    """Through the randomised response, as the top model must learn to expect it: training is not what it protects."""
    if seal.epsilon is None:
        return codes
    others = torch.randint(seal.codes, codes.shape, generator=draws)
    return torch.where(torch.rand(codes.shape, generator=draws) < seal.keeps, codes, others)


def _as_number(signs: Tensor) -> Tensor:
    """The first sign counts 1, the second 2, the third 4."""
    return (signs.to(torch.int64) << torch.arange(signs.shape[1])).sum(dim=1)
