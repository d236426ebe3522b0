"""A sealed party's part of the model: from its columns to a code, and how that is learned.

While training, an encoder gives the numbers that codes are chosen by, the codes, and a way to turn a gradient for the
codes into one for the numbers: as if the chances of the codes had been sent (straight-through). The chance of a code
grows with what the top model makes of it; noise that fades away, and a pull towards using all codes, keep the choice
open until the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from privee.errors import PriveeError
from privee.vfl.models import Scaling
from privee.vfl.seal.settings import Seal
from privee.vfl.seal.steps import Make, Steps

EXPLORE = 1.0
"""Gumbel noise on the codes' logits at the start of a training; it fades to nothing."""
BALANCE = 0.1
"""How strongly codes are pulled towards being used alike: the weight of their entropy in a batch."""
HUSH = 4.0
"""How strongly codes are kept from telling a sensitive column: the weight of their mutual information."""
FEW = 16
"""Up to so many numbers of the head, making one layer of two saves more than it costs."""
KEPT = -1


class Sent(NamedTuple):
    """The codes of a training batch, and what makes of a gradient for them one for the numbers behind them."""

    codes: Tensor
    back: Callable[[Tensor], Tensor]


class Encoder(nn.Module):
    """Turns columns into codes."""

    def __init__(self, seal: Seal) -> None:
        super().__init__()
        self.seal = seal

    def choose(self, columns: Tensor) -> Tensor:
        """The code of each row, as bytes; before the randomised response."""
        raise NotImplementedError

    def send(self, numbers: Tensor, secrets: Sequence[Tensor]) -> Sent:
        """What is sent of a training batch, whose numbers `forward` gave; secrets are sensitive columns, one-hot."""
        raise NotImplementedError


class JointEncoder(Encoder):
    """Learned with the task: a bottom, and a layer that says how likely each code is."""

    def __init__(self, bottom: nn.Module, width: int, seal: Seal, role: str) -> None:
        super().__init__(seal)
        self.bottom, self.head = bottom, nn.Linear(width, seal.codes)
        self.steps = Steps(role, lambda uniform: uniform.log_().neg_().log_().neg_())
        self.response = Steps(f"{role} response", response_to(seal))
        self._keeps = seal.keeps

    def forward(self, columns: Tensor) -> Tensor:
        """Logits of the codes."""
        return through(self.bottom, self.head, columns)

    def choose(self, columns: Tensor) -> Tensor:
        """The likeliest code; layer by layer, to the bits that runs were sealed with."""
        return self.head(self.bottom(columns)).argmax(dim=1).to(torch.uint8)

    @torch.no_grad()
    def send(self, numbers: Tensor, secrets: Sequence[Tensor]) -> Sent:
        """Codes of a training batch."""
        fading = EXPLORE * (1 - self.steps.done)
        noisy = torch.add(numbers, self.steps.next(*numbers.shape), alpha=fading)
        most, chosen = noisy.max(dim=1, keepdim=True)
        chances = (noisy - most).exp_()  # softmax by hand: its own kernel is slow on few classes
        chances /= chances.sum(dim=1, keepdim=True)
        pull = chances.mean(dim=0).add_(1e-9).log_().mul_(BALANCE / len(chances))
        for secret in secrets:
            pull = pull + HUSH * told_by_batch(secret, chances)

        def back(gradient: Tensor) -> Tensor:
            wanted = torch.add(pull, gradient, alpha=self._keeps)
            return torch._softmax_backward_data(wanted, chances, 1, wanted.dtype)

        return Sent(responded(chosen[:, 0], self.seal, self.response).to(torch.uint8), back)


