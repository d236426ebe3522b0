"""What decides how an attack or a defense comes out, in a few letters: what was changed is measured again.

That is the file which defines it and, of the packages below, all that this one imports, and so on: a fault that is
mended in what many share changes all of them. Comments and docstrings are no code, so they change nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

PACKAGES = ("privee.attacks.", "privee.defenses.", "privee.baselines.")


@cache
def source_mark(cls: type[Any]) -> str:
    """A digest of all that a class is made of; the same wherever the code is the same."""
    found = hashlib.sha256(cls.__qualname__.encode())
    for module in sorted(_reached(cls.__module__)):
        found.update(code_of(module).encode())
    return found.hexdigest()[:12]


def _reached(first: str) -> set[str]:
    """This module, and those of the packages that it leads to."""
    found, new = {first}, [first]
    while new:
        more = set(_imported(new.pop())) - found
        found |= more
        new += more
    return found


def _imported(module: str) -> Iterator[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and not node.level and f"{node.module}.".startswith(PACKAGES):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in (str(node.module), *names) if name.startswith(PACKAGES) and _is_file(name))


@cache
def code_of(module: str) -> str:
    """A module without comments and docstrings; nothing of one that has no file, such as a notebook's."""
    tree = _tree(module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _tree(module: str) -> ast.Module:
    file = _file(module)
    return ast.parse("" if file is None else file.read_text(encoding="utf-8"))


def _is_file(module: str) -> bool:
    """A module of its own, and no package: those only gather what others define."""
    file = _file(module)
    return file is not None and file.name != "__init__.py"


def _file(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # such as a name in a module, or __main__
        return None
    return None if spec is None or spec.origin is None or not spec.origin.endswith(".py") else Path(spec.origin)
