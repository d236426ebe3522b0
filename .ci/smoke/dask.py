"""Releases by partitions of Dask, the same as in one process."""

import dask.dataframe
import pandas as pd

from privee import new_key
from privee.adapters.batches import release_batches

table = pd.DataFrame({"id": ["a", "b", "c", "d"], "no": [0.9, 0.2, 0.6, 0.3], "yes": [0.1, 0.8, 0.4, 0.7]})
work = release_batches("ranking-only", columns=["no", "yes"], id_column="id", model_version="1", key=new_key())
parts = dask.dataframe.from_pandas(table, npartitions=2).map_partitions(work, meta=table)
scores = ["no", "yes"]
assert (parts.compute(scheduler="sync")[scores] == work(table)[scores]).all(axis=None)
