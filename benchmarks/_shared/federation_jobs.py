"""Jobs on digits that train in seconds, and a port for a project's server."""

import contextlib
import random
import socket

from privee.federation.settings import JobSettings, dataset_source
from privee.vfl.training import TrainingSettings


def digits_job(kind: str, parties: int, run: str = "run", **training) -> JobSettings:
    names, source = dataset_source("digits", parties=parties)
    settings = TrainingSettings(**{"epochs": 2, "learning_rate": 0.01} | training)
    return JobSettings(run=run, parties=names, model=kind, training=settings, source=source, answer_seconds=5.0)


def free_port() -> int:
    """One that the system gives to nobody by itself: between now and the server's start another test could get it."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")
