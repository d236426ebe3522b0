"""Files of public datasets in every layout, and files that are not what they claim to be."""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privee import PriveeError
from privee.data.datasets import DataFile, Dataset, dataset_info, load_dataset
from privee.data.datasets.cifar import HUNDRED, TEN
from privee.data.datasets.info import DATASETS
from privee.data.datasets.load import cache_folder

_FOLDER = os.environ.get("PRIVEE_DATA_DIR") or Path(__file__).parents[4] / "shared" / "data"
SHARED = Path(_FOLDER).resolve()

needs_data = pytest.mark.skipif(
    not SHARED.is_dir(), reason="set PRIVEE_DATA_DIR to a folder with the datasets (see docs/data.md) to run this"
)


def shared(name: str, **settings) -> Dataset:
    return load_dataset(name, data_dir=SHARED, fetch=False, **settings)


# --- layouts ----------------------------------------------------------------------------------------------------------


def _unpack(folder: Path, target: Path, *names: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        (target / name).write_bytes(gzip.decompress((SHARED / folder / f"{name}.gz").read_bytes()))


@needs_data
@pytest.mark.parametrize(
    ("name", "folder", "below", "names"),
    [
        ("drive", "sensorless", "", ["Sensorless_drive_diagnosis.txt"]),
        ("adult", "adult", "adult", ["adult.data", "adult.test"]),
    ],
)
def test_official_text_files_read_the_same_as_packed_ones(tmp_path, name, folder, below, names):
    _unpack(Path(folder), tmp_path / below, *names)
    official, packed = load_dataset(name, data_dir=tmp_path, fetch=False), shared(name)
    assert official.source == f"{dataset_info(name).layouts[0].title} in {tmp_path / below}".rstrip("/")
    assert official.groups == packed.groups
    for array in ("x_train", "y_train", "x_test", "y_test"):
        assert (getattr(official, array) == getattr(packed, array)).all()


def _archive(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, contents in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            tar.addfile(member, io.BytesIO(contents))


def _pin(monkeypatch, name: str, path: Path) -> DataFile:
    """Pin the file at `path` in place of the dataset's first official one."""
    info = dataset_info(name)
    layout = info.layouts[0]
    pinned = replace(
        layout.files[0], sha256=hashlib.sha256(path.read_bytes()).hexdigest(), size=path.stat().st_size, md5=""
    )
    changed = replace(info, layouts=(replace(layout, files=(pinned,)), *info.layouts[1:]))
    monkeypatch.setitem(DATASETS._known, name, changed)
    return pinned


@needs_data
@pytest.mark.parametrize(("name", "archive", "names"), [("cifar10", TEN, 10), ("cifar100", HUNDRED, 100)])
def test_official_binary_archives_of_cifar(tmp_path, monkeypatch, name, archive, names):
    """An archive of the official form, made here of some real pictures: the same pictures come back, in order."""
    data = shared(name)

    def records(part: slice, x: np.ndarray, y: np.ndarray) -> bytes:
        pixels = np.rint(x[part] * 255).astype(np.uint8).reshape(-1, 3072)
        coarse = np.full((len(pixels), archive.label_bytes - 1), 77, dtype=np.uint8)  # must not be taken for the label
        return np.hstack([coarse, y[part, None].astype(np.uint8), pixels]).tobytes()

    chunk = 100 // len(archive.train)
    members = {
        member: records(slice(k * chunk, (k + 1) * chunk), data.x_train, data.y_train)
        for k, member in enumerate(archive.train)
    }
    members[archive.test] = records(slice(50), data.x_test, data.y_test)
    members[archive.class_names] = "".join(f"{label}\n" for label in data.class_names).encode() + b"\n"
    members["readme.html"] = b"not of interest"
    # Another order than the one in which parts are joined: their names decide.
    _archive(tmp_path / archive.name, dict(sorted(members.items(), reverse=True)))
    shutil.copy(SHARED / name / f"{name}.npz", tmp_path)

    with pytest.raises(PriveeError, match=r"binary\.tar\.gz is broken or was changed"):
        load_dataset(name, data_dir=tmp_path, fetch=False)  # the pinned sum is still that of the real archive
    _pin(monkeypatch, name, tmp_path / archive.name)
    official = load_dataset(name, data_dir=tmp_path, fetch=False)
    assert official.source == f"official binary archive in {tmp_path}"
    assert official.class_names == data.class_names
    assert len(official.class_names) == names
    assert (official.x_train == data.x_train[:100]).all()
    assert (official.y_train == data.y_train[:100]).all()
    assert (official.x_test == data.x_test[:50]).all()
    assert (official.y_test == data.y_test[:50]).all()


def test_an_archive_without_its_parts_is_refused(tmp_path, monkeypatch):
    _archive(tmp_path / TEN.name, {TEN.test: b""})
    _pin(monkeypatch, "cifar10", tmp_path / TEN.name)
    with pytest.raises(PriveeError, match=r"the archive has no cifar-10-batches-bin/batches\.meta\.txt"):
        load_dataset("cifar10", data_dir=tmp_path, fetch=False)


@pytest.mark.parametrize("form", ["cifar-10-python.tar.gz", "cifar10/cifar-10-batches-py/data_batch_1"])
def test_python_archives_are_named_and_not_read(tmp_path, form):
    (tmp_path / form).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / form).write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    with pytest.raises(PriveeError) as caught:
        load_dataset("cifar10", data_dir=tmp_path, fetch=False)
    message = str(caught.value)
    assert "cifar10 is not here: run `privee data fetch cifar10`" in message
    assert "a folder with cifar-10-binary.tar.gz" in message
    assert f"{tmp_path / form}".startswith(message.partition("(")[2].partition(" is not read: python archives")[0])
    assert "pickles" in message


# --- files that are not what they claim to be -------------------------------------------------------------------------


def _tampered(source: Path, target: Path) -> str:
    """A copy with one bit changed; its checksum."""
    contents = bytearray(source.read_bytes())
    contents[len(contents) // 2] ^= 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(contents)
    return hashlib.sha256(contents).hexdigest()


@needs_data
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("adult", "adult/adult.test.gz"),
        ("drive", "sensorless/Sensorless_drive_diagnosis.txt.gz"),
        ("mnist", "mnist/t10k-labels-idx1-ubyte.gz"),
        ("cifar10", "cifar10/cifar10.npz"),
        ("cifar100", "cifar100/cifar100.npz"),
    ],
)
def test_one_changed_bit_is_refused_with_both_checksums(tmp_path, name, path):
    for file in (SHARED / path).parent.iterdir():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).with_name(file.name).symlink_to(file)
    (tmp_path / path).unlink()
    actual = _tampered(SHARED / path, tmp_path / path)
    expected = next(file.sha256 for file in dataset_info(name).files if file.name == Path(path).name)
    with pytest.raises(PriveeError) as caught:
        load_dataset(name, data_dir=tmp_path)  # nor is it replaced by a download
    for part in (str(tmp_path / path), f"sha256 is {actual}", f"expected {expected}"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@needs_data
def test_a_cut_file_is_refused(tmp_path):
    for name in ("adult.data.gz", "adult.test.gz"):
        contents = (SHARED / "adult" / name).read_bytes()
        (tmp_path / name).write_bytes(contents[: len(contents) // 2])
    with pytest.raises(PriveeError, match=r"adult\.data\.gz is broken or was changed"):
        load_dataset("adult", data_dir=tmp_path)


# --- where files are looked for ---------------------------------------------------------------------------------------


@needs_data
def test_search_order(tmp_path, monkeypatch):
    """Three places, each with a file of its own; the first one that has the dataset is read."""
    given, environment, cache = tmp_path / "given", tmp_path / "environment", cache_folder()
    assert tmp_path in cache.parents
    for folder in (given, environment, cache):
        (folder / "adult").mkdir(parents=True)
        for name in ("adult.data.gz", "adult.test.gz"):
            (folder / "adult" / name).symlink_to(SHARED / "adult" / name)
    monkeypatch.setenv("PRIVEE_DATA_DIR", str(environment))
    for folder in (given, environment, cache):
        data = load_dataset("adult", data_dir=given, fetch=False)
        assert data.source.endswith(f" in {folder / 'adult'}")
        (folder / "adult" / "adult.test.gz").unlink()  # half a dataset is none
    with pytest.raises(PriveeError, match="adult is not here"):
        load_dataset("adult", data_dir=given, fetch=False)


def test_folders_that_do_not_exist_are_named(tmp_path, monkeypatch):
    with pytest.raises(PriveeError, match=r"the data folder is set to .*nowhere, which is not a folder"):
        load_dataset("adult", data_dir=tmp_path / "nowhere")
    monkeypatch.setenv("PRIVEE_DATA_DIR", str(tmp_path / "gone"))
    with pytest.raises(PriveeError, match=r"PRIVEE_DATA_DIR is set to .*gone, which is not a folder"):
        load_dataset("adult")
    assert load_dataset("breast-cancer").n_classes == 2  # needs no folder
