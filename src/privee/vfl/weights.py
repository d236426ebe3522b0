"""Tensors in files: safetensors with a note of what they are. No pickle."""

from __future__ import annotations

import struct
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from privee.atomic import whole_file
from privee.errors import PriveeError

FORMAT = "privee-weights-1"


def save_tensors(path: Path, tensors: dict[str, Tensor], role: str) -> None:
    """Write tensors, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with whole_file(path, force=True) as partial:
        save_file(contiguous, partial, {"format": FORMAT, "role": role})


def load_tensors(path: Path, role: str) -> dict[str, Tensor]:
    """Read tensors that `save_tensors` wrote for this role."""
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise PriveeError(f"{path} is missing") from None
    except (SafetensorError, struct.error, OSError):
        raise PriveeError(f"{path} is damaged: it is not a readable safetensors file") from None
    if about.get("format") != FORMAT:
        raise PriveeError(f"{path} was written by another version of privee ({about.get('format', 'unknown format')})")
    if about.get("role") != role:
        raise PriveeError(f"{path} holds the weights of {about.get('role')!r}, not of {role!r}")
    return tensors
