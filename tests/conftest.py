"""Shared helpers: fixed hypothesis settings and score arrays of the kinds models produce."""

import os
import signal

# Small models gain nothing from a second thread, and wait for each other when tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("privee", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("check", settings.get_profile("privee"), max_examples=20)  # of `make check` alone
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


def softmax_rows(rows: int, classes: int, spread: float = 3.0, seed: int = 0) -> np.ndarray:
    logits = np.random.default_rng(seed).normal(size=(rows, classes)) * spread
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture
def scores() -> np.ndarray:
    return softmax_rows(50, 10)
