"""What a user names, looked at before anything heavy is loaded for its sake: files, and the folders of runs."""

from __future__ import annotations

from pathlib import Path

from privee.errors import PriveeError

RUN_FILE = "config.json"
"""What makes a folder a run."""
AUDIT_FILE = "audit.json"
"""What makes a folder an audit's."""


def existing_file(path: Path, whose: str = "") -> Path:
    """The path of a file that must be there; `whose` it is stands first in the error."""
    start = f"{whose}: {path}" if whose else str(path)
    if path.is_dir():
        raise PriveeError(f"{start} is a folder; give a file")
    if not path.is_file():
        raise PriveeError(f"{start}: no such file")
    return path


def existing_run(path: Path) -> Path:
    """The path of a folder that must hold a run, finished or not."""
    if not (path / RUN_FILE).is_file():
        why = f"it has no {RUN_FILE}" if path.is_dir() else "it is a file" if path.exists() else "no such folder"
        raise PriveeError(f"{path} is not a run: {why}")
    return path


def existing_audit(path: Path) -> Path:
    """The file of an audit that must be there: the path itself, or what its folder holds."""
    file = path / AUDIT_FILE if path.is_dir() else path
    if not file.is_file():
        raise PriveeError(f"{file} is missing")
    return file
