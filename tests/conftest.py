"""Fixed hypothesis settings, the order of the files, and fixtures that several folders share.

Whatever is heavy is imported by the fixture that needs it: the core's tests run with NumPy, SciPy and cryptography.
"""

import contextlib
import gc
import os
import signal

# Small models gain nothing from a second thread, and wait for each other when tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from tests._support.scores import softmax_rows

# While thousands of tests are found, much is made and nothing thrown away: looking for it takes a third of the time.
gc.disable()

settings.register_profile("privee", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("check", settings.get_profile("privee"), max_examples=20)  # of `make check` alone
settings.load_profile("privee")

# A runner started in the background ignores Ctrl-C, and what tests start would inherit that. A user's shell does not.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = (
    "federation",
    "paper/test_results.py",
    "cli/test_train.py",
    "baselines/he/test_top_k.py",
    "audit/test_grid.py",
    "cli/test_audit.py",
    "data/test_bombs.py",
    "attacks/test_attacks.py",
    "gateway/http",
    "gateway/test_secrecy.py",
    "gateway/test_demo.py",
    "gateway/test_faults.py",
)
"""What takes minutes starts first, so that no worker is left alone with it at the end."""

TOGETHER = ("gateway/channel", "gateway/http")
"""Folders whose files share what their fixtures start, and so go to one worker together."""

SECONDS = 900
"""What hangs must fail, with a trace, not end the whole run."""


def pytest_configure(config: pytest.Config) -> None:
    """Not in pyproject.toml: the core's tests run without that plugin too."""
    if config.pluginmanager.hasplugin("timeout") and config.option.timeout is None:
        config.option.timeout = SECONDS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((k for k, name in enumerate(LONGEST) if item.nodeid.startswith(f"tests/{name}")), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """What is there now stays to the end, and need not be looked through again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """Whole files to one worker each, and whole folders where those share."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next(
                (name for name in TOGETHER if nodeid.startswith(f"tests/{name}/")), super()._split_scope(nodeid)
            )

    return Together(config, log) if config.getoption("dist") == "loadfile" else None


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
