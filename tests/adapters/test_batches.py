"""One function for batches of any engine: the same bits as one process, however a table is cut and however often."""

import pickle
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from privee.adapters.batches import release_batches
from privee.defenses import new_key
from privee.errors import PriveeError, SettingError
from tests._support.score_tables import CLASSES, DEFENSE, GIVEN, same_bits, score_table


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "draws.key"
    file.write_bytes(new_key())
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("defense", [DEFENSE, "privee-u:rho=0.1", "label-only"])
def test_however_a_table_is_cut(key_file, kind, defense):
    table = score_table(101, kind)
    release = release_batches(defense, key=key_file, **GIVEN)
    whole = release(table)
    assert whole.schema == table.schema
    assert whole.select(["note", "person"]) == table.select(["note", "person"])
    scores, released = (np.column_stack([part[name] for name in CLASSES]) for part in (table, whole))
    assert (scores.argmax(axis=1) == released.argmax(axis=1)).all()
    assert not np.allclose(scores, released)
    for size in (1, 7, 64):
        batches = table.to_batches(max_chunksize=size)
        parts = list(release(iter(batches)))
        assert [type(part) for part in parts] == [pa.RecordBatch] * len(batches)
        assert pa.Table.from_batches(parts) == whole
    assert pa.Table.from_batches([release(table.to_batches()[0])]) == whole  # a partition that is tried again


def copied(function):
    """As an engine sends it."""
    return pickle.loads(pickle.dumps(function))  # noqa: S301


def test_a_copy_on_another_worker_gives_the_same(key_file):
    release = release_batches(DEFENSE, key=key_file, **GIVEN)
    table = score_table(20)
    expected = release(table)
    again = copied(release)
    assert again(table) == expected
    secret = new_key()
    by_bytes = release_batches(DEFENSE, key=secret, **GIVEN)
    assert not same_bits(by_bytes(table), expected)
    assert copied(by_bytes)(table) == by_bytes(table)
    assert key_file.read_bytes() not in pickle.dumps(release)
    assert repr(secret) not in repr(by_bytes)


def test_ids_are_told_apart_and_numbers_are_their_text():
    release = release_batches("privee-u:rho=0.1", key=new_key(), **GIVEN)
    rows = {name: [share] * 3 for name, share in zip(CLASSES, (0.5, 0.3, 0.2), strict=True)}
    text, whole = (release(pa.table({"person": ids} | rows)) for ids in (["7", "8", "7"], [7, 8, 7]))
    assert text.select(CLASSES) == whole.select(CLASSES)
    first, second, third = text.select(CLASSES).to_pylist()
    assert first == third != second


def test_frames_of_pandas(key_file):
    table = score_table(30)
    release = release_batches(DEFENSE, key=key_file, **GIVEN)
    frame = table.to_pandas().set_index(np.arange(30) * 2)
    found = release(frame)
    assert (found.index == frame.index).all()
    assert (found.dtypes == frame.dtypes).all()
    assert same_bits(pa.Table.from_pandas(found, preserve_index=False), release(table))


def test_a_frame_as_predict_proba_leaves_it(key_file):
    """Its columns are numbered, and of a part without rows pandas does not tell that ids are text."""
    import pandas as pd

    table = score_table(6)
    frame = pd.DataFrame(np.column_stack([table[name] for name in CLASSES])).assign(person=table["person"].to_pylist())
    numbered = release_batches(DEFENSE, key=key_file, **GIVEN | {"columns": [0, 1, 2]})
    expected = release_batches(DEFENSE, key=key_file, **GIVEN)(table)
    found = numbered(frame)
    assert np.array_equal(found[[0, 1, 2]], np.column_stack([expected[name] for name in CLASSES]))
    nobody = frame.astype({"person": object})[:0]
    assert numbered(nobody).equals(nobody)
    with pytest.raises(PriveeError, match="the column 'person' holds values of different kinds"):
        numbered(frame.assign(person=["p", 1, "p", 2, "p", 3]))
    with pytest.raises(PriveeError, match="no column 2"):
        numbered(nobody[[0, 1, "person"]])


