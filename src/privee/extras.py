"""Optional packages: imported when they are needed, and one line that says how to get what is not there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from privee.errors import PriveeError


def missing(what: str, package: str | None, extra: str) -> PriveeError:
    """The error for a package that is not installed.

    Example:
        >>> print(missing("the client", "httpx", "client"))
        the client needs httpx: pip install 'privee[client]'
    """
    return PriveeError(f"{what} needs {package}: pip install 'privee[{extra}]'")


def needed(module: str, package: str, *, extra: str = "data", what: str = "this") -> Any:
    """Import a module of an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise missing(what, package, extra) from None
