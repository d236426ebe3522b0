"""Weights of all roles of a run."""

from pathlib import Path

import torch
from safetensors.torch import load_file


def all_weights(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted(folder.glob("**/model.safetensors"))
    assert len(files) == 3
    return {f"{file.parent.name}.{k}": t for file in files for k, t in load_file(file).items()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)
