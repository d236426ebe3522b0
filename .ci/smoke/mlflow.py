"""What logs protected models and audits is there."""

import mlflow

from privee.adapters.mlflow import log_audit, log_protected

assert callable(log_audit) and callable(log_protected) and mlflow.__version__
