"""Purifier (Yang et al. 2022): scores rebuilt by an autoencoder of non-members' scores.

A conditional variational autoencoder (condition: the predicted label) that saw only score vectors of records that were
not trained on makes every vector look like one of those. That is the part the abstract describes and the one that is
here. The original goes on (from memory) to swap the labels of members it finds by nearest neighbours, so that their
accuracy does not tell them apart: it changes predictions on purpose. Here the label is kept, always.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privee.defenses.base import Defense, Guarantee
from privee.defenses.registry import register
from privee.defenses.score_autoencoder import CODE, ScoreAutoencoder, default_autoencoder, load, one_hot, save, trained
from privee.defenses.simulated_inverse import DOUBTFUL_TO_SURE, simulated_inverse
from privee.errors import SettingError
from privee.randomness import Draws
from privee.scores import check_rows, to_rows
from privee.scores.forms import Floats

FEWEST_ROWS = 50


@register
@dataclasses.dataclass(frozen=True)
class Purifier(Defense):
    """Scores made anew by a small autoencoder that has seen other records' scores only. Keeps the top class.

    Args:
        weights_file: JSON with the weights, made by `fitted`; read when the defense is made. Without it the network is
            one trained on public synthetic scores, softmax of normal logits with a spread of 3, when it is first used.
    """

    name: ClassVar[str] = "purifier"
    place: ClassVar[int] = 48
    summary: ClassVar[str] = "scores rebuilt by an autoencoder of non-members' scores; keeps the class"

    weights_file: str | None = None

    def __post_init__(self) -> None:
        if self.weights_file is None:
            return
        if not isinstance(self.weights_file, str) or not self.weights_file:
            raise SettingError("weights_file must be the name of a file")
        object.__setattr__(self, "_net", load(Path(self.weights_file)))  # no field: it is not a setting

    @classmethod
    def fitted(cls, scores: Any, file: str | os.PathLike[str]) -> Purifier:
        """Trained on scores of records that were not trained on; the weights go into the file."""
        rows, _ = to_rows(scores)
        check_rows(rows)
        if len(rows) < FEWEST_ROWS:
            raise SettingError(f"a purifier needs {FEWEST_ROWS} score vectors or more to learn from, got {len(rows)}")
        save(trained(rows.astype(np.float64)), Path(file))
        return cls(str(file))

    @property
    def learned_by(self) -> str:
        """The call of `fitted`, where there is a file."""
        return "" if self.weights_file is None else "privee.Purifier.fitted(public_scores, 'FILE')"

    def network(self, n_classes: int) -> ScoreAutoencoder:
        """The autoencoder for this many classes."""
        net: ScoreAutoencoder | None = self.__dict__.get("_net")
        if net is None:
            return default_autoencoder(n_classes)
        if net.n_classes != n_classes:
            raise SettingError(f"these weights are for {net.n_classes} classes, and there are {n_classes}")
        return net

    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        normal = draws.normal((len(rows), CODE))
        if not len(rows):
            return rows.copy()
        labels = rows.argmax(axis=1)
        given = rows.astype(np.float64)
        made = self.network(rows.shape[1]).rebuilt(given, one_hot(labels, rows.shape[1]), normal)
        return _with_label(made.astype(rows.dtype), labels)

    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        return simulated_inverse(self, rows, kinds=DOUBTFUL_TO_SURE)

    def guarantee(self, n_classes: int) -> Guarantee:
        """Nothing is proven; it was made against membership inference, and a code is drawn afresh each time."""
        return Guarantee(
            not_covered=(
                "the predicted class",
                f"{CODE} numbers that the network makes of the scores: many fresh releases average out their noise",
                "whatever the network lets through: no bound is known",
            ),
            figures={"code_numbers": CODE},
        )


def _with_label(made: Floats, labels: NDArray[np.intp]) -> Floats:
    """The label on top: where another class is, the two change places, and a tie is broken by one last bit."""
    rows = np.arange(len(made))
    best = made.argmax(axis=1)
    made[rows, labels], made[rows, best] = made[rows, best], made[rows, labels]
    tied = made.argmax(axis=1) != labels
    made[rows[tied], labels[tied]] = np.nextafter(made[rows[tied], labels[tied]], made.dtype.type(2))
    return made
