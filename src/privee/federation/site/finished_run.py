"""A site's part of a start from a finished run: its model of then, which says once more what it said when it ended.

The end of that run sent the embeddings of its training records by the same weights, so none tells anything new.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from privee.atomic import read_json
from privee.errors import PriveeError
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.site.own_columns import SiteData
from privee.federation.site.own_party import check_training
from privee.federation.site.site_store import MARK, is_finished
from privee.federation.wire.tensors import packed, unpacked
from privee.vfl.joint_model import make_bottom
from privee.vfl.messages import Embedding, Message, Work
from privee.vfl.party import ActiveParty, PassiveParty
from privee.vfl.run_format import PARTY, WEIGHTS
from privee.vfl.seal.encoders import JointEncoder
from privee.vfl.seal.party import SealedParty
from privee.vfl.seal.warm_start import BELIEF, MOST_ROWS, begin_codes
from privee.vfl.weights import load_tensors

SLACK = 1e-3
"""By how much scores of one record may miss a sum of 1."""


def check_start(job: JobSettings, settings: SiteSettings) -> None:
    """A site that insists on a seal lets nothing but codes out, not even what it sent before."""
    if job.start_from is not None and settings.insists:
        raise PriveeError(
            "this site takes part sealed, and a start from a finished run sends its embeddings once more; "
            "leave out --start-from"
        )


def check_there(folder: Path, data: SiteData) -> None:
    """Refuse early, before any role has written anything of the new run."""
    if not is_finished(folder):
        raise PriveeError(f"there is no finished run called {folder.name} here to start from")
    if read_json(folder / MARK).get("records") != data.digest:
        raise PriveeError(f"the data changed since the run {folder.name}, so it cannot be started from")


class FinishedRun:
    """What a site does with its part of a finished run.

    Args:
        folder: of that run, at this site.
        job: what was agreed on.
        about: what the part must say of itself: the same party, columns and classes, without a seal.
        data: the site's columns, which must be those of then.
    """

    def __init__(self, folder: Path, job: JobSettings, about: Mapping[str, Any], data: SiteData) -> None:
        self._name, self._seed, self._data = str(about["party"]), job.training.seed, data
        check_there(folder, data)
        if read_json(folder / PARTY) != about:
            raise PriveeError(f"the run {folder.name} here is sealed, or of another model; it cannot be started from")
        self._weights = load_tensors(folder / WEIGHTS, self._name)
        model = make_bottom(job.model, self._name, data.columns.shape[1:], about["n_classes"], self._seed)
        self._columns = torch.from_numpy(np.asarray(data.columns, dtype=np.float32))
        self._party = PassiveParty(self._name, self._columns, model)
        self._party.learner.load_weights(self._weights, self._name)

    def begin(self, party: PassiveParty) -> bytes:
        """Put it into the model that is to be sealed; gives back the middles of its codes, if it has any.

        Codes that are drawn have their encoder already: it stays as it is.
        """
        model = party.learner.model
        if isinstance(model, JointEncoder):
            if isinstance(party, SealedParty) and party.is_sealed:
                return b""
            first = self._columns[torch.from_numpy(self._data.train[:MOST_ROWS])]
            return packed(begin_codes(model, self._weights, first, self._seed, self._name))
        if isinstance(party, ActiveParty):
            model.load_state_dict(self._weights)
        return b""

    def answer(self, message: Message) -> Message:
        """Embed training records once more; until the scores are there, nothing else is answered."""
        if not isinstance(message, Work) or message.train or message.gradient is not None or message.rows is None:
            raise PriveeError("the finished run's scores are not here yet; the training cannot begin")
        check_training(message.rows, self._data)
        reply = self._party.handle(message)
        return reply if isinstance(reply, Embedding) else Embedding(None)

    def believe(self, party: PassiveParty, body: bytes) -> None:
        """The finished model's scores of the training records, which the active party learns from beside its labels."""
        if not isinstance(party, ActiveParty):
            if body:
                raise PriveeError("scores are for the active party alone")
            return
        scores = unpacked(body)
        if not _are_scores(scores, len(self._data.train), len(self._data.classes)):
            raise PriveeError("the coordinator sent something else than scores of the training records")
        party.believe(torch.from_numpy(self._data.train), scores, BELIEF)


def _are_scores(found: Tensor, rows: int, n_classes: int) -> bool:
    if tuple(found.shape) != (rows, n_classes) or found.dtype is not torch.float32:
        return False
    return bool((found >= 0).all() and ((found.sum(dim=1) - 1).abs() < SLACK).all())
