"""The attack is rehearsed on rows that the attacker knows in full: how far are its estimates to be believed?

Rehearsed rows are asked about beside the real ones, each time with the attacker's own copy of the defense. As far as
what was estimated for them misses the truth, estimates of the real ones are moved back towards the guess made without
any answer; so the attack is not worse than that guess but for chance.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from privee.attacks.view import AttackerView
from privee.randomness import seeded

ROWS, FEWEST, POOLED = 30, 120, 20
ALL = 0.9
"""From this share on estimates are believed whole: one rehearsed row that went wrong must not cost others digits."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rehearsal:
    """Rows known in full; there may be none. Sealed parties sent these codes for them, and send no others.

    The same goes for the noise of parties whose embedding has some.
    """

    own: Tensor
    unknown: Tensor
    codes: Tensor | None = None
    noise: Tensor | None = None

    def answer(self, view: AttackerView, own: Tensor, seed: int) -> Tensor:
        """What the attacker's own copy of the defense releases of them."""
        if not len(own):
            return torch.zeros(0, view.model.n_classes, dtype=own.dtype)
        with torch.no_grad():
            codes = view.model.asked_codes(own, self.unknown, self.codes)
            scores = view.model.scores(own, self.unknown, codes, self.noise).numpy()
        return torch.from_numpy(np.asarray(view.defense.release(scores, draws=seeded(seed, "rehearsed"))))

    def believed(self, guess: Tensor, estimate: Tensor) -> Tensor:
        """Estimates as far as they are to be believed; all are of all rows, the rehearsed ones last."""
        real = len(guess) - len(self.own)
        if real == len(guess):
            return estimate
        moved, wanted = estimate[real:] - guess[real:], self.unknown - guess[real:]
        together, size = (moved * wanted).mean(dim=0), moved.square().mean(dim=0)
        overall = together.sum() / size.sum().clamp_min(1e-300)
        share = together / size.clamp_min(1e-300)
        share = (len(self.own) * share + POOLED * overall) / (len(self.own) + POOLED)
        share = torch.where(share > ALL, 1.0, share.clamp_min(0.0))
        return guess + share * (estimate - guess)


def with_rehearsal(view: AttackerView) -> tuple[AttackerView, Rehearsal]:
    """The view with rows to rehearse on beside the real records, taken from the auxiliary ones if there are enough."""
    rows = view.auxiliary
    if rows is None or len(rows) < FEWEST:
        return view, Rehearsal(view.own[:0], view.own.new_zeros(0, view.model.unknown_columns))
    some = rows.part(slice(ROWS))
    chosen = Rehearsal(some.own, some.unknown, some.codes, some.noise)
    nothing = view.releases.new_zeros(len(view.releases), ROWS, view.releases.shape[2])
    wider = dataclasses.replace(
        view,
        own=torch.cat([view.own, chosen.own]),
        releases=torch.cat([view.releases, nothing], dim=1),
        auxiliary=rows.part(slice(ROWS, None)),
        codes=None,
    )
    return wider, chosen
