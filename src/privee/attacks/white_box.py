"""The joint model as a white box: a function from the attacker's columns and the unknown ones to logits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from privee.attacks.joint_logits import JointLogits
from privee.attacks.sealed_logits import SealedLogits, SealedPart
from privee.errors import PriveeError
from privee.randomness import Draws
from privee.vfl.embedding_defenses.bottoms import predicting
from privee.vfl.joint_model import JointModel
from privee.vfl.models import Scaling


class WhiteBox:
    """Logits from flat rows of own and unknown columns. Parameters are frozen copies; no data is held.

    Args:
        logits: differentiable function of (own, unknown), both (n, columns).
        own_columns: how many columns the attacker holds.
        unknown_columns: how many the passive parties hold together.
        n_classes: how many logits there are.
        weights: for logistic models, the (classes, columns) weights of all columns, the attacker's first.
        cut: for another attacker than the one `logits` was made for, which columns of the model it holds in what order.
    """

    def __init__(
        self,
        logits: Callable[..., Tensor],
        *,
        own_columns: int,
        unknown_columns: int,
        n_classes: int,
        weights: Tensor | None = None,
        cut: Cut | None = None,
    ) -> None:
        self._logits, self._cut = logits, cut
        self.own_columns, self.unknown_columns, self.n_classes = own_columns, unknown_columns, n_classes
        self._weights = weights

    @property
    def linear(self) -> Tensor | None:
        """A logistic model's (classes, columns) weights of the unknown columns, which equation solving uses."""
        return None if self._weights is None else self._weights[:, self.own_columns :]

    @property
    def own_linear(self) -> Tensor | None:
        """A logistic model's (classes, columns) weights of the attacker's own columns."""
        return None if self._weights is None else self._weights[:, : self.own_columns]

    @property
    def sealed(self) -> tuple[SealedPart, ...]:
        """The parties that send one of some codes for a record; codes are given in their order."""
        return self._logits.sealed if isinstance(self._logits, SealedLogits) else ()

    @property
    def held(self) -> tuple[bool, ...]:
        """Of each sealed party, whether the attacker holds all of its columns."""
        known = set(self._order[: self.own_columns]) if self.sealed else set()
        return tuple(known.issuperset(part.places) for part in self.sealed)

    @property
    def senders(self) -> tuple[int, ...]:
        """The parties, by number, whose embeddings tell of unknown columns; none where the model's parts are not known.

        Sealed parties send codes instead.
        """
        if not isinstance(self._logits, JointLogits):
            return ()
        known, codes = set(self._order[: self.own_columns]), [part.places for part in self.sealed]
        parties = enumerate(self._logits.places)
        return tuple(k for k, places in parties if places not in codes and not known.issuperset(places))

    def embeddings(self, own: Tensor, unknown: Tensor, noise: Tensor | None = None) -> Tensor | None:
        """What these send for such columns, (n, numbers): a coordinator sees it. None if nobody sends any.

        Without the noise that noisy ones draw for these records, it is what they send on average.
        """
        parties = self.senders
        if not parties or not isinstance(self._logits, JointLogits):
            return None
        columns = (own, unknown) if self._cut is None else self._cut(own, unknown)
        return self._logits.embeddings(*columns, parties, noise)

    @property
    def unsealed_unknown(self) -> int:
        """How many of the unknown columns reach the scores by another way than a code."""
        behind = {place for part in self.sealed for place in part.places}
        return sum(place not in behind for place in self._order[self.own_columns :])

    @property
    def _order(self) -> tuple[int, ...]:
        """The columns of the model, the attacker's first."""
        return tuple(range(self.own_columns + self.unknown_columns)) if self._cut is None else self._cut.order

    def regrouped(self, known: int) -> WhiteBox:
        """The same model for an attacker who holds the first `known` of all columns."""
        return self.rearranged(range(self.own_columns + self.unknown_columns), known)

    def swapped(self) -> WhiteBox:
        """The same model for the other side: who held the unknown columns asks about those that were the attacker's."""
        width = self.own_columns + self.unknown_columns
        return self.rearranged([*range(self.own_columns, width), *range(self.own_columns)], self.unknown_columns)

    def rearranged(self, order: Sequence[int], known: int) -> WhiteBox:
        """The same model for an attacker who holds the first `known` columns of another order of all of them."""
        split = self.own_columns if self._cut is None else self._cut.split
        places = tuple(self._order[place] for place in order)
        as_made = known == split and places == tuple(range(len(places)))
        return WhiteBox(
            self._logits,
            own_columns=known,
            unknown_columns=len(places) - known,
            n_classes=self.n_classes,
            weights=None if self._weights is None else self._weights[:, list(order)],
            cut=None if as_made else Cut(places, split),
        )

    def logits(self, own: Tensor, unknown: Tensor, codes: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """The joint model's logits; checked, because a broken model makes every attack's number meaningless.

        Args:
            own: the attacker's columns, (n, columns).
            unknown: the others.
            codes: what the sealed parties sent for these records, (n, sealed parties); without them, what their
                encoders choose for these columns.
            noise: what parties with a noisy embedding drew for these records, (n, noise_width); without it, their
                embeddings are what they are on average, and gradients pass.
        """
        logits = self._unchecked(own, unknown, codes, noise)
        if logits.shape != (len(own), self.n_classes):
            raise PriveeError(
                f"the model gave logits of shape {tuple(logits.shape)}, expected {self.n_classes} classes"
            )
        if not torch.isfinite(logits).all():
            raise PriveeError("the model gave logits that are not finite numbers")
        return logits

    def _unchecked(
        self, own: Tensor, unknown: Tensor, codes: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        columns = (own, unknown) if self._cut is None else self._cut(own, unknown)
        sent = {"codes": codes, "noise": noise}
        logits: Tensor = self._logits(*columns, **{name: one for name, one in sent.items() if one is not None})
        return logits

    def logits_at(self, own: Tensor, unknown: Tensor) -> Tensor:
        """For each record several unknown columns that it might have, (n, points, columns): (n, points, classes)."""
        return self.logits_at_each([own], unknown)[0]

    def logits_at_each(self, owns: Sequence[Tensor], unknown: Tensor) -> list[Tensor]:
        """The same with several own rows of each record in turn; what unknown columns give is worked out once."""
        n, points, width = unknown.shape
        rows = unknown.reshape(n * points, width)
        if isinstance(self._logits, JointLogits) and self._cut is None:
            found = self._logits.repeated(owns, rows, points)
        else:
            found = [self.logits(own.repeat_interleave(points, dim=0), rows) for own in owns]
        return [logits.reshape(n, points, self.n_classes) for logits in found]

    def scores(self, own: Tensor, unknown: Tensor, codes: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """The model's class confidences for these columns, and for these codes or this noise of passive parties."""
        return torch.softmax(self.logits(own, unknown, codes, noise), dim=1)

    @property
    def noise_width(self) -> int:
        """How many normal draws the passive parties add to what they send of a record; they are their secret."""
        return self._logits.noise_width if isinstance(self._logits, JointLogits) else 0

    def simulated_noise(self, rows: int, draws: Draws) -> Tensor | None:
        """What parties with a noisy embedding might draw for so many records, by draws of one's own."""
        width = self.noise_width
        return torch.from_numpy(draws.normal((rows, width))) if width else None

    def simulated_codes(self, own: Tensor, unknown: Tensor, draws: Draws) -> Tensor | None:
        """What sealed parties might send for such columns, by the public encoder and draws of one's own."""
        if not isinstance(self._logits, SealedLogits):
            return None
        return self._logits.drawn(self._chosen(own, unknown, self._logits), draws)

    def asked_codes(self, own: Tensor, unknown: Tensor, codes: Tensor | None) -> Tensor | None:
        """The codes that answer a question with these own columns, of records for which these codes were sent.

        What a party sent stays; only one whose columns are all the attacker's sends what the attacker wants.
        """
        if codes is None or not isinstance(self._logits, SealedLogits) or not any(self.held):
            return codes
        return torch.where(torch.tensor(self.held), self._chosen(own, unknown, self._logits), codes)

    def _chosen(self, own: Tensor, unknown: Tensor, logits: SealedLogits) -> Tensor:
        return logits.chosen(unknown if self._cut is None else self._cut(own, unknown)[1])

    @property
    def differentiable(self) -> bool:
        """Do gradients reach the unknown columns?"""
        unknown = torch.full((1, self.unknown_columns), 0.5, dtype=torch.float64, requires_grad=True)
        try:
            logits = self._unchecked(torch.full((1, self.own_columns), 0.5, dtype=torch.float64), unknown)
            logits.sum().backward()
        except RuntimeError:
            return False
        return unknown.grad is not None


class Cut:
    """Another cut between known and unknown columns: which of the model's columns an attacker holds, in what order.

    Args:
        order: the model's columns, the attacker's first.
        split: how many of them, in the model's own order, `logits` takes first.
    """

    def __init__(self, order: Sequence[int], split: int) -> None:
        self.order, self.split = tuple(order), split
        width = len(self.order)
        moved = self.order != tuple(range(width))
        self._back = torch.tensor(self.order).argsort() if moved else None
        self._swaps = self.order == (*range(split, width), *range(split))

    def __call__(self, own: Tensor, unknown: Tensor) -> tuple[Tensor, Tensor]:
        """The columns as the model takes them."""
        if self._swaps and unknown.shape[1] == self.split:
            return unknown, own
        columns = torch.cat([own, unknown], dim=1)
        if self._back is not None:
            columns = columns[:, self._back]
        return columns[:, : self.split], columns[:, self.split :]


def white_box_of(joint: JointModel) -> WhiteBox:
    """A white box of a trained joint model; the active party is the attacker.

    It takes and gives doubles. A logistic model computes in them, since its equations can be solved to the last digit;
    any other keeps the single precision in which it was trained, and takes half the time.
    """
    bottoms = [copy.deepcopy(predicting(party.learner.model)).eval() for party in joint.parties]
    top = copy.deepcopy(joint.coordinator.learner.model).eval()
    shapes = [tuple(party._features.shape[1:]) for party in joint.parties]
    weights = _linear_weights(bottoms)
    for module in (*bottoms, top):
        module.requires_grad_(requires_grad=False)
        if weights is not None:
            module.double()
    sizes = [math.prod(shape) for shape in shapes]
    names = [party.name for party in joint.parties]
    logits = SealedLogits(bottoms, top, shapes, names) if joint.sealed else JointLogits(bottoms, top, shapes)
    return WhiteBox(
        logits,
        own_columns=sizes[0],
        unknown_columns=sum(sizes[1:]),
        n_classes=_count_classes(logits, sizes),
        weights=weights,
    )


def _count_classes(logits: JointLogits, sizes: Sequence[int]) -> int:
    with torch.no_grad():
        return int(logits(torch.zeros(1, sizes[0]), torch.zeros(1, sum(sizes[1:]))).shape[1])


def _linear_weights(bottoms: Sequence[nn.Module]) -> Tensor | None:
    """All columns' weights if every part is one linear layer without bias, added up.

    A scaling of one straight piece is part of the weights: they are those of the columns as encoded. What it adds to
    all records alike is in the logits of no columns, which equation solving takes off.
    """
    weights = []
    for bottom in bottoms:
        layers = [m for m in bottom.modules() if not isinstance(m, nn.Sequential | nn.Flatten | Scaling)]
        layer = layers[0] if len(layers) == 1 else None
        if not isinstance(layer, nn.Linear) or "bias" in dict(layer.named_parameters()):
            return None
        slopes = _slopes(bottom)
        if slopes is None:
            return None
        weights.append((layer.weight.double() * slopes.double()).detach())
    return torch.cat(weights, dim=1)


def _slopes(bottom: nn.Module) -> Tensor | None:
    """What the scaling multiplies each column by: 1 without one, None if that differs along a column."""
    for module in bottom.modules():
        if isinstance(module, Scaling) and module.knots is not None:
            return module.slopes
    return torch.ones(1, dtype=torch.float64)
