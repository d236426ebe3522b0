"""The examples of docs/adapters_services.md do what the page says; those of Spark and Ray are in test_batches.py."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from privee.defenses import new_key
from tests._support.served_app import served_app

PAGE = Path(__file__).parents[2] / "docs" / "adapters_services.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
LONGEST = 10


def example(word):
    """The one block with this word."""
    (found,) = [block for block in BLOCKS if word in block]
    return found


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name in ("ledger.key", "draws.key"):
        (tmp_path / name).write_bytes(new_key())
        (tmp_path / name).chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_example_is_long():
    assert len(BLOCKS) == 6
    assert max(sum(bool(line.strip()) for line in block.splitlines()) for block in BLOCKS) <= LONGEST


def test_fastapi(here):
    pytest.importorskip("fastapi")
    from privee.gateway.ledger.ledger import Ledger

    Ledger.create("sqlite:///ledger.db", (here / "ledger.key").read_bytes())
    names = {"scores_of": lambda ids: [[0.7, 0.2, 0.1]] * len(ids)}
    exec(example("Depends(protect)") + example("protect.replaces"), names)  # noqa: S102
    with served_app(names["app"]) as client:
        released = client.post("/risk", json=["7", "8"]).json()
        old = client.post("/old", json=["7"]).json()
        assert np.argmax(released, axis=1).tolist() == [0, 0]
        assert (old["ids"], old["note"], np.argmax(old["scores"])) == (["7"], "stays as it is", 0)
        assert names["protect"].ledger.spent("7").lifetime_releases == 2


def test_batches_and_dask(here):
    scores = np.random.default_rng(2).dirichlet([1, 1, 1], 20)
    names = {"table": pa.table({"person": range(20)} | dict(zip(("low", "mid", "high"), scores.T, strict=True)))}
    given = names["table"]
    exec(example("table = release(table)"), names)  # noqa: S102
    assert names["table"] != given
    dd = pytest.importorskip("dask.dataframe")
    names["dask_frame"] = dd.from_pandas(given.to_pandas(), npartitions=3)
    exec(example("map_partitions"), names)  # noqa: S102
    found = pa.Table.from_pandas(names["released"].compute(scheduler="threads"), preserve_index=False)
    assert found.sort_by("person").to_pydict() == names["table"].to_pydict()
