"""What learned attacks see of a release, in a form that is easy to learn from.

Rank positions, the log-scores expected at each position, the log-scores read from the release, and all of these minus
what own columns and a guess of the unknown ones explain. Without the ranking, releases of it look safer than they are.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from privee.attacks.log_scores import by_rank, centred, centred_log, in_rank_order
from privee.attacks.view import Seen
from privee.attacks.white_box import WhiteBox


class ReleaseInputs:
    """Turns releases into a learner's inputs, scaled by the auxiliary rows."""

    def __init__(self, model: WhiteBox, scores: Tensor, own_columns: bool) -> None:
        self._model, self._own_columns = model, own_columns
        self._expected = in_rank_order(centred_log(scores), scores).mean(dim=0)
        self._scale: tuple[Tensor, Tensor] | None = None

    def __call__(self, views: Iterable[Seen], own: Tensor, guess: Tensor) -> list[Tensor]:
        """Inputs for each of several sights of the same records; the first call sets the scale."""
        with torch.no_grad():
            explained = centred(self._model.logits(own, guess))
        raw = [self._inputs(seen, explained) for seen in views]
        if self._scale is None:
            self._scale = raw[0].mean(dim=0), raw[0].std(dim=0) + 1e-6
        middle, spread = self._scale
        return [(one - middle) / spread for one in raw]

    def _inputs(self, seen: Seen, explained: Tensor) -> Tensor:
        classes = seen.release.shape[1]
        read = centred_log(seen.read)
        expected = by_rank(self._expected, seen.release)
        position = by_rank(torch.arange(classes, dtype=read.dtype) / classes, seen.release)
        more = [read - explained, expected - explained] if self._own_columns else []
        return torch.cat([read, expected, position, *more], dim=1)
