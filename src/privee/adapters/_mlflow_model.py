"""The code of a logged model with a defense inside, which MLflow copies beside it and runs: nothing is pickled."""

from __future__ import annotations

from typing import Any

import mlflow
import mlflow.pyfunc
import numpy as np

from privee.defenses import defense
from privee.scorers.rows import scores_of_outputs
from privee.scores.frames import as_frame


class ProtectedModel(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """Asks the model that was logged with it for scores, and gives releases with fresh secure draws."""

    def load_context(self, context: Any) -> None:
        """Once, when the model is loaded."""
        self._model = mlflow.pyfunc.load_model(context.artifacts["model"])
        self._defense = defense(context.model_config["defense"])

    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
        """Releases: of a table a table, else an array."""
        scores = self._model.predict(model_input)
        table = as_frame(scores)
        return self._defense.release(scores_of_outputs(np.asarray(scores)) if table is None else scores)


mlflow.models.set_model(ProtectedModel())
