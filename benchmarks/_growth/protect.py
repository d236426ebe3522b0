"""`privee protect` on files of more and more rows, as a process of its own: rows a second and peak memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet

from benchmarks._shared.cells import Cell

ROWS = (100_000, 1_000_000, 10_000_000, 100_000_000)
CLASSES, CHUNK, ROW_GROUP = 3, 1_000_000, 1 << 17
DEFENSE = "privee-u:rho=0.1"


class ProtectCell(Cell):
    """The spec is the ending of the file, the seed is the number of its rows."""

    @property
    def key(self) -> str:
        return f"{self.dataset}, {self.spec}, {self.seed:,} rows"

    def measured(self, folder: Path) -> dict[str, Any]:
        source, target = folder / f"scores.{self.spec}", folder / f"releases.{self.spec}"
        try:
            WRITERS[self.spec](source, self.seed)
            ended = protected(source, target)
            sizes = {"megabytes_in": source.stat().st_size / 1e6, "megabytes_out": target.stat().st_size / 1e6}
        finally:
            source.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
        if ended.told["rows"] != self.seed or ended.told["rows_with_ranking_kept"] != self.seed:
            raise SystemExit(f"{self.key}: not every ranking was kept")
        start = idle_seconds(folder)
        each = {"rows_per_cpu_second": self.seed / (ended.cpu - start)} if ended.cpu > 1.5 * start else {}
        about = {"rows": self.seed, "wall": ended.wall, "cpu": ended.cpu, "start_cpu": start, "peak_mb": ended.peak_mb}
        return about | each | sizes | {"classes": CLASSES, "defense": DEFENSE, "load": os.getloadavg()[0]}


class Ended(NamedTuple):
    """A finished process: seconds, seconds of the processor, peak memory and what it said."""

    wall: float
    cpu: float
    peak_mb: float
    told: dict[str, Any]


def protected(source: Path, target: Path) -> Ended:
    return ended("protect", str(source), "--out", str(target), "--defense", DEFENSE, "--json", "--force")


def idle_seconds(folder: Path) -> float:
    """What Python and its imports take: the same command on ten rows."""
    source, target = folder / "few.csv", folder / "few_out.csv"
    write_csv(source, 10)
    return protected(source, target).cpu


def ended(*words: str) -> Ended:
    started, peak = time.monotonic(), 0.0
    command = [sys.executable, "-m", "privee", *words]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)  # noqa: S603 (ours)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            peak = max(peak, peak_megabytes(process.pid))
            time.sleep(0.02)
        _, status, used = os.wait4(process.pid, 0)  # its own time, not that of all children
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"privee {' '.join(words)} ended with {process.returncode}")
        said.seek(0)
        return Ended(time.monotonic() - started, used.ru_utime + used.ru_stime, peak, json.loads(said.read()))


def peak_megabytes(process: int) -> float:
    """Of a process that runs. What `wait4` tells counts the parent's memory too, from before the program was loaded."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), flags=re.MULTILINE)
    return int(found[1]) / 1000 if found else 0.0


def tables(rows: int) -> Iterator[pa.Table]:
    """Ids and float32 scores that sum to one, a million rows at a time."""
    draws = np.random.default_rng(1)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        raw = draws.random((count, CLASSES), dtype=np.float32) + np.float32(0.01)
        scores = raw / raw.sum(axis=1, keepdims=True)
        columns = {f"class_{k}": scores[:, k] for k in range(CLASSES)}
        yield pa.table({"id": np.arange(start, start + count)} | columns)


def write_parquet(path: Path, rows: int) -> None:
    blocks = tables(rows)
    first = next(blocks)
    with arrow_parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first, row_group_size=ROW_GROUP)
        for block in blocks:
            writer.write_table(block, row_group_size=ROW_GROUP)


def write_csv(path: Path, rows: int) -> None:
    blocks = tables(rows)
    first = next(blocks)
    with arrow_csv.CSVWriter(path, first.schema) as writer:
        writer.write_table(first)
        for block in blocks:
            writer.write_table(block)


WRITERS: dict[str, Callable[[Path, int], None]] = {"parquet": write_parquet, "csv": write_csv}


def cells() -> Iterator[ProtectCell]:
    """The small ones first, in both formats."""
    for rows in ROWS:
        yield from (ProtectCell("protect", ending, rows) for ending in WRITERS)
