"""Blocks of a score file released on a Ray cluster: read and written here, in their order, and few at a time."""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from privee.data.score_files import Block
from privee.defenses import Defense
from privee.errors import ScoreError
from privee.extras import needed
from privee.scores.forms import Floats

Releases = Callable[[Iterator[Block]], Iterator[tuple[Block, Floats]]]
PER_WORKER = 2
"""Blocks under way for each of the cluster's processors: more would wait in memory."""


@contextlib.contextmanager
def releases_on_ray(defense: Defense, *, check_sum: bool = True) -> Iterator[Releases]:
    """What `protect_file` takes as `releases`, on the cluster in RAY_ADDRESS or one that is started here.

    Each block's draws are made by the worker that releases it, and are secure. Of a task that Ray starts again one
    result is written, and no other is seen by anybody.
    """
    ray = needed("ray", "Ray", extra="ray", what="--ray")
    started = not ray.is_initialized()
    if started:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        here: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **({} if "RAY_ADDRESS" in os.environ else here))
    try:
        most = PER_WORKER * max(1, int(ray.cluster_resources().get("CPU", 1)))
        task = ray.remote(num_cpus=1)(_release)
        shared = ray.put(defense)

        def releases(blocks: Iterator[Block]) -> Iterator[tuple[Block, Floats]]:
            waiting: deque[tuple[Block, Any]] = deque()
            for block in blocks:
                waiting.append((block, task.remote(shared, block.scores, check_sum)))
                if len(waiting) >= most:
                    yield _next(ray, waiting)
            while waiting:
                yield _next(ray, waiting)

        yield releases
    finally:
        if started:
            ray.shutdown()


def _release(defense: Defense, scores: Floats, check_sum: bool) -> Floats | ScoreError:
    try:
        return defense.release(scores, check_sum=check_sum)
    except ScoreError as error:  # as it is: Ray would wrap it
        return error


def _next(ray: Any, waiting: deque[tuple[Block, Any]]) -> tuple[Block, Floats]:
    block, promised = waiting.popleft()
    found = ray.get(promised)
    if isinstance(found, ScoreError):
        raise found
    return block, found
