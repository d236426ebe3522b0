"""What an embedding tells a curious coordinator: by regression, and by inverting the party's part of the model.

Both as a share of what the best guess from the active party's columns leaves (1 is nothing told), with all noise that
the party adds. The regression needs rows known in full, and gets the embedding, the logits that the coordinator makes
of it, or both; an embedding with noise is simulated for these rows several times, and then read in two steps as well: a
guess, and what it misses. The inversion looks for the columns whose embedding is the one that was sent, and which are
likely, through the party's weights; how far to trust the embedding is tried out on rows that are known.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from torch import Tensor

from benchmarks._sealed import leaks
from privee.attacks.regressors import all_fits, best_fit
from privee.randomness import seeded
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, noise_width, predicting
from privee.vfl.embedding_defenses.mid import Bottleneck, divergence

Array = NDArray[np.float64]
DRAWS, MOST_EXAMPLES = 6, 6000
STEPS, RATE = 400, 0.02
TRUSTS = (0.01, 0.1, 0.5, 1.0, 2.0)
"""By how much the spread of an embedding's numbers (or of its noise) is multiplied to say how well it must be met."""
REHEARSED = 150


class Records(NamedTuple):
    """Columns of all records, and which the attacker knows in full."""

    own: Array
    private: Array
    train: Array
    test: Array


def told_by_embedding(joint: Any, records: Records, seed: int) -> dict[str, float]:
    """Error left by regression and by inversion, and for MID the information that its training suggests."""
    party = joint.parties[1]
    train, test, varied = _chosen(records, seed)
    model = copy.deepcopy(predicting(party.learner.model)).eval().requires_grad_(requires_grad=False)
    sent = party._embed(torch.from_numpy(test), train=False).double().numpy()
    guess = _guess(records, train, test, varied, seed)
    by_regression = _regression(joint, model, records, varied, train, test, sent, seed)
    by_inversion = _inversion(model, party._features, records, varied, train, test, sent, seed)
    found = {"regression": min(1.0, by_regression / guess), "inversion": min(1.0, by_inversion / guess)}
    return found | _suggested(model, party._features, train, test)


def told_by_code(joint: Any, records: Records, seed: int) -> dict[str, float]:
    """Error left by the same regressions given a sealed party's code."""
    (party,) = joint.sealed
    train, test, varied = _chosen(records, seed)
    rows = np.concatenate([train, test])
    known, asked = np.arange(len(train)), np.arange(len(train), len(rows))
    told = np.eye(party.seal.codes)[party.seal_records()[rows]]
    logits = np.log(np.maximum(joint.scores(torch.from_numpy(rows)).astype(np.float64), 1e-12))
    logits -= logits.mean(axis=1, keepdims=True)
    found = _best(records.own[rows], told, logits, records.private[np.ix_(rows, varied)], known, asked, seed)
    return {"regression": min(1.0, found / _guess(records, train, test, varied, seed))}


def _chosen(records: Records, seed: int) -> tuple[Array, Array, Array]:
    """Records that the attacker knows in full, those that it is after, and the private columns that vary."""
    rng = np.random.default_rng(seed)
    train, test = rng.permutation(records.train)[: leaks.TRAIN], rng.permutation(records.test)[: leaks.TEST]
    return train, test, np.flatnonzero(records.private[train].std(axis=0) > 1e-3)


def _guess(records: Records, train: Array, test: Array, varied: Array, seed: int) -> float:
    """The error of the best guess from own columns, by any of the same learners."""
    rows = np.concatenate([train, test])
    known, asked = np.arange(len(train)), np.arange(len(train), len(rows))
    nothing = np.zeros((len(rows), 1))
    return _best(records.own[rows], nothing, nothing, records.private[np.ix_(rows, varied)], known, asked, seed)


def _simulated(model: Any, features: Tensor, number: int) -> Array:
    """An embedding of these rows with draws of one's own."""
    width = noise_width(model)
    with torch.inference_mode():
        if not width:
            return model(features).double().numpy()
        noise = torch.from_numpy(seeded(number, "coordinator").normal((len(features), width))).float()
        return model.sent(features, noise).double().numpy()


