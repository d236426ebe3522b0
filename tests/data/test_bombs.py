"""Files that are small and stand for much: refused with one line, in little memory, by every reader."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from privee.atomic import read_json
from privee.data.datasets.fetch import verified_bytes
from privee.data.datasets.info import DataFile
from privee.data.files.parquet import read_bounded, unpacked
from privee.data.files.size_limits import VARIABLE, most_bytes
from privee.data.score_files import open_reader
from privee.errors import PriveeError
from privee.vfl.runs import RunFolder
from privee.vfl.weights import load_tensors

MEMORY = 1 << 31  # of address space, of which Arrow, pandas (where it is installed) and threads reserve a good part
LIMIT, GROWTH = 100 << 20, 200 << 20
SCRIPT = """
import re, sys
from pathlib import Path
import numpy as np
from privee.data.alignment.file_alignment import align_files
from privee.data.score_files.protect import protect_file
from privee.data.score_files.open_files import load_scores
from privee.data.tables import AlignedIds, read_party_table
from privee.defenses import defense
from privee.errors import PriveeError

path, folder = Path(sys.argv[2]), Path(sys.argv[2]).parent
work = {
    "table": lambda: read_party_table(path, id_column="id"),
    "ids": lambda: AlignedIds.read(path, ["id"]),
    "align": lambda: align_files({"a": path, "b": path}, active="a", id_columns=dict(a="id", b="id"), out=folder / "o"),
    "protect": lambda: protect_file(path, folder / f"out{sys.argv[3]}", defense("none"), check_sum=False),
    "load": lambda: load_scores(path),
}[sys.argv[1]]
def peak():  # of this process: getrusage would count the one that started it
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])


before = peak()
try:
    work()
    told = "read"
except PriveeError as error:
    told = str(error)
