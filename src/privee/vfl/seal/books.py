"""The coordinator's side of a seal: what it makes of a code, and the top model around that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.vfl.seal.settings import Seal


class CodeBook(nn.Module):
    """Gives every code of one party the vector that stands for it in the top model."""

    def __init__(self, seal: Seal, width: int) -> None:
        super().__init__()
        self.seal = seal
        features = seal.codes if seal.signs is None else seal.signs
        self.vectors = nn.Parameter(torch.randn(features, width) * 0.5)

    @property
    def features(self) -> int:
        """How many numbers a gradient for a code has."""
        return len(self.vectors)

    def entered(self, codes: Tensor) -> Tensor:
        """Codes as numbers: one-hot, or signs."""
        if self.seal.signs is None:
            return torch.eye(self.seal.codes, dtype=self.vectors.dtype)[codes.long()]
        bits = (codes.long()[:, None] >> torch.arange(self.seal.signs)) & 1
        return (2 * bits - 1).to(self.vectors.dtype)

    def forward(self, codes: Tensor) -> Tensor:
        """Vectors of codes (bytes), or of codes that were entered already."""
        if codes.dtype != torch.uint8:
            return codes @ self.vectors
        return self.vectors[codes.long()] if self.seal.signs is None else self.entered(codes) @ self.vectors


class SealedTop(nn.Module):
    """A top that takes codes from the sealed parties, and embeddings from the others.

    Args:
        top: what takes a vector from every party.
        seals: of those that are sealed, by their place among the parties.
        width: of the vectors.
    """

    def __init__(self, top: nn.Module, seals: Mapping[int, Seal], width: int) -> None:
        super().__init__()
        self.top = top
        self.books = nn.ModuleDict({str(place): CodeBook(seal, width) for place, seal in sorted(seals.items())})

    def book(self, place: int) -> CodeBook | None:
        """The code book of the party in this place, if it is sealed."""
        if str(place) not in self.books:
            return None
        found = self.books[str(place)]
        return found if isinstance(found, CodeBook) else None

    def forward(self, parts: Sequence[Tensor]) -> Tensor:
        """Logits."""
        vectors = []
        for place, part in enumerate(parts):
            book = self.book(place)
            vectors.append(part if book is None else book(part))
        logits: Tensor = self.top(vectors)
        return logits


def entered(top: nn.Module, parts: Sequence[Tensor]) -> list[Tensor]:
    """What enters the top in training, each a leaf; those that codes are learned from take a gradient."""
    leaves = []
    for place, part in enumerate(parts):
        book = top.book(place) if isinstance(top, SealedTop) else None
        check_sent(part, book)
        if book is None:
            leaves.append(part.requires_grad_())
        else:
            leaves.append(book.entered(part).requires_grad_(book.seal.learn == "joint"))
    return leaves


def check_all_sent(top: nn.Module, parts: Sequence[Tensor]) -> None:
    """Codes from the sealed parties, and numbers from the others."""
    for place, part in enumerate(parts):
        check_sent(part, top.book(place) if isinstance(top, SealedTop) else None)


def check_sent(part: Tensor, book: CodeBook | None) -> None:
    """Codes from a sealed party, and numbers from any other."""
    if (part.dtype == torch.uint8) != (book is not None):
        raise PriveeError("a sealed party sends codes, any other an embedding; one of them sent something else")
    if book is not None and len(part) and int(part.max()) >= book.seal.codes:
        raise PriveeError(f"a code is not among the {book.seal.codes} of its seal")
