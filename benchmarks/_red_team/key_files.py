"""Another user who waits beside the folder in which keys are made, and opens whatever is open for a moment."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from benchmarks._red_team.base import Outcome, Scene
from privee.durable.private_files import key_file
from privee.pki.certificates import init_certificates


def attack(scene: Scene) -> Sequence[Outcome]:
    """Make keys with the widest umask while a thread looks at the mode of every file there is."""
    folder = scene.folder / "keys"
    folder.mkdir()
    seen, over = set(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(folder, seen, over))
    before, count = os.umask(0), scene.times(300, least=40)
    watcher.start()
    try:
        for k in range(count):
            with key_file(folder / f"{k}.key"):
                pass
        init_certificates(folder / "certs", ["bank"], ["localhost"])
    finally:
        os.umask(before)
        over.set()
        watcher.join()
    left = [file.name for file in folder.rglob("*.key") if _open(file)]
    words = f"{len(seen)} of {count} key files were open to others for a moment, {len(left)} stayed so"
    return [Outcome("key files open for a moment", not seen and not left, words, {"made": count, "seen": len(seen)})]


def _watch(folder: Path, seen: set[str], over: threading.Event) -> None:
    while not over.is_set():
        with os.scandir(folder) as found:
            seen.update(one.name for one in found if one.is_file() and _open(Path(one.path)))


def _open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except FileNotFoundError:
        return False
