"""Joint models trained in one place, as the released code trains them: the loss may take softmax twice.

The product's trainer knows no such loss, and should not. Architectures are the product's own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from privee.atomic import whole_file
from privee.paper.released.columns import Columns, lay_out
from privee.vfl.models import architecture

AT_ONCE = 2048


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides a trained model.

    Attributes:
        known: percent of the columns that the active party holds.
        double: the loss takes softmax of softmax.
        rows: at most so many training rows; 0 for all.
    """

    dataset: str
    known: int = 50
    parties: int = 2
    epochs: int
    batch_size: int = 128
    learning_rate: float
    optimizer: Literal["adam", "sgd"] = "adam"
    double: bool = False
    unscaled: bool = False
    rows: int = 0
    seed: int = 0

    @property
    def key(self) -> str:
        """The same for the same model."""
        said = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return f"{self.dataset}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def columns(self, data_dir: Path | None) -> Columns:
        """The rows it is trained on."""
        return lay_out(
            self.dataset, known=self.known / 100, parties=self.parties, unscaled=self.unscaled, data_dir=data_dir
        )


class Joint(nn.Module):
    """Bottoms on each party's columns, and a top; rows of all columns in, logits out."""

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self.widths, self.picture = list(columns.widths), columns.picture
        made = architecture("mlp" if columns.picture is None else "resnet")
        self.bottoms = nn.ModuleList(made.bottom(self._shape(width), columns.n_classes) for width in self.widths)
        self.top = made.top(len(self.widths), columns.n_classes)

    def forward(self, rows: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.top(self._embeddings(rows, 0))
        return logits

    def given(self, own: Tensor) -> Callable[[slice, Tensor], Tensor]:
        """Logits of some records as a function of the columns that are not in `own`; known parts are run once."""
        whole = 0
        while sum(self.widths[: whole + 1]) <= own.shape[1]:
            whole += 1
        first = sum(self.widths[:whole])
        with torch.no_grad():
            fixed = [torch.cat(part) for part in zip(*self._in_turn(own[:, :first], whole), strict=True)]
        rest = own[:, first:]

        def logits(some: slice, unknown: Tensor) -> Tensor:
            columns = torch.cat([rest[some], unknown], dim=1)
            found: Tensor = self.top([part[some] for part in fixed] + self._embeddings(columns, whole))
            return found

        return logits

    def _in_turn(self, rows: Tensor, count: int) -> Iterator[list[Tensor]]:
        for some in rows.split(AT_ONCE):
            yield self._embeddings(some, 0, count)

    def _embeddings(self, rows: Tensor, first: int, end: int | None = None) -> list[Tensor]:
        parts = rows.split(self.widths[first:end], dim=1)
        return [bottom(self._part(part)) for bottom, part in zip(self.bottoms[first:end], parts, strict=True)]

    def _shape(self, width: int) -> tuple[int, ...]:
        if self.picture is None:
            return (width,)
        return (*self.picture, width // (self.picture[0] * self.picture[1]))

    def _part(self, part: Tensor) -> Tensor:
        """Strips run from left to right in a row; convolutions want (C, H, W)."""
        if self.picture is None:
            return part
        return part.reshape(len(part), -1, *self.picture).permute(0, 2, 3, 1)


def trained(recipe: Recipe, columns: Columns, folder: Path, tell: Callable[[int, int], None]) -> Joint:
    """The model of a recipe, from the folder or trained now and kept; in evaluation mode, its weights fixed."""
    torch.manual_seed(recipe.seed)
    joint = Joint(columns)
    file = folder / f"{recipe.key}.safetensors"
    if file.exists():
        joint.load_state_dict(load_file(file))
    else:
        _fit(joint, columns, recipe, tell)
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as partial:
            save_file({name: value.contiguous() for name, value in joint.state_dict().items()}, partial)
    return joint.eval().requires_grad_(requires_grad=False)


def _fit(joint: Joint, columns: Columns, recipe: Recipe, tell: Callable[[int, int], None]) -> None:
    rows, labels = columns.train[: recipe.rows or None], columns.train_labels[: recipe.rows or None]
    optimizer = _optimizer(joint, recipe)
    for epoch in range(recipe.epochs):
        tell(epoch, recipe.epochs)
        for some in torch.randperm(len(rows)).split(recipe.batch_size):
            logits = joint(rows[some])
            seen = torch.softmax(logits, dim=1) if recipe.double else logits
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(seen, labels[some]).backward()
            optimizer.step()


def _optimizer(joint: Joint, recipe: Recipe) -> torch.optim.Optimizer:
    """SGD as the released CIFAR code has it: momentum 0.9 and weight decay (5e-4 here: its value is not known)."""
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(joint.parameters(), lr=recipe.learning_rate, momentum=0.9, weight_decay=5e-4)
    return torch.optim.Adam(joint.parameters(), lr=recipe.learning_rate, fused=True)


def all_logits(joint: Joint, rows: Tensor) -> Tensor:
    """In double precision: float32 scores of confident models are mostly ties at 0 and 1."""
    with torch.no_grad():
        return torch.cat([joint(some) for some in rows.split(AT_ONCE)]).double()


def accuracy(joint: Joint, rows: Tensor, labels: Tensor) -> float:
    """Share of rows whose leading class is the true one."""
    return float((all_logits(joint, rows).argmax(dim=1) == labels).double().mean())
