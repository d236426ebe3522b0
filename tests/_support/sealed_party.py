"""A sealed model for tests: codes drawn at random, as if each record had a code that it most likely gets."""

from collections.abc import Sequence

import numpy as np

from privee.party.ledger import SealTerms


class FakeSealed:
    """What a sealed model shows a party's server."""

    width = 1

    def __init__(self, seal: str = "5e" * 32, codes: int = 16, code: int | None = None) -> None:
        self.weights, self.sealed, self.code = "a" * 64, SealTerms(seal, codes, 0.5), code
        self.asked: list[tuple[np.ndarray, list[str]]] = []
        self._draws = np.random.default_rng()

    def embed(self, columns: np.ndarray, entities: list[str]) -> np.ndarray:
        raise AssertionError("a sealed party gives no embeddings")

    def codes(self, columns: np.ndarray, entities: Sequence[str]) -> np.ndarray:
        self.asked.append((columns, list(entities)))
        if self.code is not None:
            return np.full(len(entities), self.code, dtype=np.uint8)
        return self._draws.integers(0, self.sealed.codes, len(entities)).astype(np.uint8)
