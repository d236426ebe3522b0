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
        self._one_hot: Tensor | None = None

    @property
    def features(self) -> int:
        """How many numbers a gradient for a code has."""
        return len(self.vectors)

    def entered(self, codes: Tensor) -> Tensor:
        """Codes as numbers: one-hot, or signs."""
        if self.seal.signs is None:
            if self._one_hot is None or self._one_hot.dtype != self.vectors.dtype:
                self._one_hot = torch.eye(self.seal.codes, dtype=self.vectors.dtype)
            try:
                return self._one_hot.index_select(0, codes.int())
            except (IndexError, RuntimeError):
                raise _not_among(self.seal) from None
        _check_codes(codes, self.seal)
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
        self._by_place = {place: CodeBook(seal, width) for place, seal in sorted(seals.items())}
        self.books = nn.ModuleDict({str(place): book for place, book in self._by_place.items()})

    def book(self, place: int) -> CodeBook | None:
        """The code book of the party in this place, if it is sealed."""
        return self._by_place.get(place)

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
        _check_kind(part, book)
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
    _check_kind(part, book)
    if book is not None:
        _check_codes(part, book.seal)


def _check_kind(part: Tensor, book: CodeBook | None) -> None:
    if (part.dtype == torch.uint8) != (book is not None):
        raise PriveeError("a sealed party sends codes, any other an embedding; one of them sent something else")


def _check_codes(codes: Tensor, seal: Seal) -> None:
    if len(codes) and int(codes.max()) >= seal.codes:
        raise _not_among(seal)


def _not_among(seal: Seal) -> PriveeError:
    return PriveeError(f"a code is not among the {seal.codes} of its seal")
