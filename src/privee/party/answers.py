"""What a party says of entities: embeddings, or codes if its run is sealed, and nothing that its own ledger refuses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privee.durable.database import LedgerUnavailableError
from privee.errors import PriveeError
from privee.party.errors import PartyBudgetError
from privee.party.ledger import PartyLedger, SealTerms
from privee.party.ledger.terms import Call
from privee.party.wire import EmbedReply, EmbedRequest


class ServedModel(Protocol):
    """A party's part of a model.

    Attributes:
        weights: SHA-256 of its weights file.
        sealed: what a code costs; None for a model that gives embeddings.
    """

    weights: str
    sealed: SealTerms | None

    def embed(self, columns: NDArray[np.float32], entities: Sequence[str]) -> NDArray[np.float32]:
        """Embeddings of encoded columns; noise, if a defense adds some, is each entity's own."""

    def codes(self, columns: NDArray[np.float32], entities: Sequence[str]) -> NDArray[np.uint8]:
        """A code for each entity, drawn for its columns; the ledger decides whether it counts."""


def reply_to(
    request: EmbedRequest,
    columns: NDArray[np.float32],
    unknown: NDArray[np.bool_],
    model: ServedModel,
    ledger: PartyLedger | None,
) -> EmbedReply:
    """The reply to a request, on the ledger's disk before it leaves.

    Args:
        request: what was asked.
        columns: encoded, a row for each entity.
        unknown: entities that the party does not know; nothing is stored or said about them.
        model: the party's own.
        ledger: the party's own; a sealed model has one.

    Raises:
        PartyBudgetError: some entity would go beyond its limits; nothing is answered or stored for any of them.
    """
    places = tuple(np.flatnonzero(unknown).tolist())
    known = request.entities if not places else list(compress(request.entities, ~unknown))
    call = Call(request.request or "-", len(places))
    if model.sealed is not None:
        codes = _codes(known, columns[~unknown], model, model.sealed, ledger, call)
        every = np.zeros(len(unknown), dtype=np.uint8)
        every[~unknown] = codes
        return EmbedReply(None, places, model.weights, every, model.sealed.codes)
    embeddings = model.embed(columns, request.entities)
    embeddings[unknown] = 0
    if ledger is not None:
        refused = ledger.count(known, _digests(model.weights, embeddings[~unknown]), whole=True, call=call)
        _refuse(refused)
    return EmbedReply(embeddings, places, model.weights)


def _codes(
    entities: Sequence[str],
    columns: NDArray[np.float32],
    model: ServedModel,
    terms: SealTerms,
    ledger: PartyLedger | None,
    call: Call,
) -> NDArray[np.uint8]:
    if ledger is None:
        raise RuntimeError("a sealed party needs a ledger")
    candidates = model.codes(columns, entities) if entities else np.zeros(0, dtype=np.uint8)
    try:
        pinned = ledger.pin(entities, terms, candidates, whole=True, call=call)
    except PriveeError as error:  # whatever it is, it is not what was asked that is wrong
        raise LedgerUnavailableError(str(error)) from None
    _refuse(pinned.refused)
    return pinned.codes


def check_columns(request: EmbedRequest, model: ServedModel, features: int) -> None:
    """Refuse columns that the model cannot take, or any if it is sealed: a code is of the party's own record."""
    if request.columns is None:
        return
    if model.sealed is not None:
        raise PriveeError("a sealed party answers from its own table alone")
    if request.columns.shape[1] != features:
        raise PriveeError("the columns have another width than the model's")
    if request.columns.min() < 0 or request.columns.max() > 1:
        raise PriveeError("encoded columns lie between 0 and 1")


def _refuse(refused: NDArray[np.bool_]) -> None:
    if refused.any():
        raise PartyBudgetError(f"{int(refused.sum())} of {len(refused)} entities would go beyond their limits")


def _digests(weights: str, embeddings: NDArray[np.float32]) -> list[bytes]:
    """What varies at a party: its record of an entity, or what it was sent in place of it, and its weights; -0 is 0."""
    return [weights.encode() + row.tobytes() for row in embeddings + np.float32(0)]
