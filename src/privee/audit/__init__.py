"""Attacks x defenses on a joint model: what every setting gives away, in numbers, words and pictures."""

from privee.extras import require

require(
    "privee.audit", "torch", "safetensors", "sklearn", "pyarrow", "joblib", "jinja2", "matplotlib", "PIL", extra="audit"
)

from privee.audit.api import audit
from privee.audit.grid import Grid, run_grid
from privee.audit.joined_tables import from_lightgbm, from_onnx, from_sklearn, from_xgboost
from privee.audit.loading import load_audit
from privee.audit.results import Audit, Card, Finding
from privee.audit.saving import save_audit
from privee.audit.sources import subject_from_arrays, subject_from_dataset, subject_from_entry, subject_from_run
from privee.audit.subject import Subject

__all__ = [
    "Audit",
    "Card",
    "Finding",
    "Grid",
    "Subject",
    "audit",
    "from_lightgbm",
    "from_onnx",
    "from_sklearn",
    "from_xgboost",
    "load_audit",
    "run_grid",
    "save_audit",
    "subject_from_arrays",
    "subject_from_dataset",
    "subject_from_entry",
    "subject_from_run",
]
