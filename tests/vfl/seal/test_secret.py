"""The secret that decides draws: made once, whole, for its owner alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from privee.errors import PriveeError
from privee.vfl.seal import drawing


def test_made_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "party"
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda _: drawing.kept_secret(folder), range(64)))
    assert len(found) == 1
    assert len(found.pop()) == drawing.KEY_BYTES
    assert [path.name for path in folder.iterdir()] == [drawing.KEY]
    assert (folder / drawing.KEY).stat().st_mode & 0o777 == 0o600


def test_a_crash_while_it_is_made_leaves_none(tmp_path: Path) -> None:
    """Killed before it was written to the disk: the next start makes one, instead of finding an empty one."""
    child = os.fork()
    if child == 0:
        drawing.new_secret = lambda: os._exit(9)  # type: ignore[assignment]
        drawing.kept_secret(tmp_path)
    assert os.waitpid(child, 0)[1] >> 8 == 9
    assert not (tmp_path / drawing.KEY).exists()
    assert len(drawing.kept_secret(tmp_path)) == drawing.KEY_BYTES


def test_damaged(tmp_path: Path) -> None:
    (tmp_path / drawing.KEY).write_bytes(b"short")
    with pytest.raises(PriveeError, match=r"is damaged: it holds 5 bytes, not 32"):
        drawing.kept_secret(tmp_path)
