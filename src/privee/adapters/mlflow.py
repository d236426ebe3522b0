"""MLflow: a logged model with a defense inside, and an audit beside it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privee.extras import require

require("privee.adapters.mlflow", "mlflow", extra="mlflow")

from privee.adapters._given import given_defense
from privee.defenses import Defense
from privee.version import __version__

if TYPE_CHECKING:
    from privee.audit import Audit

__all__ = ["log_audit", "log_protected"]

CODE = Path(__file__).with_name("_mlflow_model.py")


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

    return pyfunc.log_model(name=name, **_parts(model_uri, given_defense(defense)) | more)


def _parts(model_uri: str, defense: Defense) -> dict[str, Any]:
    """What such a model is made of; it needs what the model inside needs, and privee."""
    from mlflow import pyfunc

    inside = Path(pyfunc.get_model_dependencies(model_uri)).read_text(encoding="utf-8").splitlines()
    return {
        "python_model": str(CODE),
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
