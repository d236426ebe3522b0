"""Fixed hypothesis settings, the order of the files, and fixtures that several folders share.

Whatever is heavy is imported by the fixture that needs it: the core's tests run with NumPy, SciPy and cryptography.
"""

import contextlib
import os
import signal

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
    "federation_nvflare",
    "runs",
    "audit_cli",
    "paper",
    "federation_jobs",
    "audit",
    "gateway_http",
    "gateway_faults",
)
"""Files that take minutes start first, so that no worker is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {f"test_{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


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
