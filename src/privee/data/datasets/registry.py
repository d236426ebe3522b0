"""Datasets by name."""

from __future__ import annotations

from privee.data.datasets.info import DatasetInfo
from privee.errors import PriveeError

_known: dict[str, DatasetInfo] = {}


def register(info: DatasetInfo) -> DatasetInfo:
    """Add a dataset under its `name`; refuses a name that is taken."""
    if _known.setdefault(info.name, info) is not info:
        raise PriveeError(f"a dataset called {info.name!r} exists already")
    return info


def known_datasets() -> dict[str, DatasetInfo]:
    """All known datasets by name.

    Example:
        >>> known_datasets()["adult"].columns
        14
    """
    return dict(_known)


def dataset_info(name: str) -> DatasetInfo:
    """What is known of one dataset."""
    if name not in _known:
        raise PriveeError(f"no dataset is called {name!r}; there are {', '.join(_known)}")
    return _known[name]