def test_what_is_wrong_is_told(key_file):
    release = release_batches(DEFENSE, key=key_file, **GIVEN)
    table = score_table(4)
    bad = {
        "no column 'person'": table.drop_columns(["person"]),
        "no column 'b'": table.drop_columns(["b"]),
        "'a' must hold floating-point": table.set_column(2, "a", pa.array([None, 0.1, 0.2, 0.3])),
        "'person' must hold ids": table.set_column(1, "person", pa.array([0.5, 1.0, 2.0, 3.0])),
        "of one type": table.set_column(2, "a", table["a"].cast(pa.float32())),
        "row 1 ": table.set_column(2, "a", pa.array([*table["a"].to_pylist()[:1], 5.0, 0.1, 0.1])),
    }
    for words, given in bad.items():
        with pytest.raises(PriveeError, match=words):
            release(given)
    for more in ({"columns": ["a"]}, {"columns": ["a", "a"]}, {"columns": ["a", "person"]}, {"model_version": ""}):
        with pytest.raises(SettingError):
            release_batches(DEFENSE, key=key_file, **(GIVEN | more))
    with pytest.raises(PriveeError):
        release_batches(DEFENSE, key=b"short", **GIVEN)
    with pytest.raises(SettingError):
        release([1, 2])
    assert release(table.slice(0, 0)).schema == table.schema


def test_dask(key_file):
    dd = pytest.importorskip("dask.dataframe", reason="pip install 'privee[dask]'")
    table = score_table(60)
    release = release_batches(DEFENSE, key=key_file, **GIVEN)
    release(table)  # one that was used already goes there, too
    frame = dd.from_pandas(table.to_pandas(), npartitions=7)
    found = frame.map_partitions(release, meta=frame._meta).compute(scheduler="threads")
    assert same_bits(pa.Table.from_pandas(found, preserve_index=False), release(table))


@pytest.mark.slow  # a cluster of processes
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # Ray's, of its own settings
def test_ray_data(key_file):
    """On workers, one of which fails the first time: its partition is released again, with the same bits."""
    pytest.importorskip("ray")
    import ray
    import ray.data

    table, release = score_table(200), release_batches(DEFENSE, key=key_file, **GIVEN)
    tried = key_file.parent / "tried"

    def once(batch):
        found = release(batch)
        if "p7" in batch["person"].to_pylist() and not tried.exists():
            tried.touch()
            raise OSError("a worker is lost")
        return found

    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, _node_ip_address="127.0.0.1")
    try:
        data = ray.data.from_arrow(table).repartition(5)
        context = ray.data.DataContext.get_current()
        context.max_errored_blocks, context.actor_task_retry_on_errors = 0, True
        again = {"max_retries": 2, "retry_exceptions": [OSError]}
        found = data.map_batches(once, batch_format="pyarrow", **again).to_arrow_refs()
        parts = pa.concat_tables(ray.get(found))
    finally:
        ray.shutdown()
    assert tried.exists()
    assert same_bits(parts, release(table))


SPARK = """
import os
import sys

import pyarrow as pa
from pyspark.sql import SparkSession

from privee.adapters.batches import release_batches
from tests._support.score_tables import DEFENSE, GIVEN, same_bits, score_table

table, release = score_table(200), release_batches(DEFENSE, key=sys.argv[1], **GIVEN)
settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.task.maxFailures": "2"}
os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local[2,2]").appName("test")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
frame = spark.createDataFrame(table.to_pandas()).repartition(5)


def once(batches):
    from pyspark import TaskContext

    batches = list(release(iter(list(batches))))
    if TaskContext.get().partitionId() == 1 and TaskContext.get().attemptNumber() == 0:
        raise OSError("a worker is lost")
    yield from batches


found = frame.mapInArrow(once, frame.schema).toPandas()
spark.stop()
same = same_bits(pa.Table.from_pandas(found, preserve_index=False), release(table))
print("same" if same else "different", len(found))
"""


@pytest.mark.slow  # a virtual machine of Java
def test_spark(key_file, tmp_path):
    """The same on Spark, where the first attempt at a partition fails. In a process of its own, as Spark's stays."""
    pytest.importorskip("pyspark", reason="pip install 'privee[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install default-jre-headless")
    (tmp_path / "job.py").write_text(SPARK)
    command = [sys.executable, tmp_path / "job.py", key_file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["same", "200"]
