"""Optional packages: imported when they are needed, and one line that says how to get what is not there."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from privee.errors import MissingExtraError

PACKAGES = {
    "sklearn": "scikit-learn",
    "grpc": "grpcio",
    "PIL": "pillow",
    "art": "adversarial-robustness-toolbox",
}
"""What is installed under another name than it is imported."""


def missing(what: str, package: str | None, extra: str) -> MissingExtraError:
    """The error for a package that is not installed.

    Example:
        >>> print(missing("the client", "httpx", "client"))
        the client needs httpx: pip install 'privee[client]'
    """
    return MissingExtraError(f"{what} needs {package}: pip install 'privee[{extra}]'", name=package)


def needed(module: str, package: str, *, extra: str = "data", what: str = "this") -> Any:
    """Import a module of an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise missing(what, package, extra) from None


def require(what: str, *modules: str, extra: str) -> None:
    """Refuse to go on where one of these modules cannot be found; none of them is imported for that.

    The first line of a package calls this, before an import that fails further down names a package alone.
    """
    for module in modules:
        if find_spec(module) is None:
            raise missing(what, PACKAGES.get(module, module), extra) from None
