"""Packages that only some datasets need, imported when they do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from privee.errors import PriveeError


def needed(module: str, package: str) -> Any:
    """Import a module of an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise PriveeError(f"this needs {package}: pip install 'privee[data]'") from None
