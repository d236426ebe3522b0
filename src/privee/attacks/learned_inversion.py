"""Learned inversion: train a regressor on simulated releases. It knows the mechanism by construction.

It is given the ranking in a usable form: rank positions, the log-scores expected at each position, and all of these
minus the part of the logits that the attacker's own columns explain. Without that, ranking-only releases look safer
than they are.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from privee.attacks.base import Attack, Needs
from privee.attacks.guesses import ridge_fit
from privee.attacks.logs import by_rank, centred_log, in_rank_order, own_logits
from privee.attacks.view import AttackerView, Auxiliary
from privee.errors import PriveeError


@dataclasses.dataclass(frozen=True, kw_only=True)
class LearnedInversion(Attack):
    """Ridge regressions and a small network compete on held-out auxiliary rows; the best one attacks.

    Args:
        simulations: releases simulated per auxiliary row.
        hidden: width of the network's two layers; 0 leaves it out.
        epochs: passes of the network over the simulated releases.
    """

    name: ClassVar[str] = "learned-inversion"
    summary: ClassVar[str] = "a regressor trained on simulated releases, given the ranking explicitly"
    needs: ClassVar[Needs] = Needs(auxiliary=True)

    simulations: int = 4
    hidden: int = 128
    epochs: int = 60

    def _reconstruct(self, view: AttackerView) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("learned inversion needs auxiliary rows")
        guess = ridge_fit(rows.own, rows.unknown, 1.0)
        encode = _Encoder(view, rows)
        held = torch.arange(len(rows)) % 5 == 0
        inputs = [encode(view.simulate(rows.unknown, rows.own, seed), rows.own) for seed in range(self.simulations)]
        rest = rows.unknown - guess(rows.own)  # what the release may add to the guess from own columns

        def joined(chosen: Tensor) -> tuple[Tensor, Tensor]:
            return torch.cat([x[chosen] for x in inputs]), rest[chosen].repeat(self.simulations, 1)

        fit = self._best(joined(~held), joined(held))
        found = torch.stack([fit(encode(release, view.own)) for release in view.releases]).mean(dim=0)
        return (guess(view.own) + found).clamp(0.0, 1.0)

    def _best(self, training: tuple[Tensor, Tensor], held: tuple[Tensor, Tensor]) -> Regressor:
        fits: list[Regressor] = [ridge_fit(*training, ridge) for ridge in (0.1, 1.0, 10.0, 100.0, 1000.0)]
        if self.hidden:
            fits.append(_Network(*training, *held, self.hidden, self.epochs))
        errors = [float((fit(held[0]) - held[1]).square().mean()) for fit in fits]
        return fits[errors.index(min(errors))]


class _Encoder:
    """Turns a release and own columns into the regressor's inputs, scaled by the auxiliary rows."""

    def __init__(self, view: AttackerView, rows: Auxiliary) -> None:
        self._view, self._guess = view, rows.unknown.mean(dim=0, keepdim=True)
        scores = view.model.scores(rows.own, rows.unknown)
        self._expected = in_rank_order(centred_log(scores), scores).mean(dim=0)
        raw = self._raw(view.simulate(rows.unknown, rows.own, -1), rows.own)
        self._middle, self._spread = raw.mean(dim=0), raw.std(dim=0) + 1e-6

    def __call__(self, release: Tensor, own: Tensor) -> Tensor:
        return (self._raw(release, own) - self._middle) / self._spread

    def _raw(self, release: Tensor, own: Tensor) -> Tensor:
        classes = release.shape[1]
        explained = own_logits(self._view, own, self._guess)
        read = centred_log(self._view.read(release))
        expected = by_rank(self._expected, release)
        position = by_rank(torch.arange(classes, dtype=release.dtype) / classes, release)
        return torch.cat([read, read - explained, expected, expected - explained, position, own], dim=1)


class _Network:
    """Two hidden layers, kept as they were at the best epoch on held-out rows."""

    def __init__(self, x: Tensor, y: Tensor, x_held: Tensor, y_held: Tensor, hidden: int, epochs: int) -> None:
        sizes = (x.shape[1], hidden, hidden, y.shape[1])
        layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        self._net = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
        optimizer = torch.optim.Adam(self._net.parameters(), lr=1e-3, weight_decay=1e-4)
        x, y, x_held, y_held = x.float(), y.float(), x_held.float(), y_held.float()
        best, kept = float("inf"), None
        for _ in range(epochs):
            for part in torch.randperm(len(x)).split(128):
                optimizer.zero_grad()
                nn.functional.mse_loss(self._net(x[part]), y[part]).backward()
                optimizer.step()
            with torch.no_grad():
                error = float((self._net(x_held) - y_held).square().mean())
            if error < best:
                best, kept = error, {name: tensor.clone() for name, tensor in self._net.state_dict().items()}
        if kept is not None:
            self._net.load_state_dict(kept)

    def __call__(self, inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return self._net(inputs.float()).to(inputs.dtype)


Regressor = ridge_fit | _Network
