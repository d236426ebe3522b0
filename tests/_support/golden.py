"""Releases pinned to the last bit: score arrays that every processor makes alike, and digests of what comes out.

python -m tests._support.golden        prints the digests of this code on this processor as JSON
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

import privee
from privee.defenses.repeatable import Repeatable

KEY = bytes(range(32))
SHAPES = ((10,), (7, 2), (1700, 10), (20, 1000), (1, 17_000))
KINDS = ("mild", "saturated", "tied")
SPECS = (
    "privee-u:rho=0.1",
    "privee-u:rho=0.7,transform=identity",
    "privee-u+:rho_low=0.1,rho_high=0.9",
    "ranking-only",
    "ordered-dp:epsilon=8",
    "ordered-dp:epsilon=0.5,spend=all",
    "ordered-dp:epsilon=8,keep_top=2,tail=0.7",
    "gaussian:epsilon=0.5",
    "rounding:digits=2",
    "temperature:temperature=2",
    "top-k:k=3",
    "label-only",
    "one-parameter:epsilon=8",
    "record-order:epsilon=4",
)


def golden_scores(shape: tuple[int, ...], kind: str, dtype: type) -> np.ndarray:
    """Rows spread a little; or over all magnitudes, with zeros, -0.0 and subnormals; or with many equal scores.

    Made without elementary functions, whose last bits differ between processors.
    """
    rng = np.random.default_rng([*shape, KINDS.index(kind)])
    weights = rng.integers(1, 1 << 20, size=shape) / 2.0**20
    if kind == "mild":
        weights += 0.01
    elif kind == "saturated":
        weights = np.ldexp(weights, -rng.integers(0, 1060, size=shape))
        weights[..., rng.integers(0, shape[-1], size=max(1, shape[-1] // 5))] = 0.0
        weights[..., 1] = -0.0
        weights[..., 0] = 1.0
    else:
        weights = np.floor(4 * weights) + 1.0
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(dtype)


def digests(spec: str, kind: str) -> dict[str, str]:
    """Of seeded and of keyed releases in all shapes and both precisions."""
    defense = privee.defense(spec)
    repeatable = Repeatable(defense, key=KEY, model_version="golden")
    seeded, keyed = hashlib.sha256(), hashlib.sha256()
    for shape in SHAPES:
        for dtype in (np.float32, np.float64):
            scores = golden_scores(shape, kind, dtype)
            seeded.update(defense.release(scores, draws=privee.seeded(24)).tobytes())
            rows = np.atleast_2d(scores)[:40]
            asked = np.arange(3 * len(rows)).reshape(-1, 3)
            keyed.update(repeatable.release(rows, entities=range(len(rows)), queries=asked).tobytes())
    return {"seeded": seeded.hexdigest(), "keyed": keyed.hexdigest()}


if __name__ == "__main__":
    print(json.dumps({spec: {kind: digests(spec, kind) for kind in KINDS} for spec in SPECS}, indent=1))
