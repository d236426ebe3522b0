"""MLflow: a logged model with a defense inside, and an audit beside it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privee.extras import require

require("privee.adapters.mlflow", "mlflow", extra="mlflow")

from privee.adapters._given import given_defense
from privee.defenses import Defense
from privee.scorers.rows import scores_of_outputs
from privee.scores.frames import as_frame
from privee.version import __version__

if TYPE_CHECKING:
    from privee.audit import Audit

__all__ = ["log_audit", "log_protected"]

CODE = """import mlflow
from privee.adapters.mlflow import protected_model

mlflow.models.set_model(protected_model())
"""
"""What MLflow keeps of the defense and runs when the model is loaded: code and a spec, nothing pickled."""


def log_protected(model_uri: str, defense: Defense | str, *, name: str = "protected", **more: Any) -> Any:
    """Log a pyfunc model whose `predict` gives releases of another logged model's scores.

    The other model is copied into it as an artifact: who may download the logged model has the bare one. Serve it.

    Args:
        model_uri: a logged model whose pyfunc `predict` gives scores, e.g. of scikit-learn, logged with
            `pyfunc_predict_fn="predict_proba"`.
        defense: a defense, or a spec such as "ordered-dp:epsilon=4"; its spec is kept in the model's configuration.
        name: of the logged model.
        more: for `mlflow.pyfunc.log_model`: an input example, a name to register it by.

    Returns:
        MLflow's `ModelInfo`.
    """
    from mlflow import pyfunc  # here and below: it takes seconds, and warns

    with tempfile.TemporaryDirectory() as folder:
        return pyfunc.log_model(name=name, **_parts(model_uri, given_defense(defense), Path(folder)) | more)


def protected_model() -> Any:
    """The model that a logged one is: asks the model that was logged with it for scores, and gives releases."""
    from mlflow import pyfunc

    class ProtectedModel(pyfunc.PythonModel):  # type: ignore[misc]
        def load_context(self, context: Any) -> None:
            self._model = pyfunc.load_model(context.artifacts["model"])
            self._defense = given_defense(context.model_config["defense"])

        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
            scores = self._model.predict(model_input)
            return self._defense.release(scores if as_frame(scores) is not None else scores_of_outputs(scores))

    return ProtectedModel()


def _parts(model_uri: str, defense: Defense, folder: Path) -> dict[str, Any]:
    """What such a model is made of; it needs what the model inside needs, and privee."""
    from mlflow import pyfunc

    inside = Path(pyfunc.get_model_dependencies(model_uri)).read_text(encoding="utf-8").splitlines()
    code = folder / "protected_model.py"
    code.write_text(CODE, encoding="utf-8")
    return {
        "python_model": str(code),
        "artifacts": {"model": model_uri},
        "model_config": {"defense": defense.spec},
        "pip_requirements": [f"privee=={__version__}", *filter(None, inside)],
    }


def log_audit(audit: Audit, *, artifact_path: str = "audit") -> None:
    """Log an audit's report and tables with the active run, and the grade of every release as a tag."""
    import mlflow

    from privee.audit import save_audit

    with tempfile.TemporaryDirectory() as folder:
        save_audit(audit, Path(folder))
        mlflow.log_artifacts(folder, artifact_path)
    mlflow.set_tags({f"privee.grade.{_tag(card.defense)}": card.grade for card in audit.cards})


def _tag(spec: str) -> str:
    """MLflow's names may hold letters, digits and a few signs."""
    return "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in spec)
