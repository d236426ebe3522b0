"""Load, fetch and describe datasets by name.

Their files are looked for in the caller's folder, then the environment's, then the cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privee.data.datasets.base import Dataset, Labels
from privee.data.datasets.fetch import download_files, verified_bytes
from privee.data.datasets.info import DatasetInfo, Layout, dataset_info
from privee.errors import PriveeError
from privee.extras import needed
from privee.progress import Progress


class Fetched(NamedTuple):
    """Where a dataset's verified files are, and whether they were there before."""

    name: str
    status: str  # "embedded", "already here" or "fetched"
    source: str
    paths: tuple[Path, ...]


def load_dataset(
    name: str,
    *,
    data_dir: Path | None = None,
    fetch: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Dataset:
    """Read a dataset; every file is checked against its pinned checksum first.

    Args:
        name: One of `known_datasets()`.
        data_dir: Folder to look in before that of PRIVEE_DATA_DIR and the cache.
        fetch: Whether a dataset that is not found is downloaded into the cache.
        seed: Fixes the split of datasets that have no official one.
        progress: Called with bytes done and bytes in all during a download.

    Example:
        >>> load_dataset("digits").x_train.shape
        (899, 64)
    """
    info = dataset_info(name)
    found = locate(info, data_dir)
    if found is None:
        if not fetch:
            raise PriveeError(absence(info, data_dir))
        found = _download(info, data_dir, progress)
    parts = found.layout.read(_contents(found), seed)
    return Dataset(name=name, source=found.source, **parts._asdict())


def fetch_dataset(name: str, *, data_dir: Path | None = None, progress: Progress | None = None) -> Fetched:
    """Make sure that a dataset is here and unbroken; downloads it if it is not found."""
    info = dataset_info(name)
    found, status = locate(info, data_dir), "embedded" if info.embedded else "already here"
    if found is None:
        found, status = _download(info, data_dir, progress), "fetched"
    _contents(found)  # raises if one of them is broken
    return Fetched(name, status, found.source, found.paths)


def where_is(name: str, data_dir: Path | None = None) -> tuple[str, str]:
    """`embedded`, `found` or `not here`, and the place in words."""
    info = dataset_info(name)
    found = locate(info, data_dir)
    if found is None:
        return "not here", ""
    return "embedded" if info.embedded else "found", found.source


def describe(name: str, data_dir: Path | None = None) -> dict[str, Any]:
    """What is known of a dataset, and its shapes and class counts if it is here. Nothing is downloaded."""
    where, source = where_is(name, data_dir)
    facts = dataset_info(name).as_dict() | {"where": where, "source": source}
    return facts if where == "not here" else facts | _counted(load_dataset(name, data_dir=data_dir, fetch=False))


def _counted(data: Dataset) -> dict[str, Any]:
    def by_class(labels: Labels) -> dict[str, int]:
        return dict(zip(data.class_names, np.bincount(labels, minlength=data.n_classes).tolist(), strict=True))

    return {
        "x_train": data.x_train.shape,
        "x_test": data.x_test.shape,
        "image_shape": data.image_shape,
        "features": data.n_features,
        "train_counts": by_class(data.y_train),
        "test_counts": by_class(data.y_test),
    }


def _download(info: DatasetInfo, data_dir: Path | None, progress: Progress | None) -> FoundFiles:
    layout = info.layouts[0]
    if not layout.downloadable:
        raise PriveeError(absence(info, data_dir))
    folder = cache_folder().joinpath(*info.folders[:1])
    try:
        download_files([file for file in layout.files if not (folder / file.name).is_file()], folder, progress)
    except PriveeError as error:
        raise PriveeError(f"{error}; try again later, or {by_hand(info, data_dir)}") from None
    return FoundFiles(layout, tuple(folder / file.name for file in layout.files))


def _contents(found: FoundFiles) -> dict[str, bytes]:
    pairs = zip(found.layout.files, found.paths, strict=True)
    return {file.name: verified_bytes(path, file) for file, path in pairs}


FOLDER_VARIABLE = "PRIVEE_DATA_DIR"


class FoundFiles(NamedTuple):
    """A layout whose files are all there, and where, in the order of `layout.files`."""

    layout: Layout
    paths: tuple[Path, ...]

    @property
    def source(self) -> str:
        """Where the dataset is, in words."""
        folders = sorted({str(path.parent) for path in self.paths})
        return f"{self.layout.title} in {', '.join(folders)}" if folders else self.layout.title


def cache_folder() -> Path:
    """Where downloads are kept."""
    return Path(needed("pooch", "pooch").os_cache("privee"))


def search_folders(data_dir: Path | None = None) -> Iterator[Path]:
    """The folders to look in, first to last."""
    set_by_user = {"the data folder": data_dir, FOLDER_VARIABLE: os.environ.get(FOLDER_VARIABLE)}
    for what, given in set_by_user.items():
        if given:
            folder = Path(given).expanduser()
            if not folder.is_dir():
                raise PriveeError(f"{what} is set to {given}, which is not a folder; make it, or name another")
            yield folder
    yield cache_folder()


def locate(info: DatasetInfo, data_dir: Path | None = None) -> FoundFiles | None:
    """The first folder and layout that are complete; checksums are looked at when the files are read."""
    if info.embedded:
        return FoundFiles(info.layouts[0], ())
    for folder in search_folders(data_dir):
        for layout in info.layouts:
            paths = [_path(folder, info.folders, file.name) for file in layout.files]
            present = tuple(path for path in paths if path is not None)
            if len(present) == len(paths):
                return FoundFiles(layout, present)
    return None


def absence(info: DatasetInfo, data_dir: Path | None = None) -> str:
    """What to tell a user whose dataset was not found."""
    return f"{info.name} is not here: run `privee data fetch {info.name}`, or {by_hand(info, data_dir)}"


def by_hand(info: DatasetInfo, data_dir: Path | None = None) -> str:
    """What a user can do without a download, and why a form of the dataset that is there may not count."""
    names = ", ".join(file.name for file in info.layouts[0].files)
    return f"set {FOLDER_VARIABLE} to a folder with {names}{_pickle_remark(info, data_dir)}"


def _pickle_remark(info: DatasetInfo, data_dir: Path | None) -> str:
    for folder in search_folders(data_dir):
        for name in info.pickled:
            path = _path(folder, info.folders, name)
            if path is not None:
                return f" ({path} is not read: python archives are pickles, which can run code)"
    return ""


def _path(folder: Path, below: tuple[str, ...], name: str) -> Path | None:
    places = (folder, *(folder / one for one in below))
    return next((place / name for place in places if (place / name).exists()), None)
