"""What is known of a dataset before it is read: its files, their checksums, where they come from; datasets by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from privee.data.datasets.base import Parts
from privee.registry import LAST, Named

Reader = Callable[[Mapping[str, bytes], int], Parts]
"""Turns the contents of a layout's files, by name, and a seed for the split into arrays."""


@dataclasses.dataclass(frozen=True)
class DataFile:
    """One file: `sha256` decides whether it is read, `md5` is the sum usually printed for it, for people."""

    name: str
    sha256: str
    size: int
    md5: str = ""
    url: str = ""


@dataclasses.dataclass(frozen=True)
class Layout:
    """One way in which a dataset is stored: all of `files`, and the function that reads them."""

    title: str
    files: tuple[DataFile, ...]
    read: Reader = dataclasses.field(repr=False)

    @property
    def downloadable(self) -> bool:
        """Whether every file has a public home."""
        return bool(self.files) and all(file.url for file in self.files)


@dataclasses.dataclass(frozen=True)
class DatasetInfo:
    """A dataset by name. `layouts` are tried in order; the first is the complete one, and the one downloaded.

    Files are looked for in a folder itself and in those of `folders` below it. `pickled` names forms of the dataset
    that run code when they are read, and so never are. `picture` is (channels, height, width) if a row is one.
    The lower its `place`, the earlier it stands in listings.
    """

    name: str
    title: str
    rows: int
    columns: int
    classes: int
    licence: str
    home: str
    layouts: tuple[Layout, ...]
    folders: tuple[str, ...] = ()
    pickled: tuple[str, ...] = ()
    picture: tuple[int, int, int] | None = None
    place: int = LAST

    @property
    def embedded(self) -> bool:
        """Whether it comes with an installed package, without any file of its own."""
        return not self.files

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of all layouts."""
        return tuple(file for layout in self.layouts for file in layout.files)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        facts = ("name", "title", "rows", "columns", "classes", "licence", "home", "embedded")
        layouts = [
            {"title": layout.title, "files": [dataclasses.asdict(f) for f in layout.files]} for layout in self.layouts
        ]
        return {fact: getattr(self, fact) for fact in facts} | {"layouts": layouts}


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
