"""Purifier's network: a small conditional variational autoencoder of score vectors, with gradients by hand. NumPy only.

    code:    h = tanh([s, label] A + a),    mean = h B + b,    log variance = h C + c
    score:   g = tanh([z, label] D + d),    p = softmax(g E + e),   z = mean + exp(log variance / 2) * normal

The loss is the cross-entropy of p against the scores, plus a share of that against the label, plus a share of the
divergence of codes from the standard normal distribution.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from privee.atomic import read_json, write_json
from privee.defenses.small_nets import Array, Arrays, descended, softmax, started, synthetic_scores
from privee.errors import SettingError
from privee.randomness import seeded

HIDDEN, CODE, STEPS, BATCH, RATE = 24, 3, 500, 256, 0.02
LABEL_SHARE, DIVERGENCE_SHARE = 0.1, 0.02
SPREAD, ROWS = 3.0, 2000
FORMAT = "privee purifier 1"


class ScoreAutoencoder(NamedTuple):
    """The weights, in the order above."""

    a: Array
    a0: Array
    b: Array
    b0: Array
    c: Array
    c0: Array
    d: Array
    d0: Array
    e: Array
    e0: Array

    @property
    def n_classes(self) -> int:
        """How many classes it was trained for."""
        return len(self.e0)

    def rebuilt(self, scores: Array, labels: Array, normal: Array) -> Array:
        """New scores for scores and labels (one-hot), with a draw for each code."""
        hidden = np.tanh(np.concatenate([scores, labels], axis=1) @ self.a + self.a0)
        log_variance = np.clip(hidden @ self.c + self.c0, -8, 8)
        code = hidden @ self.b + self.b0 + np.exp(log_variance / 2) * normal
        return softmax(np.tanh(np.concatenate([code, labels], axis=1) @ self.d + self.d0) @ self.e + self.e0)


def shapes(n_classes: int) -> tuple[tuple[int, ...], ...]:
    """Of all weights."""
    pairs = (2 * n_classes, HIDDEN), (HIDDEN, CODE), (HIDDEN, CODE), (CODE + n_classes, HIDDEN), (HIDDEN, n_classes)
    return tuple(shape for pair in pairs for shape in (pair, pair[1:]))


def one_hot(labels: Array, n_classes: int) -> Array:
    """Rows with a one at the label."""
    return np.asarray(labels[:, None] == np.arange(n_classes), dtype=np.float64)


def trained(scores: Array) -> ScoreAutoencoder:
    """On score vectors of records that were not trained on; the same scores give the same weights."""
    n_classes, draws = scores.shape[1], seeded(0, "score autoencoder")

    def gradients(weights: Arrays, step: int) -> Arrays:
        batch = scores[(np.arange(BATCH) + step * BATCH) % len(scores)]
        return _gradients(ScoreAutoencoder(*weights), batch, draws.normal((BATCH, CODE)))

    return ScoreAutoencoder(*descended(started(shapes(n_classes), 1), gradients, STEPS, RATE))


def _gradients(net: ScoreAutoencoder, scores: Array, normal: Array) -> Arrays:
    labels = one_hot(scores.argmax(axis=1), scores.shape[1])
    seen = np.concatenate([scores, labels], axis=1)
    hidden = np.tanh(seen @ net.a + net.a0)
    mean, log_variance = hidden @ net.b + net.b0, np.clip(hidden @ net.c + net.c0, -8, 8)
    noise = np.exp(log_variance / 2) * normal
    given = np.concatenate([mean + noise, labels], axis=1)
    inner = np.tanh(given @ net.d + net.d0)
    made = softmax(inner @ net.e + net.e0)
    out = ((1 + LABEL_SHARE) * made - scores - LABEL_SHARE * labels) / len(scores)
    back = out @ net.e.T * (1 - inner**2)
    code = (back @ net.d.T)[:, :CODE]
    to_mean = code + DIVERGENCE_SHARE * mean / len(scores)
    to_variance = code * noise / 2 + DIVERGENCE_SHARE * (np.exp(log_variance) - 1) / 2 / len(scores)
    first = (to_mean @ net.b.T + to_variance @ net.c.T) * (1 - hidden**2)
    parts = ((seen, first), (hidden, to_mean), (hidden, to_variance), (given, back), (inner, out))
    return [gradient for x, error in parts for gradient in (x.T @ error, error.sum(axis=0))]


@functools.lru_cache(maxsize=16)
def default_autoencoder(n_classes: int) -> ScoreAutoencoder:
    """Trained on public synthetic scores: softmax of normal logits with a spread of 3."""
    count = int(np.clip((1 << 20) // n_classes, 2 * BATCH, ROWS))
    return trained(synthetic_scores(count, n_classes, SPREAD, seeded(0, "purifier", n_classes)))


def save(net: ScoreAutoencoder, path: Path) -> None:
    """As plain numbers in JSON."""
    numbers = [[float(f"{x:.6g}") for x in part.ravel()] for part in net]
    write_json(path, {"format": FORMAT, "classes": net.n_classes, "weights": numbers})


def load(path: Path) -> ScoreAutoencoder:
    """What `save` wrote; anything else is refused in one line."""
    found = read_json(path)
    try:
        expected = shapes(int(found["classes"]))
        arrays = [np.array(x, dtype=np.float64).reshape(s) for x, s in zip(found["weights"], expected, strict=True)]
        good = found["format"] == FORMAT and all(np.isfinite(array).all() for array in arrays)
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise SettingError(f"{path} holds no weights of a purifier; make them with Purifier.fitted")
    return ScoreAutoencoder(*arrays)
