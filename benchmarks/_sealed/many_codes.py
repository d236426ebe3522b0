"""A column of codes for very many entities, in a process of its own: time and memory to write, read and ask it.

python benchmarks/_sealed/many_codes.py write|read FILE COUNT
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from privee.vfl.seal.code_column import CodeColumn, ColumnAbout, hashed, write_code_column

PAGE = os.sysconf("SC_PAGE_SIZE")


def held() -> float:
    """Megabytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def write(path: Path, count: int) -> dict[str, float]:
    """Seconds to write a column, and of these to hash the ids."""
    ids = [f"customer-{k:09d}" for k in range(count)]
    codes = np.random.default_rng(0).integers(0, 8, count, dtype=np.uint8)
    start = time.perf_counter()
    hashed(bytes(32), ids)
    hashing = time.perf_counter() - start
    start = time.perf_counter()
    write_code_column(path, ColumnAbout("shop", "5e" * 32, "a" * 64, 8, None), ids, codes)
    return {"seconds": time.perf_counter() - start, "hashing": hashing, "file_mb": path.stat().st_size / 1e6}


def read(path: Path, count: int) -> dict[str, float]:
    """Seconds and memory to read one, and to find the codes of 1024 entities in it."""
    before, start = held(), time.perf_counter()
    column = CodeColumn.read(path)
    seconds, after = time.perf_counter() - start, held()
    rng, times = np.random.default_rng(1), []
    for _ in range(200):
        asked = [f"customer-{k:09d}" for k in rng.integers(0, count, 1024)]
        start = time.perf_counter()
        _, unknown = column.find(asked)
        times.append(time.perf_counter() - start)
        if unknown.any():
            raise RuntimeError("a code is missing")
    found = {"seconds": seconds, "memory_mb": after - before}
    return found | {"bytes_an_entity": 1e6 * (after - before) / count, "find_1024_ms": 1e3 * float(np.median(times))}


if __name__ == "__main__":
    _, what, file, size = sys.argv
    print(json.dumps((write if what == "write" else read)(Path(file), int(size))))
