"""Where a dataset's files are: the caller's folder, then the environment's, then the cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from privee.data.datasets.info import DatasetInfo, Layout
from privee.data.datasets.packages import needed
from privee.errors import PriveeError

FOLDER_VARIABLE = "PRIVEE_DATA_DIR"


class Found(NamedTuple):
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


def locate(info: DatasetInfo, data_dir: Path | None = None) -> Found | None:
    """The first folder and layout that are complete; checksums are looked at when the files are read."""
    if info.embedded:
        return Found(info.layouts[0], ())
    for folder in search_folders(data_dir):
        for layout in info.layouts:
            paths = [_path(folder, info.folders, file.name) for file in layout.files]
            present = tuple(path for path in paths if path is not None)
            if len(present) == len(paths):
                return Found(layout, present)
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