def _regression(
    joint: Any, model: Any, records: Records, varied: Array, train: Array, test: Array, sent: Array, seed: int
) -> float:
    """The best of `leaks`' learners and the attacks' own, taught with several draws of each row's noise."""
    features = torch.from_numpy(records.private[train]).float()
    times = min(DRAWS, max(1, MOST_EXAMPLES // len(train))) if noise_width(model) else 1
    told = np.concatenate([*(_simulated(model, features, k) for k in range(times)), sent])
    rows = np.concatenate([np.tile(train, times), test])
    known, asked = np.arange(times * len(train)), np.arange(times * len(train), len(rows))
    own, wanted, logits = records.own[rows], records.private[np.ix_(rows, varied)], _logits(joint, rows, told)
    found = _best(own, told, logits, wanted, known, asked, seed)
    return found if times == 1 else min(found, _in_two_steps(own, told, logits, wanted, len(train), times))


def _in_two_steps(own: Array, told: Array, logits: Array, wanted: Array, count: int, times: int) -> float:
    """The guess from own columns first, from each row once; then what it misses, from all draws of the noise."""
    known, asked = slice(count * times), slice(count * times, None)
    columns, outputs = torch.from_numpy(own), torch.from_numpy(wanted)
    guess = best_fit(columns[:count], outputs[:count])
    before = torch.cat([guess.out_of_sample(columns[:count]).repeat(times, 1), guess(columns[asked])])
    errors = [float((before - outputs)[asked].square().mean())]
    for given in (logits, np.hstack([told, logits]), np.hstack([own, told, logits])):
        scaled = torch.from_numpy((given - given[known].mean(axis=0)) / (given[known].std(axis=0) + 1e-6))
        mixed = torch.randperm(count * times, generator=torch.Generator().manual_seed(0))
        for fit in all_fits(scaled[mixed], (outputs - before)[mixed]):
            errors.append(float((before[asked] + fit(scaled[asked]) - outputs[asked]).square().mean()))
    return min(errors)


def _best(own: Array, told: Array, logits: Array, wanted: Array, known: Array, asked: Array, seed: int) -> float:
    """The smallest error of any learner, from the embedding, from the logits, and from both."""
    found = [float(leaks._errors(np.hstack([own, told]), wanted, known, asked, seed).mean(axis=1).min())]
    for given in (np.hstack([own, logits]), np.hstack([own, told, logits])):
        scaled = torch.from_numpy((given - given[known].mean(axis=0)) / (given[known].std(axis=0) + 1e-6))
        mixed = np.random.default_rng(seed).permutation(known)
        fit = best_fit(scaled[mixed], torch.from_numpy(wanted[mixed]))
        found.append(float(np.square(fit(scaled[asked]).numpy() - wanted[asked]).mean()))
    return min(found)


def _logits(joint: Any, rows: Array, told: Array) -> Array:
    """What the coordinator makes of the active party's embedding and of this one; the mean over classes is 0."""
    own = joint.parties[0]._embed(torch.from_numpy(rows), train=False)
    top = joint.coordinator.learner.model.eval()
    with torch.inference_mode():
        logits = top([own, torch.from_numpy(told).to(own.dtype)]).double()
    return (logits - logits.mean(dim=1, keepdim=True)).numpy()


def _inversion(
    model: Any, features: Tensor, records: Records, varied: Array, train: Array, test: Array, sent: Array, seed: int
) -> float:
    """Likely columns whose embedding is the one that was sent; the trust that does best on known rows."""
    half = len(train) // 2
    ridge = Ridge(1.0).fit(records.own[train[:half]], records.private[train[:half]])
    missed = records.private[train[half:]] - ridge.predict(records.own[train[half:]])
    covariance = missed.T @ missed / len(missed)
    level = 1e-3 * covariance.diagonal().mean() + 1e-6
    precision = torch.from_numpy(np.linalg.inv(covariance + level * np.eye(len(covariance)))).float()
    rehearsed = train[half:][:REHEARSED]
    trial = _simulated(model, torch.from_numpy(records.private[rehearsed]).float(), 1000 + seed)
    spread = torch.from_numpy(_simulated(model, features[torch.from_numpy(train)], 2000).std(axis=0)).float() + 1e-6

    def solved(rows: Array, told: Array, trust: float) -> float:
        start = ridge.predict(records.own[rows])
        found = _most_likely(model, torch.from_numpy(told).float(), torch.from_numpy(start), precision, spread, trust)
        return float(np.square(found - records.private[rows])[:, varied].mean())

    best = min(TRUSTS, key=lambda trust: solved(rehearsed, trial, trust))
    return solved(test, sent, best)


def _most_likely(model: Any, sent: Tensor, start: Array, precision: Tensor, spread: Tensor, trust: float) -> Array:
    guess = torch.as_tensor(start).float()
    found = guess.clamp(0, 1).clone().requires_grad_()
    adam = torch.optim.Adam([found], lr=RATE)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(adam, STEPS)
    for _ in range(STEPS):
        adam.zero_grad()
        off = found - guess
        (_misfit(model, found, sent, spread, trust) + 0.5 * ((off @ precision) * off).sum()).backward()
        adam.step()
        slower.step()
        with torch.no_grad():
            found.clamp_(0, 1)
    return found.detach().double().numpy()


def _misfit(model: Any, columns: Tensor, sent: Tensor, spread: Tensor, trust: float) -> Tensor:
    """Minus the logarithm of how likely the embedding is for these columns; noise has the spread that it has."""
    if isinstance(model, Bottleneck):
        mean, deviation = model.spread(model.bottom(columns))
        wide = trust * deviation
        return (0.5 * ((mean - sent) / wide).square() + wide.log()).sum()
    return 0.5 * ((model(columns) - sent) / (trust * spread)).square().sum()


def _suggested(model: Any, features: Tensor, train: Array, test: Array) -> dict[str, float]:
    """MID's mean divergence in bits, over records of the training and over others: an estimate, no bound."""
    if not isinstance(model, DefendedBottom) or not isinstance(model, Bottleneck):
        return {}
    with torch.inference_mode():
        bits = [
            float(divergence(*model.spread(model.bottom(features[torch.from_numpy(rows)]))).mean() / np.log(2))
            for rows in (train, test)
        ]
    return {"suggested_bits": bits[0], "suggested_bits_test": bits[1]}
