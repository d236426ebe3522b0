"""Tensors in files: safetensors with a note of what they are, and an optimizer's state as flat tensors. No pickle."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import torch
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


PREFIX = "optimizer."


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Every slot of every parameter, as `optimizer.<index>.<slot>`."""
    slots = optimizer.state_dict()["state"].items()
    return {f"{PREFIX}{index}.{slot}": tensor for index, held in slots for slot, tensor in held.items()}


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave; other names are ignored."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    slots: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith(PREFIX):
            index, slot = name.removeprefix(PREFIX).split(".")
            slots.setdefault(int(index), {})[slot] = _laid_out_like(parameters[int(index)], tensor)
    optimizer.load_state_dict(optimizer.state_dict() | {"state": slots})


def _laid_out_like(parameter: Tensor, tensor: Tensor) -> Tensor:
    """Files hold plain row-major tensors; the fused optimizer needs the parameter's own layout."""
    return torch.empty_like(parameter).copy_(tensor).detach() if tensor.shape == parameter.shape else tensor
