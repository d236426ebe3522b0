"""What the tests of datasets share."""

import pytest

from tests._support.dataset_server import use_own_folders


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Neither the environment nor a cache filled earlier decides a test."""
    use_own_folders(tmp_path, monkeypatch)
