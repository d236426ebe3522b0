"""Fixed hypothesis settings, the order of the files, and fixtures that several folders share.

Whatever is heavy is imported by the fixture that needs it: the core's tests run with NumPy, SciPy and cryptography.
"""

import contextlib
import os
import signal
from pathlib import Path

# Small models gain nothing from a second thread, and wait for each other when tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from tests._support.scores import softmax_rows

settings.register_profile("privee", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("privee")

# A runner started in the background ignores Ctrl-C, and what tests start would inherit that. A user's shell does not.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = (
    "federation/test_nvflare.py",
    "vfl/test_runs.py",
    "cli/test_audit.py",
    "paper/test_results.py",
    "federation/test_jobs.py",
    "audit/test_grid.py",
    "gateway/http",
    "gateway/test_faults.py",
)
"""What takes minutes starts first, so that no worker is left alone with it at the end."""

TOGETHER = ("gateway/http",)
"""Folders whose files share what a fixture of theirs starts, and so belong to one worker. Else a file is one's."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(here).as_posix() if here in item.path.parents else ""
        return next((number for known, number in places.items() if name.startswith(known)), len(places))

    items.sort(key=place)
    for item in items:
        name = item.path.as_posix()
        folder = next((folder for folder in TOGETHER if f"/tests/{folder}/" in name), name)
        item.add_marker(pytest.mark.xdist_group(folder))


@pytest.fixture
def scores() -> np.ndarray:
    return softmax_rows(50, 10)


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server, one for all tests of a worker."""
    from benchmarks._shared.postgres_server import NoPostgresError, running_postgres

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(running_postgres())
        except NoPostgresError as error:
            pytest.skip(str(error))
        yield server


@pytest.fixture
def postgres_url(postgres) -> str:
    """An empty database on it."""
    return postgres.empty_database()
