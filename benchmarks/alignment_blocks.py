"""Curve operations of an alignment of 100,000 ids, in small blocks, in turns with another checkout's.

    python benchmarks/alignment_blocks.py SRC --rounds 8      prints and stores benchmarks/results/alignment_blocks.json

For machines on which whole alignments of two checkouts would take too long to compare. Each round does a block of every
operation as the other checkout's `psi.py` does it (versions before 0.3) and as this one does, in CPU seconds of one
process; an alignment's cost is the sum over its passes. Sorting and matching are done once at full size.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from private_set_intersection import python as library

from privee.data.alignment import psi as now
from privee.data.alignment.meeting import sorted_by_bytes

SIZE, BLOCK = 100_000, 1563  # a block is one of the 64 pieces of the earlier version
IDS = [f"{i:012d}" for i in range(BLOCK)]


def cpu(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def loaded(src: str) -> Any:
    spec = importlib.util.spec_from_file_location("psi_before", Path(src) / "privee/data/alignment/psi.py")
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def setup_of(size: int) -> Any:
    """As many points as there are ids. What they are does not matter to whoever looks for others among them."""
    held = library.ServerSetup()
    held.raw.encrypted_elements.extend(sorted(b"\x02" + random.randbytes(32) for _ in range(size)))
    return held


def glue() -> float:
    """What this version does beside curve operations, at full size, for both sides."""
    points = [random.randbytes(33) for _ in range(SIZE)]

    def once() -> None:
        order, by_bytes = sorted_by_bytes(points)
        again = now.points_of_setup(now.setup_of(by_bytes))
        places = {point: place for place, point in enumerate(again)}
        [row for row, point in zip(order, by_bytes, strict=True) if point in places]

    return 2 * cpu(once)


def one_round(before: Any, half: Any, full: Any) -> dict[str, float]:
    def tick(ids: int) -> None:
        pass

    client, server, key = before.PsiClient(IDS, tick), before.PsiServer(IDS, tick), now.new_key()
    request = client.request()
    points = now.points_of_request(request)
    response = library.Response(encrypted_elements=points)
    passes = SIZE / BLOCK
    costs = {
        "before": passes
        * (
            2 * cpu(client.request)
            + 1.5 * cpu(server.setup)
            + 2 * cpu(lambda: server.response(request))
            + cpu(lambda: client._worker().GetIntersection(full, response))
            + cpu(lambda: client._worker().GetIntersection(half, response))
        ),
        "now": passes
        * 2
        * (cpu(lambda: now.blinded(IDS, key, tick)) + cpu(lambda: now.blinded_more(points, key, tick))),
    }
    return costs


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("src")
    options.add_argument("--rounds", type=int, default=8)
    given = options.parse_args()
    earlier, common, everything = loaded(given.src), setup_of(SIZE // 2), setup_of(SIZE)
    earlier.SMALLEST_PIECE = BLOCK
    rounds = []
    for _ in range(given.rounds):
        costs = one_round(earlier, common, everything)
        rounds.append(costs | {"now_with_glue": costs["now"] + glue(), "load": os.getloadavg()[0]})
        print(json.dumps(rounds[-1]), flush=True)
    ratios = sorted(row["now_with_glue"] / row["before"] for row in rounds)
    told = {
        "ids": SIZE,
        "block": BLOCK,
        "cpu_ratio": {"median": statistics.median(ratios), "all": ratios},
        "rounds": rounds,
    }
    (Path(__file__).parent / "results" / "alignment_blocks.json").write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told["cpu_ratio"]))
