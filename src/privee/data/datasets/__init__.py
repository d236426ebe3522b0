"""Public datasets by name: found in a folder or fetched, verified, and made into arrays in [0, 1].

A new dataset is one new file here that registers a `DatasetInfo`.
"""

from privee.data.datasets.base import Dataset
from privee.data.datasets.info import DataFile, DatasetInfo, Layout, dataset_info, known_datasets, register
from privee.data.datasets.load import Fetched, describe, fetch_dataset, load_dataset, where_is

__all__ = [
    "DataFile",
    "Dataset",
    "DatasetInfo",
    "Fetched",
    "Layout",
    "dataset_info",
    "describe",
    "fetch_dataset",
    "known_datasets",
    "load_dataset",
    "register",
    "where_is",
]
