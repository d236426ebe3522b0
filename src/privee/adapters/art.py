"""IBM's Adversarial Robustness Toolbox: a defense as a postprocessor, so that its attacks can be run against ours."""

from __future__ import annotations

from typing import Any

from privee.extras import require

require("privee.adapters.art", "art", extra="art")

import numpy as np
from art.defences.postprocessor import Postprocessor
from numpy.typing import NDArray

from privee.adapters._given import Outputs, given_defense, given_outputs
from privee.defenses import Defense
from privee.scorers.rows import scores_of_outputs

__all__ = ["DefensePostprocessor"]


class DefensePostprocessor(Postprocessor):  # type: ignore[misc]
    """Releases in place of an ART estimator's predictions, each row by itself and with fresh secure draws.

    Args:
        defense: a defense, or a spec such as "ordered-dp:epsilon=4".
        outputs: does the estimator predict "scores" or "logits"? One for each row is that of the second of two classes.
        apply_fit: whether ART applies it in training as well.
        apply_predict: whether ART applies it to predictions.
    """

    params = ["defense", "outputs"]  # noqa: RUF012 (ART's own)

    def __init__(
        self,
        defense: Defense | str,
        *,
        outputs: Outputs = "scores",
        apply_fit: bool = False,
        apply_predict: bool = True,
    ) -> None:
        super().__init__(is_fitted=True, apply_fit=apply_fit, apply_predict=apply_predict)
        self.defense, self.outputs = given_defense(defense), given_outputs(outputs)

    def __call__(self, preds: NDArray[Any]) -> NDArray[Any]:
        """The releases, in the shape and dtype of the predictions."""
        values = np.asarray(preds)
        release = self.defense.release(scores_of_outputs(values, logits=self.outputs == "logits"))
        return np.asarray(release if values.ndim == 2 and values.shape[1] > 1 else release[:, 1:]).reshape(preds.shape)

    def _check_params(self) -> None:
        self.defense, self.outputs = given_defense(self.defense), given_outputs(self.outputs)
