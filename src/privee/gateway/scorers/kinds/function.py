"""A function of your own: `module:function` takes an Arrow table of rows and gives scores, (n, classes)."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.gateway.scorers.base import VERSION_DIGITS, Scorer, register
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings

FORM = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@register
class Function(Scorer):
    """A Python function. Its version is that of its module's file: what else it reads, nobody but it knows."""

    name: ClassVar[str] = "function"
    words: ClassVar[str] = "a Python function"

    def __init__(self, work: Callable[[Any], Any], version: str, classes: tuple[str, ...] | None) -> None:
        self._work, self.version, self.classes = work, version, classes

    @classmethod
    def takes(cls, given: str) -> bool:
        """Two dotted names with a colon between them."""
        return FORM.fullmatch(given) is not None

    @classmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Import it, from the current folder too."""
        module, _, name = settings.given.partition(":")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            found = importlib.import_module(module)
        except Exception as error:
            raise SettingError(f"--scorer {settings.given}: cannot import {module}: {error}") from None
        work: Any = found
        for part in name.split("."):
            work = getattr(work, part, None)
        if not callable(work):
            raise SettingError(f"--scorer {settings.given}: {module} has no function {name!r}")
        file = getattr(found, "__file__", None)
        source = Path(file).read_bytes() if file else b""
        version = hashlib.sha256(settings.given.encode() + b"\0" + source).hexdigest()[:VERSION_DIGITS]
        named = getattr(work, "classes", None)
        return cls(work, version, None if named is None else tuple(map(str, named)))

    def outputs(self, rows: Rows) -> NDArray[Any]:
        """Call it."""
        return np.asarray(self._work(rows.table()))
