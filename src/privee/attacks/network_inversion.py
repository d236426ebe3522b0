"""Network inversion: a network learns what releases tell of unknown columns, from rows that were made up for it.

Auxiliary rows are few, and regressions of a few hundred of them stay simple. But the model can be called with any
columns, and releases can be simulated of what it says: own columns of an auxiliary row, and unknown ones that it might
as well have had. Of thousands of such rows a network learns what no regression of few rows shows: models that bend,
columns that are 0 or 1, digits that were cut off.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from privee.attacks.base import Attack, Needs
from privee.attacks.column_learning import MOST_OWN, known_inputs, leading_directions
from privee.attacks.descent import Shuffled
from privee.attacks.made_up_rows import Guessed, made_up, scores_of, together
from privee.attacks.registry import register
from privee.attacks.regressors import RIDGES, all_fits
from privee.attacks.release_inputs import ReleaseInputs
from privee.attacks.view import AttackerView, Auxiliary, Seen
from privee.attacks.watch import Watch
from privee.defenses.base import check_positive, check_whole
from privee.errors import PriveeError

BATCH, HIDDEN = 256, 96
KEPT_OUT = 5
"""Every fifth row shows how far to believe the network."""
REAL = 1500
"""Auxiliary rows are taken as they are so often that there are some so many of them."""
POOLED = 20
"""What is believed of a column by few rows is drawn towards what is of all, as by so many rows more."""
JUDGED = 4
"""How often a release of each row that is kept out is simulated."""
SLOWER = 10
"""Of a defense that takes long, so many times fewer rows are made up."""
FARTHEST = 8.0
"""Inputs count as no further out than so many standard deviations."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkInversion(Attack):
    """Starts from the guess by own columns; a regression moves it, and the network says what that still misses.

    Of either, and of each column, as much is added as helps on auxiliary rows that were kept out; and nothing where
    the gain there may be chance.

    Args:
        made_up: how many rows the model is called with; a tenth where each release takes long.
        epochs: of learning.
        learning_rate: of Adam; it falls to 0.
    """

    name: ClassVar[str] = "network-inversion"
    place: ClassVar[int] = 42
    summary: ClassVar[str] = "a network that learned from simulated releases of made-up rows"
    needs: ClassVar[Needs] = Needs(auxiliary=True)
    audited: ClassVar[tuple[str, ...]] = ("network-inversion",)
    quick: ClassVar[bool] = True
    adapts: ClassVar[str] = "undoes what is public of the defense, and learns from releases of its own copy of it"

    made_up: int = 6000
    epochs: int = 12
    learning_rate: float = 1e-2

    def __post_init__(self) -> None:
        check_whole(1, 10_000_000, made_up=self.made_up)
        check_whole(1, 100_000, epochs=self.epochs)
        check_positive(learning_rate=self.learning_rate)

    def why_not(self, view: AttackerView) -> str | None:
        """Also where too few rows are known to keep some out."""
        few = view.auxiliary is not None and len(view.auxiliary) < 2 * KEPT_OUT
        return super().why_not(view) or (f"needs {2 * KEPT_OUT} auxiliary rows or more" if few else None)

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("network inversion needs auxiliary rows")
        there, here = (torch.from_numpy(known.guess) for known in known_inputs(view.model, view.own, rows))
        out = torch.arange(len(rows)) % KEPT_OUT == 0
        taught, judged = Guessed(rows, there).chosen(~out), Guessed(rows, there).chosen(out)
        fewer = SLOWER if view.defense.slow else 1
        more = made_up(view.model, taught, max(1, self.made_up // fewer))
        show = _Shown(view, rows)
        examples = together([taught] * max(1, REAL // fewer // len(taught.rows)) + [more])
        inputs, missed = show.simulated(examples, 0), examples.rows.unknown - examples.guess
        straight = min(itertools.islice(all_fits(inputs, missed), len(RIDGES)), key=lambda fit: fit.error)
        net = self._learned(inputs, missed - straight(inputs), watch)
        tried, seen = torch.cat([show.simulated(judged, 1 + k) for k in range(JUDGED)]), show.seen(here)
        left = wanted = (judged.rows.unknown - judged.guess).repeat(JUDGED, 1)
        found = here
        for says in (straight, net):
            told = says(tried)
            share = _share(told, left, len(judged.rows))
            left, found = left - share * told, found + share * says(seen)
        gained = (wanted.square() - left.square()).view(JUDGED, len(judged.rows), -1).mean(dim=0).sum(dim=1)
        return (found if _beyond_chance(gained) else here).clamp(0.0, 1.0)

    def _learned(self, inputs: Tensor, outputs: Tensor, watch: Watch) -> Callable[[Tensor], Tensor]:
        net = nn.Sequential(
            nn.Linear(inputs.shape[1], HIDDEN),
            nn.SiLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.SiLU(),
            nn.Linear(HIDDEN, outputs.shape[1]),
        )
        spread = outputs.std(dim=0) + 1e-9
        given, wanted = inputs.float(), (outputs / spread).float()
        optimizer = torch.optim.Adam(net.parameters(), lr=self.learning_rate, fused=True)
        batches = Shuffled(len(given), BATCH)
        total = self.epochs * batches.per_epoch
        for step in watch.steps("network", total, {"order": batches.order} | net.state_dict(), optimizer):
            part = batches.at(step)
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * (1 - step / total)
            optimizer.zero_grad()
            (net(given[part]) - wanted[part]).square().mean().backward()
            optimizer.step()
        net.requires_grad_(requires_grad=False)
        return lambda shown: net(shown.float()).double() * spread


class _Shown:
    """What the network is shown of a row: the release, own columns, and the guess where columns are not too many."""

    def __init__(self, view: AttackerView, rows: Auxiliary) -> None:
        self._view = view
        with torch.no_grad():
            self._said = rows.scores(view.model)
        self._encode = ReleaseInputs(view.model, self._said, own_columns=True)
        self._turn = leading_directions(rows.own)
        self._scale: tuple[Tensor, Tensor] | None = None

    def simulated(self, known: Guessed, seed: int) -> Tensor:
        """Of rows that are known in full; the first call sets the scale."""
        scores = scores_of(self._view.model, known.rows, self._said)
        return self._inputs(self._view.simulate(scores, seed), known.rows.own, known.guess)

    def seen(self, guess: Tensor) -> Tensor:
        """Of the records under attack."""
        return self._inputs(self._view.seen, self._view.own, guess)

    def _inputs(self, seen: Seen, own: Tensor, guess: Tensor) -> Tensor:
        guesses = [guess] if guess.shape[1] <= MOST_OWN else []
        plain = torch.cat([seen.read, own @ self._turn, *guesses], dim=1)
        if self._scale is None:
            self._scale = plain.mean(dim=0), plain.std(dim=0) + 1e-6
        middle, spread = self._scale
        shown = torch.cat([*self._encode([seen], own, guess), (plain - middle) / spread], dim=1)
        return shown.clamp(-FARTHEST, FARTHEST)


def _share(moved: Tensor, wanted: Tensor, rows: int) -> Tensor:
    """How much of its moves to believe, of each column; the fewer rows show it, the more alike of all columns."""
    together, size = (moved * wanted).mean(dim=0), moved.square().mean(dim=0).clamp_min(1e-12)
    overall = together.sum() / size.sum()
    return ((rows * together / size + POOLED * overall) / (rows + POOLED)).clamp(0.0, 1.0)


def _beyond_chance(gained: Tensor) -> bool:
    """Is the gain on rows kept out more than a standard error, and than two where there are but two of them?"""
    error = gained.std() / len(gained) ** 0.5
    return bool(gained.mean() > (1 + 2 / len(gained)) * error)