print(told)
print(peak() - before)
"""


def refused(how: str, path: Path, limit: int = LIMIT) -> str:
    """What a reader says in a process of its own with little memory, after it took next to none."""
    done = subprocess.run(  # noqa: S603 (our own command line)
        [sys.executable, "-c", SCRIPT, how, str(path), ".npy" if path.suffix == ".npy" else ".csv"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={name: value for name, value in os.environ.items() if name != VARIABLE}
        | ({VARIABLE: str(limit)} if limit else {}),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 0, done.stderr[-500:]
    told, grown = done.stdout.splitlines()
    assert int(grown) < GROWTH, told
    assert told != "read"
    return told


def coded(value: object, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))


def write(path: Path, columns: dict, **options) -> None:
    arrow_parquet.write_table(pa.table(columns), path, compression="zstd", store_schema=False, **options)
    assert path.stat().st_size < 1 << 21, path.stat().st_size


@pytest.fixture(scope="module", name="folder")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bombs")
    rows = 2_500_000
    many = {"id": coded("x", rows)} | dict.fromkeys([f"c{k}" for k in range(10)], coded(0.1, rows))
    write(folder / "rows.parquet", many, row_group_size=rows)
    write(folder / "cells.parquet", {"id": coded("x" * (1 << 22), 2000), "c": coded(1.0, 2000)})
    page = {"id": ["a"], "c": [1.0], "d_id": ["\0" * (300 << 20)]}
    write(folder / "page.parquet", page, use_dictionary=False, write_statistics=False)
    nested = pa.ListArray.from_arrays(pa.array([0, 20_000_000], pa.int32()), pa.array(np.zeros(20_000_000, np.int8)))
    write(folder / "nested.parquet", {"id": ["a"], "c_id": nested}, row_group_size=10)
    return folder


@pytest.mark.parametrize("how", ["table", "align", "protect", "load"])
@pytest.mark.parametrize("name", ["rows", "cells", "page"])
def test_parquet_bombs_are_refused_by_every_reader(folder, name, how):
    assert "GB once it is read" in refused(how, folder / f"{name}.parquet")


def test_ids_that_are_much_are_refused_by_half_of_the_memory_there_is(folder):
    assert "8.4 GB once it is read, and 1.1 are the most" in refused("ids", folder / "cells.parquet", limit=0)


def test_nested_values_count(folder):
    assert "GB once it is read" in refused("table", folder / "nested.parquet")


@pytest.fixture(scope="module", name="wide")
def wide_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, names = tmp_path_factory.mktemp("wide"), ["id", *(f"c{k}" for k in range(250_000))]
    (folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    schema = pa.schema([(name, pa.int8()) for name in names])
    with arrow_parquet.ParquetWriter(folder / "wide.parquet", schema, store_schema=False):
        pass
    return folder


@pytest.mark.parametrize("how", ["table csv", "table parquet", "align parquet", "protect csv", "protect parquet"])
def test_hundreds_of_thousands_of_columns(wide, how):
    """Only `align` copies lines of CSV, however many cells they have."""
    reader, suffix = how.split()
    assert "100,000 are the most" in refused(reader, wide / f"wide.{suffix}")


def test_sizes_come_from_the_pages_not_from_the_footer(folder, tmp_path):
    """They are what the writer noted, less the headers."""
    for name in ("cells", "page"):
        path = folder / f"{name}.parquet"
        metadata = arrow_parquet.read_metadata(path)
        noted = sum(metadata.row_group(0).column(k).total_uncompressed_size for k in range(metadata.num_columns))
        assert 0.99 * noted < unpacked(path, metadata).together < noted
    spoiled = bytearray((folder / "cells.parquet").read_bytes())
    spoiled[4:24] = b"\xff" * 20
    (tmp_path / "x.parquet").write_bytes(spoiled)
    with pytest.raises(ValueError, match="no readable header"):
        read_bounded(tmp_path / "x.parquet")


def test_long_text_is_read_in_small_parts_and_stays_what_it_was(tmp_path):
    ids = pa.array([f"{k}-" + "x" * (1 << 16) for k in range(3)] * 200, pa.large_string())
    table = pa.table({"id": ids, "a": [0.25] * 600, "b": [0.75] * 600})
    arrow_parquet.write_table(table, tmp_path / "s.parquet")
    blocks = [block.kept.column("id") for block in open_reader(tmp_path / "s.parquet").blocks()]
    assert len(blocks) > 2
    assert pa.chunked_array(blocks).to_pylist() == ids.to_pylist()
    assert {str(block.type) for block in blocks} == {"large_string"}


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 10)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000, 1000000000000000000)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}",
        "{'descr': '<U900000000', 'fortran_order': False, 'shape': (1, 1)}",
        "{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000, 10)}",
    ],
)
def test_npy_headers_that_promise_too_much(tmp_path, header):
    text = header.encode() + b"\n"
    (tmp_path / "s.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * 64)
    for how in ("protect", "load"):
        assert refused(how, tmp_path / "s.npy").endswith("this is not a readable .npy file of numbers")


def test_rows_of_next_to_nothing_in_csv(tmp_path):
    """Four bytes a row, hundreds in memory."""
    (tmp_path / "s.csv").write_bytes(b"id,a\n" + b"1,1\n" * 1_000_000)
    for how in ("table", "align"):
        assert "GB once it is read" in refused(how, tmp_path / "s.csv")
    (tmp_path / "line.csv").write_bytes(b"id,a\n" + b"1" * (1 << 25))
    assert "a line is longer than 16,777,216 bytes" in refused("align", tmp_path / "line.csv")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "1" * 10_000, '{"format": "\\ud800'])
def test_json_of_a_run(tmp_path, text):
    for name in ("config.json", "preprocessing.json"):
        (tmp_path / name).write_text(text)
        with pytest.raises(PriveeError, match="is damaged") as caught:
            read_json(tmp_path / name)
        assert "\n" not in str(caught.value)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 40)  # sparse
    with pytest.raises(PriveeError, match="no such file has more than 128 MB"):
        read_json(tmp_path / "large.json")


@pytest.mark.parametrize("party", ["..", "../../elsewhere", "a/b", "/etc", ""])
def test_a_party_does_not_leave_the_runs_folder(tmp_path, party):
    with pytest.raises(PriveeError, match="no name for a party"):
        RunFolder(tmp_path).part(party)


@pytest.mark.parametrize("length", [2**63, 2**40, 99 << 20])
def test_weights_with_a_header_without_end(tmp_path, length):
    (tmp_path / "model.safetensors").write_bytes(length.to_bytes(8, "little") + b"{" * 1000)
    with pytest.raises(PriveeError, match="not a readable safetensors file"):
        load_tensors(tmp_path / "model.safetensors", "bank")


def test_weights_that_promise_more_than_there_is(tmp_path):
    head = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + b"\0" * 64)
    with pytest.raises(PriveeError, match="not a readable safetensors file"):
        load_tensors(tmp_path / "model.safetensors", "bank")


def test_a_dataset_file_without_end_takes_no_memory(tmp_path):
    with (tmp_path / "x.gz").open("wb") as file:
        file.truncate(1 << 42)  # sparse
    with pytest.raises(PriveeError, match="is broken or was changed: larger than 1,000 bytes"):
        verified_bytes(tmp_path / "x.gz", DataFile("x.gz", "0" * 64, 1000))


def test_the_limit_can_be_set(monkeypatch):
    assert most_bytes() > 1 << 28
    monkeypatch.setenv("PRIVEE_MAX_BYTES", "1000")
    assert most_bytes() == 1000
    for wrong in ("", "0", "8G", "-1", "٣"):
        monkeypatch.setenv("PRIVEE_MAX_BYTES", wrong)
        with pytest.raises(PriveeError, match="must be a whole number of bytes"):
            most_bytes()
