"""`privee` as a user runs it: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

CLEAN = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}


def start(*arguments: object, cwd: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "privee", *map(str, arguments)]
    environment = CLEAN | {"COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.Popen(command, cwd=cwd, env=environment, stdout=-1, stderr=-1, text=True)  # noqa: S603


def run(*arguments: object, cwd: Path) -> tuple[int, str, str]:
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def good(*arguments: object, cwd: Path) -> str:
    code, out, err = run(*arguments, cwd=cwd)
    assert code == 0, err
    return out
