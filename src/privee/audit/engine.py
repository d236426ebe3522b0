"""Runs tasks side by side: on this machine's cores, or over a Ray cluster. Both through joblib."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from joblib import Parallel, delayed, parallel_config

from privee.audit.results import Finding
from privee.audit.task import Task, run_task
from privee.errors import PriveeError

Engine = Literal["local", "ray"]
Found = tuple[Task, Finding]
ROUND = 4
"""Ray's joblib backend hands over whole lists, so tasks go there in rounds of this many per worker."""


def run_tasks(
    tasks: Sequence[Task], *, jobs: int | None = None, engine: Engine = "local", checkpoints: Path | None = None
) -> Iterator[Found]:
    """Findings as they come, in any order.

    Args:
        tasks: what to run.
        jobs: how many at once; all cores by default. One runs in this process.
        engine: "local" starts processes here; "ray" uses the cluster that RAY_ADDRESS names, or starts one here.
        checkpoints: where long attacks keep their state; must be a shared folder on a cluster.
    """
    if jobs is not None and jobs < 1:
        raise PriveeError(f"jobs must be 1 or more, got {jobs}")
    if engine == "ray":
        return _on_ray(tasks, jobs, checkpoints)
    if engine != "local":
        raise PriveeError(f"no engine is called {engine!r}; there are local and ray")
    return _here(tasks, max(1, min(jobs or len(os.sched_getaffinity(0)), len(tasks))), checkpoints)


def _here(tasks: Sequence[Task], jobs: int, checkpoints: Path | None) -> Iterator[Found]:
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        for number, finding in work(delayed(_numbered)(k, task, checkpoints) for k, task in enumerate(tasks)):
            yield tasks[number], finding


def _numbered(number: int, task: Task, checkpoints: Path | None) -> tuple[int, Finding]:
    """The number travels back in place of the task."""
    return number, run_task(task, checkpoints)


def _on_ray(tasks: Sequence[Task], jobs: int | None, checkpoints: Path | None) -> Iterator[Found]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ModuleNotFoundError:
        raise PriveeError("the engine ray needs Ray: pip install 'privee[ray]'") from None
    started = not ray.is_initialized()
    if started:
        _start_ray()
    try:
        register_ray()
        workers = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        with parallel_config(backend="ray"), Parallel(n_jobs=workers) as work:
            for start in range(0, len(tasks), ROUND * workers):
                some = tasks[start : start + ROUND * workers]
                yield from zip(some, work(delayed(run_task)(task, checkpoints) for task in some), strict=True)
    finally:
        if started:
            ray.shutdown()


def _start_ray() -> None:
    """Join the cluster that RAY_ADDRESS names, or start one that listens on this machine alone."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **({} if "RAY_ADDRESS" in os.environ else here))
