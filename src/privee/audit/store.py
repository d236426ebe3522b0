"""Findings as they come, one JSON line each, so that an interrupted grid goes on where it stopped."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from privee.audit.results import Finding
from privee.errors import PriveeError


class Store:
    """A file of findings by task key; a torn last line, left by a crash, is dropped. Without a path, memory alone."""

    def __init__(self, path: Path | None) -> None:
        self._found: dict[str, Finding] = {}
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._read(path)
        self._file = None if path is None else path.open("a", encoding="utf-8")

    def get(self, key: str) -> Finding | None:
        """What was found for this key."""
        return self._found.get(key)

    def add(self, key: str, finding: Finding) -> None:
        """Keep a finding; it is on disk when this returns."""
        self._found[key] = finding
        if self._file is not None:
            self._file.write(json.dumps({"key": key} | dataclasses.asdict(finding), allow_nan=False) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def _read(self, path: Path) -> None:
        """Read what is there; whatever follows the last whole line is cut off."""
        if not path.exists():
            return
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(whole.decode("utf-8", errors="replace").splitlines(), start=1):
            try:
                record = json.loads(line)
                key = record.pop("key")
                self._found[key] = _finding(record)
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
                raise PriveeError(f"{path}, line {number}, is damaged; remove the file to start again") from None
        if len(whole) < len(text):
            with path.open("rb+") as file:
                file.truncate(len(whole))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()


def _finding(record: dict[str, Any]) -> Finding:
    shown = tuple(tuple(row) for row in record.pop("shown"))
    return Finding(**{**record, "column_mse": tuple(record["column_mse"])}, shown=shown)
