"""What logs protected models and audits is there."""

import mlflow

from privee.adapters.mlflow import log_audit, log_protected

assert callable(log_audit)
assert callable(log_protected)
assert mlflow.__version__
