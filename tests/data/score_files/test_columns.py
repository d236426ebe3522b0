"""Files that appear whole or not at all, memory that does not grow with them, and columns that never slip through."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import privee
from privee.data.score_files import choose_columns


@pytest.mark.parametrize(
    ("names", "keep", "scores", "expected"),
    [
        (["a", "b"], (), (), (["a", "b"], [])),
        (["ID", "x_id", "a", "b"], (), (), (["a", "b"], ["ID", "x_id"])),
        (["name", "p_1", "p_2"], ("name",), (), (["p_1", "p_2"], ["name"])),
        (["name", "p_1", "p_2"], ("n*",), ("p_*",), (["p_1", "p_2"], ["name"])),
        (["grid_id", "b"], (), ("grid_id", "b"), (["grid_id", "b"], [])),
    ],
)
def test_columns(names, keep, scores, expected):
    assert tuple(choose_columns(names, keep, scores)) == expected


def test_a_numeric_column_is_never_passed_through_unasked():
    assert "raw_score" in choose_columns(["id", "raw_score", "a"]).scores
    with pytest.raises(privee.PriveeError, match="raw_score would be lost"):
        choose_columns(["id", "raw_score", "a", "b"], scores=["a", "b"])


def _write_parquet(path, rows: int) -> None:
    schema = pa.schema([(f"p{k}", pa.float64()) for k in range(10)])
    block = pa.table(
        {f"p{k}": np.full(100_000, 0.1) + 1e-9 * np.random.default_rng(k).random(100_000) for k in range(10)}
    )
    with arrow_parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for _ in range(rows // 100_000):
            writer.write_table(block)


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Sixteen times the rows (8 MB and 128 MB) may cost at most 48 MB more; read at once it would be 240 MB more."""
    peaks = []
    for rows in (100_000, 1_600_000):
        _write_parquet(tmp_path / "s.parquet", rows)
        command = [
            sys.executable,
            "-m",
            "privee",
            "protect",
            "s.parquet",
            "-d",
            "privee-u:rho=0.1",
            "-o",
            "o.parquet",
            "-f",
        ]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < 48
