"""What the threat model grants an attacker, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from privee.attacks.white_box import WhiteBox
from privee.data.columns import SourceColumn, columns_of_names
from privee.defenses import Defense
from privee.errors import PriveeError
from privee.randomness import seeded

Oracle = Callable[[Tensor], Tensor]
"""Ask about all records once more, each with own columns (n, columns) of one's choice; gives a release of each."""


@dataclasses.dataclass(frozen=True, eq=False)
class Auxiliary:
    """Rows of the same population for which the attacker knows all columns: what "auxiliary rows" means.

    `codes` are what sealed parties might have sent for them, drawn by the attacker itself (`WhiteBox.simulated_codes`),
    and `noise` is what parties with a noisy embedding might have drawn (`WhiteBox.simulated_noise`).
    """

    own: Tensor
    unknown: Tensor
    codes: Tensor | None = None
    noise: Tensor | None = None

    def __len__(self) -> int:
        return len(self.own)

    def part(self, rows: slice) -> Auxiliary:
        """Some of the rows."""
        codes, noise = (None if one is None else one[rows] for one in (self.codes, self.noise))
        return Auxiliary(self.own[rows], self.unknown[rows], codes, noise)

    def chosen(self, rows: Tensor) -> Auxiliary:
        """Those with these numbers, or those that are marked."""
        codes, noise = (None if one is None else one[rows] for one in (self.codes, self.noise))
        return Auxiliary(self.own[rows], self.unknown[rows], codes, noise)

    def scores(self, model: WhiteBox) -> Tensor:
        """What a model says of these rows."""
        return model.scores(self.own, self.unknown, self.codes, self.noise)

    def scores_again(self, model: WhiteBox, scores: Tensor, number: int) -> Tensor:
        """The same with other draws of noisy embeddings; these scores themselves where nothing is drawn."""
        if self.noise is None or number == 0:
            return scores
        noise = model.simulated_noise(len(self), seeded(number, "auxiliary noise, again"))
        return model.scores(self.own, self.unknown, self.codes, noise)

    def expected_scores(self, model: WhiteBox) -> Tensor:
        """The same with embeddings as they are on average: what a descent on the unknown columns goes through."""
        return model.scores(self.own, self.unknown, self.codes)


@dataclasses.dataclass(frozen=True, eq=False)
class AttackerView:
    """The active party's knowledge.

    Attributes:
        own: its own columns of the target records, (n, columns).
        model: the joint model as a white box.
        releases: what was handed out for each record, (queries, n, classes).
        defense: the defense with its public settings; its draws, keys and state are never in here.
        adaptive: does the attacker use that knowledge? A naive one takes every release for the scores themselves.
        auxiliary: rows with all columns, if the threat model grants any.
        columns: the original columns that the unknown features belong to; without any, each feature is a number.
        oracle: asks with own columns of the attacker's choice, if the threat model grants that.
        codes: what the sealed parties sent for each record, (n, sealed parties): more than any question can tell.
        embeddings: what the other parties sent for each record, (n, numbers), if the coordinator helps the attacker.
    """

    own: Tensor
    model: WhiteBox
    releases: Tensor
    defense: Defense
    adaptive: bool
    auxiliary: Auxiliary | None = None
    columns: tuple[SourceColumn, ...] = ()
    oracle: Oracle | None = None
    codes: Tensor | None = None
    embeddings: Tensor | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "defense", self.defense.public_copy())
        if not self.columns:
            names = [f"column {k + 1}" for k in range(self.model.unknown_columns)]
            object.__setattr__(self, "columns", columns_of_names(names, "passive"))
        if self.releases.ndim != 3:
            raise PriveeError(f"releases must be (queries, rows, classes), got shape {tuple(self.releases.shape)}")
        if self.releases.shape[1] != len(self.own):
            raise PriveeError(f"there are releases of {self.releases.shape[1]} rows for {len(self.own)} records")
        if self.releases.shape[2] != self.model.n_classes:
            raise PriveeError(f"the releases have {self.releases.shape[2]} classes, the model {self.model.n_classes}")

    @property
    def rows(self) -> int:
        """How many records are under attack."""
        return len(self.own)

    def read(self, release: Tensor) -> Tensor:
        """A release as this attacker reads it: undone as far as it knows how, or taken for the scores."""
        if not self.adaptive:
            return release
        return torch.from_numpy(np.asarray(self.defense.estimate_scores(release.numpy())))

    @property
    def target(self) -> Tensor:
        """What the attacker takes for the scores: the mean over queries of what it reads from each release."""
        return self.seen.read

    @property
    def seen(self) -> Seen:
        """All releases together."""
        return _joined((release, self.read(release)) for release in self.releases)

    def simulate(self, scores: Tensor, draws_seed: int) -> Seen:
        """What this attacker expects to see of rows with these scores, after as many queries as it has made.

        An adaptive attacker uses its own copy of the defense with draws of its own; a naive one expects the scores.
        """
        if not self.adaptive:
            return Seen(scores, scores)
        draws = seeded(draws_seed, "simulated")
        made = (torch.from_numpy(np.asarray(self.defense.release(scores.numpy(), draws=draws))) for _ in self.releases)
        return _joined((release, self.read(release)) for release in made)

    def simulations(self, rows: Auxiliary, scores: Tensor, times: int) -> list[Seen]:
        """So many simulated releases of the auxiliary rows; one where nothing is drawn and all would be the same."""
        first = self.simulate(scores, 0)
        others = (self.simulate(rows.scores_again(self.model, scores, k), k) for k in range(1, times))
        found = [first]
        for other in others:
            if len(found) == 1 and all(map(torch.equal, other, first)):
                break
            found.append(other)
        return found


class Seen(NamedTuple):
    """Several releases of the same records in one: their mean, and the mean of what was read from each."""

    release: Tensor
    read: Tensor


def _joined(seen: Iterable[tuple[Tensor, Tensor]]) -> Seen:
    """Running sums: a thousand releases need not be held at once."""
    total: tuple[Tensor, Tensor] | None = None
    count = 0
    for release, read in seen:
        total = (release.clone(), read.clone()) if total is None else (total[0] + release, total[1] + read)
        count += 1
    if total is None:
        raise PriveeError("there is no release")
    return Seen(total[0] / count, total[1] / count)