class SignEncoder(Encoder):
    """HashVFL's form: so many signs, each of a number brought to a mean of 0 over the batch."""

    def __init__(self, bottom: nn.Module, width: int, seal: Seal, role: str) -> None:
        super().__init__(seal)
        bits = seal.signs or 1
        self.bottom, self.head = bottom, nn.Linear(width, bits)
        self.level = nn.BatchNorm1d(bits, affine=False)
        self.response = Steps(f"{role} response", response_to(seal))

    def forward(self, columns: Tensor) -> Tensor:
        """The numbers whose signs count."""
        numbers: Tensor = self.level(through(self.bottom, self.head, columns))
        return numbers

    def choose(self, columns: Tensor) -> Tensor:
        """The signs as one number; layer by layer, to the bits that runs were sealed with."""
        return _as_number(self.level(self.head(self.bottom(columns))) > 0).to(torch.uint8)

    @torch.no_grad()
    def send(self, numbers: Tensor, secrets: Sequence[Tensor]) -> Sent:
        """Codes of a training batch."""
        near, pull = (numbers.abs() < 1).to(numbers.dtype) * self.seal.keeps, torch.zeros_like(numbers)
        for secret in secrets:
            chances = torch.sigmoid(4 * numbers)
            for k, one in enumerate(chances.T):
                told = told_by_batch(secret, torch.stack([one, 1 - one], dim=1))
                pull[:, k] += HUSH * 4 * one * (1 - one) * (told[:, 0] - told[:, 1])
        sent = responded(_as_number(numbers > 0), self.seal, self.response)
        return Sent(sent.to(torch.uint8), lambda gradient: near * gradient + pull)


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


def through(bottom: nn.Module, head: nn.Linear, columns: Tensor) -> Tensor:
    """The head's numbers of these columns. Where a bottom ends in a linear layer, the two are made one first.

    That is the same function of the same weights, for less work: codes are few, embeddings are wide.
    """
    *before, last = bottom if isinstance(bottom, nn.Sequential) else (bottom,)
    if not isinstance(last, nn.Linear) or head.out_features > FEW:
        numbers: Tensor = head(bottom(columns))
        return numbers
    values = columns
    for module in before:
        values = module(values)
    bias = head.bias if last.bias is None else torch.addmv(head.bias, head.weight, last.bias)
    return functional.linear(values, head.weight @ last.weight, bias)


def told_by_batch(secret: Tensor, chances: Tensor) -> Tensor:
    """The gradient, at the chances of the codes, of what they tell of a column (one-hot): mutual information in nats.

    With p(s, m) the share of records with value s and code m, that is the logarithm of p(s, m) / (p(s) p(m)), of each
    record's own s, over the number of records: what p(m) changes by adds up to nothing. The shares are those of codes
    as they are chosen, for the most part: chances that tell little can lead to choices that tell a lot.
    """
    both = secret.T @ _firm(chances) / len(secret)
    alone = both.sum(dim=1, keepdim=True) * both.sum(dim=0, keepdim=True)
    return secret @ ((both + 1e-9) / (alone + 1e-9)).log() / len(secret)


def _firm(chances: Tensor) -> Tensor:
    """Choices for the most part, and a little of the chances."""
    chosen = functional.one_hot(chances.argmax(dim=1), chances.shape[1]).to(chances.dtype)
    return torch.lerp(chances, chosen, 0.9)


def response_to(seal: Seal) -> Make:
    """From uniform numbers, of each two: what is sent instead of a code, or `KEPT`."""

    def make(uniform: Tensor) -> Tensor:
        others = (uniform * seal.codes).long().clamp_max_(seal.codes - 1)
        return torch.where(uniform < seal.keeps, KEPT, others.roll(-1))

    return make


def responded(codes: Tensor, seal: Seal, response: Steps) -> Tensor:
    """Through the randomised response, as the top model must learn to expect it: training is not what it protects."""
    if seal.epsilon is None:
        return codes
    instead = response.next(len(codes), 2)[:, 0]
    return torch.where(instead == KEPT, codes, instead)


def _as_number(signs: Tensor) -> Tensor:
    """The first sign counts 1, the second 2, the third 4."""
    return (signs.to(torch.int64) << torch.arange(signs.shape[1])).sum(dim=1)
