"""Top-k under homomorphic encryption (CKKS), without bootstrapping. TenSEAL is loaded when something is encrypted."""

from __future__ import annotations

import importlib
from typing import Any

from privee.baselines.he.top_k_defense import EncryptedTopK as EncryptedTopK  # light, and registered by its import

_HOME = {
    "EncryptedTopK": "top_k_defense",
    "Evaluator": "roles",
    "EvaluationKeys": "roles",
    "KeyHolder": "roles",
    "Plan": "parameters",
    "Sender": "roles",
    "Session": "encrypted_session",
    "TopKResult": "encrypted_session",
    "encrypted_top_k": "encrypted_session",
    "plan": "planning",
    "read_result": "encrypted_session",
    "simulate": "clear",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: importing privee must not pay for any of this."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
