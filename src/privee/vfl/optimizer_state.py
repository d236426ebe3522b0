"""An optimizer's state as flat tensors, for checkpoints."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

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
