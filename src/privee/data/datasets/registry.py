"""Datasets by name."""

from __future__ import annotations

from privee.data.datasets.info import DatasetInfo
from privee.registry import Named

DATASETS: Named[DatasetInfo] = Named("dataset", ("privee.data.datasets",))


def register(info: DatasetInfo) -> DatasetInfo:
    """Add a dataset under its `name`; refuses a name that is taken."""
    return DATASETS.add(info.name, info)


def known_datasets() -> dict[str, DatasetInfo]:
    """All known datasets by name.

    Example:
        >>> known_datasets()["adult"].columns
        14
    """
    return DATASETS.known()


def dataset_info(name: str) -> DatasetInfo:
    """What is known of one dataset."""
    return DATASETS.find(name)
