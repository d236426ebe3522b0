"""A sealed training that begins with a finished, unsealed model: its parts, and its scores as what to learn.

A party's codes begin as the middles of groups of its own embeddings, which it finds by itself; the coordinator is told
the middles, which stand for the codes at first. The active party learns from the finished model's scores of training
records beside its labels. Of no record more is sent than training the model sent already.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from privee.errors import PriveeError
from privee.vfl.joint_model import JointModel
from privee.vfl.party import ActiveParty
from privee.vfl.seal.books import SealedTop
from privee.vfl.seal.encoders import JointEncoder
from privee.vfl.seeds import derived

MOST_ROWS = 20_000
SHARPNESS = 1.0
"""Logits of codes at the start: how many times the spread within a group counts as certain."""
BELIEF = 0.5
"""How much the finished model's scores count beside the labels."""


def warm_start(joint: JointModel, teacher: JointModel, rows: Tensor, seed: int) -> None:
    """Put what a finished model knows into one that is to be sealed.

    Args:
        joint: takes it; its parties are those of the finished model, in the same order.
        teacher: the finished model, on the same records.
        rows: numbers of the training rows.
        seed: for the first middles.
    """
    if [party.name for party in joint.parties] != [party.name for party in teacher.parties]:
        raise PriveeError("the finished model has other parties")
    top = joint.coordinator.learner.model
    for place, (party, known) in enumerate(zip(joint.parties, teacher.parties, strict=True)):
        model, weights = party.learner.model, known.learner.model.state_dict()
        if isinstance(model, JointEncoder):
            middles = begin_codes(model, weights, known._features[rows[:MOST_ROWS]], seed, party.name)
            put_middles(top, place, middles)
        elif place == 0:
            model.load_state_dict(weights)
    active = joint.parties[0]
    if isinstance(active, ActiveParty):
        active.believe(rows, teacher.coordinator.scores(rows), BELIEF)


def begin_codes(model: JointEncoder, weights: Mapping[str, Tensor], features: Tensor, seed: int, party: str) -> Tensor:
    """Begin with a finished bottom, and with groups of its embeddings as codes; gives back their middles.

    Args:
        model: of the party that is to be sealed.
        weights: of the bottom of the finished model.
        features: the party's first training rows, `MOST_ROWS` at most.
        seed: for the first middles.
        party: its name.
    """
    model.bottom.load_state_dict(dict(weights))
    with torch.inference_mode():
        embedded = model.bottom(features)
    middles = _middles(embedded, model.seal.codes, derived(seed, "middles", party))
    _begin(model.head, embedded, middles)
    return middles


def put_middles(top: nn.Module, place: int, middles: Tensor) -> None:
    """Let middles stand for the codes of the party at this place; signs have no book of their own to begin with."""
    book = top.book(place) if isinstance(top, SealedTop) else None
    if book is not None and book.seal.signs is None:
        with torch.no_grad():
            book.vectors.copy_(middles)


def _middles(embedded: Tensor, count: int, seed: int) -> Tensor:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        found = KMeans(count, n_init=4, random_state=seed % 2**32).fit(embedded.double().numpy())
    return torch.from_numpy(found.cluster_centers_).to(embedded.dtype)


def _begin(head: nn.Linear, embedded: Tensor, middles: Tensor) -> None:
    """The nearest middle is the likeliest: minus the square distance, but for what all codes have in common."""
    nearest = torch.cdist(embedded, middles).min(dim=1).values.square().mean().clamp_min(1e-12)
    scale = SHARPNESS / nearest
    with torch.no_grad():
        head.weight.copy_(2 * scale * middles)
        head.bias.copy_(-scale * middles.square().sum(dim=1))
