"""What the tests of datasets share."""

import pytest


@pytest.fixture(autouse=True)
def no_other_folder(tmp_path, monkeypatch):
    """Neither the environment nor a cache filled earlier decides a test."""
    monkeypatch.delenv("PRIVEE_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
