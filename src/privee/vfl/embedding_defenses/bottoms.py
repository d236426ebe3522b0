"""A party's bottom with a defense around it: one module, trained and saved as any other.

What a defense adds to the loss is known to the party alone, and travels back with the gradient that the coordinator
sends for the embedding. So neither coordinator nor messages nor optimizers know of it: a training in one process, a
pipelined one and one across machines take the same steps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class DefendedBottom(nn.Module):
    """A bottom and a defense; `forward` gives the embedding, with the party's own penalty behind it while training.

    Attributes:
        spec: of the defense.
        bottom: what the defense is around.
        noise_width: how many normal draws a record's embedding takes when it is sent; 0 for none.
    """

    noise_width = 0

    def __init__(self, spec: str, bottom: nn.Module) -> None:
        super().__init__()
        self.spec, self.bottom = spec, bottom

    def forward(self, columns: Tensor) -> Tensor:
        """Embeddings; what is sent of training records, and what others are sent on average."""
        embedding: Tensor = self.bottom(columns)
        return self.trained(columns, embedding) if self.training else embedding

    def trained(self, columns: Tensor, embedding: Tensor) -> Tensor:
        """What is sent of a training batch."""
        raise NotImplementedError

    def sent(self, columns: Tensor, noise: Tensor) -> Tensor:
        """What is sent of records for which these normal draws were made, (n, noise_width)."""
        embedding: Tensor = self(columns)
        return embedding

    @property
    def predicting(self) -> nn.Module:
        """What is left of it once it is trained."""
        return self.bottom


class _WithPenalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, embedding: Tensor, penalty: Tensor) -> Tensor:
        ctx.penalty = (penalty.dtype, penalty.shape)
        return embedding.view_as(embedding)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        number, shape = ctx.penalty
        return gradients[0], torch.ones(shape, dtype=number)


def with_penalty(embedding: Tensor, penalty: Tensor) -> Tensor:
    """The same embedding; whatever gradient comes back for it, that of the penalty (one number) is added."""
    found: Tensor = _WithPenalty.apply(embedding, penalty)
    return found


def predicting(model: nn.Module) -> nn.Module:
    """What a party's model comes to once it is trained: what only a training needs is left out."""
    return model.predicting if isinstance(model, DefendedBottom) else model


def noise_width(model: nn.Module) -> int:
    """How many normal draws a party's model takes for a record."""
    return model.noise_width if isinstance(model, DefendedBottom) else 0
