"""Runs tasks side by side, each on one thread: on this machine's cores, or over a Ray cluster. Both through joblib."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from joblib import Parallel, delayed, parallel_config

from privee.audit.results import Finding
from privee.audit.task import Task, run_task
from privee.errors import PriveeError, SettingError
from privee.extras import needed

Engine = Literal["local", "ray"]
Item = TypeVar("Item")
Result = TypeVar("Result")
Results = Generator[tuple[Item, Result], None, None]
ROUND = 4
"""Ray's joblib backend hands over whole lists, so tasks go there in rounds of this many per worker."""


def run_tasks(
    tasks: Sequence[Task], *, jobs: int | None = None, engine: Engine = "local", checkpoints: Path | None = None
) -> Results[Task, Finding]:
    """Findings as they come, in any order. Closed early, it ends its processes.

    Args:
        tasks: what to run.
        jobs: how many at once, as for `spread`.
        engine: where, as for `spread`.
        checkpoints: where long attacks keep their state; must be a shared folder on a cluster.
    """
    return spread(partial(run_task, checkpoints=checkpoints), tasks, jobs=jobs, engine=engine)


def spread(
    call: Callable[[Item], Result], items: Sequence[Item], *, jobs: int | None = None, engine: Engine = "local"
) -> Results[Item, Result]:
    """Every item with what the call makes of it, as they come, in any order. Closed early, it ends its processes.

    Args:
        call: what is done; it travels to other processes.
        items: to what.
        jobs: how many at once; all cores by default. One runs in this process.
        engine: "local" starts processes here; "ray" uses the cluster that RAY_ADDRESS names, or starts one here.
    """
    if jobs is not None and jobs < 1:
        raise SettingError(f"jobs must be 1 or more, got {jobs}")
    if engine == "ray":
        return _on_ray(call, items, jobs)
    if engine != "local":
        raise PriveeError(f"no engine is called {engine!r}; there are local and ray")
    return _here(call, items, max(1, min(jobs or len(os.sched_getaffinity(0)), len(items))))


def _here(call: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Results[Item, Result]:
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        results = work(delayed(_numbered)(k, call, item) for k, item in enumerate(items))
        try:
            while (one := _next_of(results)) is not None:
                yield items[one[0]], one[1]
        finally:
            _close(results)


def _next_of(results: Iterator[tuple[int, Result]]) -> tuple[int, Result] | None:
    """The next result, None after the last; a process that grew is replaced by a fresh one without a word."""
    with _without("A worker stopped while some jobs were given"):
        return next(results, None)


def _close(results: Generator[Any, None, None]) -> None:
    """End its processes; whoever stops early wants to, and is not told about it."""
    with _without(".* tasks which were still being processed"):
        results.close()


@contextlib.contextmanager
def _without(words: str) -> Iterator[None]:
    """Such warnings of joblib's say nothing to whoever runs attacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=words, category=UserWarning)
        yield


def _numbered(number: int, call: Callable[[Item], Result], item: Item) -> tuple[int, Result]:
    """The number travels back in place of the item."""
    return number, call(item)


def _on_ray(call: Callable[[Item], Result], items: Sequence[Item], jobs: int | None) -> Results[Item, Result]:
    ray = needed("ray", "Ray", extra="ray", what="the engine ray")
    register_ray = needed("ray.util.joblib", "Ray", extra="ray", what="the engine ray").register_ray
    started = not ray.is_initialized()
    if started:
        _start_ray()
    try:
        register_ray()
        workers = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        with parallel_config(backend="ray"), Parallel(n_jobs=workers) as work:
            for start in range(0, len(items), ROUND * workers):
                some = items[start : start + ROUND * workers]
                yield from zip(some, work(delayed(call)(item) for item in some), strict=True)
    finally:
        if started:
            ray.shutdown()


def _start_ray() -> None:
    """Join the cluster that RAY_ADDRESS names, or start one that listens on this machine alone."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **({} if "RAY_ADDRESS" in os.environ else here))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Small products gain nothing from more threads, and lose much where other work shares the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
