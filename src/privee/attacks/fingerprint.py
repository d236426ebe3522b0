"""What a checkpoint belongs to: the attack, its seed, and everything it was given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from privee.attacks.view import AttackerView
from privee.version import __version__


def fingerprint(settings: Mapping[str, Any], seed: int, view: AttackerView) -> dict[str, Any]:
    """Equal for equal work, ready for JSON; data appears as shapes and digests only."""
    rows = view.auxiliary
    return {
        "privee": __version__,
        "attack": dict(settings),
        "seed": seed,
        "defense": view.defense.settings(),
        "adaptive": view.adaptive,
        "own columns": _digest(view.own),
        "releases": _digest(view.releases),
        "auxiliary rows": None if rows is None else [_digest(rows.own), _digest(rows.unknown)],
        "model": _digest(_probe(view)),
    }


def _probe(view: AttackerView) -> Tensor:
    """The model's word on a made-up record, in single precision: another machine's last bits must not matter."""
    own, unknown = (
        torch.full((1, columns), 0.5, dtype=view.own.dtype)
        for columns in (view.model.own_columns, view.model.unknown_columns)
    )
    with torch.no_grad():
        return view.model.logits(own, unknown).float()


def _digest(tensor: Tensor) -> str:
    shape = "x".join(str(side) for side in tensor.shape)
    return f"{shape} {tensor.dtype} {hashlib.sha256(tensor.contiguous().numpy().data).hexdigest()[:16]}"
