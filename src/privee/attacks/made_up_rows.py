"""Rows that an attacker makes up from those that it knows, to call the model with: more of the same population."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from privee.attacks.regressors import MOST_ROWS
from privee.attacks.view import Auxiliary
from privee.attacks.white_box import WhiteBox
from privee.randomness import seeded

ALIKE = 12
"""So many rows with the most similar guess lend their unknown columns."""
MUCH_THE_SAME = 0.2
"""Guesses that are no further apart, in units of what guesses miss, are drawn by lot: there may be nothing to guess."""


class Guessed(NamedTuple):
    """Rows known in full, and what a guess says of each that was made from others."""

    rows: Auxiliary
    guess: Tensor

    def chosen(self, some: Tensor) -> Guessed:
        """Those with these numbers, or those that are marked."""
        return Guessed(self.rows.chosen(some), self.guess[some])


def made_up(model: WhiteBox, known: Guessed, count: int) -> Guessed:
    """So many rows: own columns of one, and the guess for it with what the guess misses of any other.

    Or, as often, unknown columns that another has of which much the same is guessed: values as there are, and errors
    as large as they are there. What sealed parties send for made-up rows, and the noise of others, is drawn anew; all
    else with torch's generator.
    """
    rows, guess = known
    missed = rows.unknown - guess
    first, other = torch.arange(count) % len(rows), torch.randint(len(rows), (count,))
    alike = _most_alike(guess / (missed.std(dim=0) + 1e-9))
    lent = rows.unknown[alike[first, torch.randint(alike.shape[1], (count,))]]
    moved = (guess[first] + missed[other]).clamp(0.0, 1.0)
    own, unknown = rows.own[first], torch.where(torch.rand(count, 1) < 0.5, moved, lent)
    codes = None if rows.codes is None else model.simulated_codes(own, unknown, seeded(0, "made-up codes"))
    noise = None if rows.noise is None else model.simulated_noise(count, seeded(0, "made-up noise"))
    return Guessed(Auxiliary(own, unknown, codes, noise), guess[first])


def together(parts: Sequence[Guessed]) -> Guessed:
    """All of them, one below the other."""

    def joined(name: str) -> Tensor | None:
        some = [getattr(part.rows, name) for part in parts]
        return None if some[0] is None else torch.cat(some)

    own, unknown = (torch.cat([getattr(part.rows, name) for part in parts]) for name in ("own", "unknown"))
    rows = Auxiliary(own, unknown, joined("codes"), joined("noise"))
    return Guessed(rows, torch.cat([part.guess for part in parts]))


REMEMBERED = 2
_remembered: dict[bytes, Tensor] = {}
"""What a model said last in this process: behind every other defense the same rows are made up."""


def scores_of(model: WhiteBox, rows: Auxiliary, of_model: Tensor) -> Tensor:
    """What the model says of these rows; `of_model` is what it says of others, by which it is known again."""
    parts = [part for part in (of_model, rows.own, rows.unknown, rows.codes, rows.noise) if part is not None]
    digests = [hashlib.blake2b(part.contiguous().numpy().tobytes()).digest() for part in parts]
    key = hashlib.blake2b(b"".join(digests)).digest()
    found = _remembered.pop(key, None)
    if found is None:
        with torch.no_grad():
            found = rows.scores(model)
    _remembered[key] = found  # at the end: the first is the one not used for longest
    while len(_remembered) > REMEMBERED:
        del _remembered[next(iter(_remembered))]
    return found


def _most_alike(guess: Tensor) -> Tensor:
    """For each row, the numbers of others with the most similar guess, among as many as are compared quickly."""
    some = guess[:MOST_ROWS]
    apart = torch.cdist(guess, some)
    apart += MUCH_THE_SAME * torch.rand_like(apart)
    apart[: len(some)].fill_diagonal_(torch.inf)
    return apart.topk(min(ALIKE, len(some) - 1), largest=False).indices
