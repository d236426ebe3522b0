"""Datasets: real files against published facts, every layout, and files that are not what they claim to be."""

import csv
import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from privee import PriveeError
from privee.data.datasets import Dataset, dataset_info, known_datasets, load_dataset, register
from privee.data.datasets.base import one_hot, scale_to_unit, stratified_split

_FOLDER = os.environ.get("PRIVEE_DATA_DIR") or Path(__file__).parents[4] / "shared" / "data"
SHARED = Path(_FOLDER).resolve()

needs_data = pytest.mark.skipif(
    not SHARED.is_dir(), reason="set PRIVEE_DATA_DIR to a folder with the datasets (see docs/data.md) to run this"
)


def shared(name: str, **settings) -> Dataset:
    return load_dataset(name, data_dir=SHARED, fetch=False, **settings)


def counts(labels: np.ndarray) -> list[int]:
    return np.bincount(labels).tolist()


def as_bytes(x: np.ndarray) -> np.ndarray:
    """Pictures as they were stored: (n, H, W, C) bytes."""
    return np.rint(x * 255).astype(np.uint8).transpose(0, 2, 3, 1)


def assert_well_formed(data: Dataset) -> None:
    info = dataset_info(data.name)
    assert data.n_classes == info.classes == len(set(data.class_names))
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
        assert 0 <= x.min() < x.max() <= 1
        assert set(y.tolist()) == set(range(info.classes))
    assert len(data.column_names) == (0 if data.image_shape else info.columns)
    assert len(set(data.column_names)) == len(data.column_names)
    if data.image_shape:
        assert data.n_features == info.columns
    else:
        assert sorted(position for group in data.groups for position in group) == list(range(data.x_train.shape[1]))


# --- the real files ---------------------------------------------------------------------------------------------------


@needs_data
def test_mnist():
    data = shared("mnist")
    assert_well_formed(data)
    assert (data.x_train.shape, data.x_test.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
    assert data.image_shape == (1, 28, 28)
    assert counts(data.y_train) == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert counts(data.y_test) == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.x_train.mean(dtype=np.float64) == pytest.approx(0.1307, abs=5e-5)
    assert data.x_train.std(dtype=np.float64) == pytest.approx(0.3081, abs=5e-5)


CIFAR_PIXELS = {
    "cifar10": (
        "74493c77aca7915c5811a5d387566a9b045abbdd45f6636b12a6590eb540193c",
        "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
    ),
    "cifar100": (
        "025ceb8b6766589e41f40edd3d808e7f2135c37e36f53c1eccaacd03276a9aee",
        "4cb8e5d9309da489bf6b19cc10cd96c3ae6f8daf225380b605aaee4c0d6aee19",
    ),
}


@needs_data
@pytest.mark.parametrize("name", CIFAR_PIXELS)
def test_cifar_pixels_and_labels(name):
    data = shared(name)
    assert_well_formed(data)
    assert (data.x_train.shape, data.x_test.shape) == ((20_000, 3, 32, 32), (10_000, 3, 32, 32))
    decoded = tuple(hashlib.sha256(as_bytes(x).tobytes()).hexdigest() for x in (data.x_train, data.x_test))
    assert decoded == CIFAR_PIXELS[name]
    assert set(counts(data.y_test)) == {10_000 // data.n_classes}
    if name == "cifar10":
        assert counts(data.y_train) == [1989, 1981, 2042, 2011, 2009, 1925, 2038, 2027, 2012, 1966]
        assert data.class_names[0] == "airplane"
    else:
        assert (min(counts(data.y_train)), max(counts(data.y_train))) == (167, 234)
        assert data.class_names[:2] == ("apple", "aquarium_fish")
    assert "first 20,000 of 50,000 training images" in data.source


@needs_data
def test_drive_is_split_by_class_and_scaled_by_its_training_rows():
    data = shared("drive", seed=5)
    assert_well_formed(data)
    assert (counts(data.y_train), counts(data.y_test)) == ([4255] * 11, [1064] * 11)
    assert set(data.y_train[:200].tolist()) == set(range(11))  # not sorted by class any more
    with gzip.open(SHARED / "sensorless" / "Sensorless_drive_diagnosis.txt.gz", "rt") as text:
        raw = np.loadtxt(text)
    train, test = stratified_split(raw[:, 48].astype(np.int64) - 1, 0.2, 5)
    assert sorted([*train, *test]) == list(range(58_509))
    low, high = raw[train, :48].min(axis=0), raw[train, :48].max(axis=0)
    for x, y, rows in ((data.x_train, data.y_train, train), (data.x_test, data.y_test, test)):
        assert np.allclose(x, ((raw[rows, :48] - low) / (high - low)).clip(0, 1), atol=1e-6)
        assert (y == raw[rows, 48] - 1).all()
    assert (data.x_train.min(axis=0) == 0).all()
    assert (data.x_train.max(axis=0) == 1).all()


def _adult_rows(name: str, most: int) -> list[list[str]]:
    with gzip.open(SHARED / "adult" / name, "rt") as file:
        rows = list(csv.reader(file, skipinitialspace=True))
    return [row for row in rows if len(row) == 15][:: max(1, len(rows) // most)]


@needs_data
def test_adult_classes_and_groups():
    data = shared("adult")
    assert_well_formed(data)
    assert data.class_names == ("<=50K", ">50K")
    assert (counts(data.y_train), counts(data.y_test)) == ([24_720, 7_841], [12_435, 3_846])
    assert data.column_names[2] == "fnlwgt"
    assert [len(group) for group in data.groups] == [1, 9, 1, 16, 1, 7, 15, 6, 5, 2, 1, 1, 1, 42]
    for group in data.groups:
        if len(group) > 1:
            assert (data.x_train[:, list(group)].sum(axis=1) == 1).all()


@needs_data
@pytest.mark.parametrize("part", ["data", "test"])
def test_adult_cells(part):
    """Every cell of some 300 rows, against the text as another parser reads it."""
    data = shared("adult")
    everything = list(zip(*_adult_rows("adult.data.gz", 10**9), strict=True))  # training rows, by column
    x, y = (data.x_train, data.y_train) if part == "data" else (data.x_test, data.y_test)
    rows = _adult_rows(f"adult.{part}.gz", 10**9)
    assert len(rows) == len(x)
    for k, (column, group) in enumerate(zip(everything, data.groups, strict=False)):
        categories = sorted(set(column))
        ages = np.array(column, dtype=float) if len(group) == 1 else None
        for i in range(0, len(rows), 100):
            if ages is None:
                expected = [float(rows[i][k] == category) for category in categories]
            else:
                expected = [min(1, max(0, (float(rows[i][k]) - ages.min()) / (ages.max() - ages.min())))]
            assert x[i, list(group)] == pytest.approx(expected, abs=1e-6)
    assert [row[14].rstrip(".") == ">50K" for row in rows] == (y == 1).tolist()


@needs_data
def test_usual_md5_sums_belong_to_the_files_that_are_verified():
    """The sums printed for people are those of the same contents as the sums that decide."""
    packed = {"drive": "sensorless", "adult": "adult"}
    for name, folder in packed.items():
        for file in dataset_info(name).layouts[0].files:
            contents = gzip.decompress((SHARED / folder / f"{file.name}.gz").read_bytes())
            assert hashlib.md5(contents).hexdigest() == file.md5  # noqa: S324
            assert hashlib.sha256(contents).hexdigest() == file.sha256
            assert len(contents) == file.size
    for file in dataset_info("mnist").files:
        contents = (SHARED / "mnist" / file.name).read_bytes()
        assert hashlib.md5(contents).hexdigest() == file.md5  # noqa: S324
        assert len(contents) == file.size


# --- embedded datasets, splits, encoding ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digits", "breast-cancer"])
def test_embedded_datasets_need_no_file(name, tmp_path):
    data = load_dataset(name, fetch=False)
    assert_well_formed(data)
    info = dataset_info(name)
    assert info.embedded
    assert len(data.x_train) + len(data.x_test) == info.rows
    assert np.abs(np.array(counts(data.y_train)) - counts(data.y_test)).max() <= 1
    assert data.source == "scikit-learn's bundled copy"
    again, other = load_dataset(name, seed=0), load_dataset(name, seed=1)
    assert (again.x_train == data.x_train).all()
    assert (again.y_test == data.y_test).all()
    assert other.y_train.shape != data.y_train.shape or (other.y_train != data.y_train).any()
    assert not (tmp_path / "cache").exists()


def test_stratified_split_divides_every_class():
    labels = np.repeat([0, 1, 2], [10, 20, 70])
    train, test = stratified_split(labels, 0.2, seed=3)
    assert sorted([*train, *test]) == list(range(100))
    assert counts(labels[test]) == [2, 4, 14]
    many = np.repeat(np.arange(11), 5000)
    assert min(counts(many[stratified_split(many, 0.2, seed=5)[0][:1100]])) > 50  # any stretch is a fair sample
    assert (stratified_split(labels, 0.2, seed=3)[1] == test).all()
    assert (stratified_split(labels, 0.2, seed=4)[1] != test).any()


def test_scaling_knows_the_training_rows_alone():
    train, test = np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[0.0, 9.0], [2.0, 7.0], [8.0, 5.0]])
    x_train, x_test = scale_to_unit(train, test)
    assert x_train.tolist() == [[0, 0], [1, 0]]
    assert x_test.tolist() == [[0, 1], [0.5, 0], [1, 0]]


def test_unknown_categories_get_zeros_and_a_question_mark_is_a_category():
    x_train, x_test = one_hot(pa.array(["b", "?", "a"]), pa.array(["c", "?"]))
    assert x_train.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert x_test.tolist() == [[0, 0, 0], [1, 0, 0]]


# --- what a dataset must be -------------------------------------------------------------------------------------------

X, Y = np.full((4, 3), 0.5, dtype=np.float32), np.array([0, 1, 1, 0])
GOOD = {
    "name": "t",
    "x_train": X,
    "y_train": Y,
    "x_test": X[:2],
    "y_test": Y[:2],
    "class_names": ("no", "yes"),
    "column_names": ("a", "b"),
    "groups": ((0, 2), (1,)),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_train": X.astype(np.float64)}, "x_train must be float32"),
        ({"x_train": X[:, :, None]}, "x_train must be float32 of shape"),
        ({"x_train": X * np.float32(2.5)}, r"x_train holds values outside \[0, 1\]"),
        ({"x_test": X[:2] * np.float32(np.nan)}, "x_test holds values outside .* or not finite"),
        ({"x_test": X[:0], "y_test": Y[:0]}, "x_test is empty"),
        ({"x_test": X[:2, :2]}, "rows of different shapes"),
        ({"y_train": Y[:3]}, r"y_train must be int64 of shape \(4,\)"),
        ({"y_train": Y.astype(np.int32)}, "y_train must be int64"),
        ({"y_train": Y + 1}, r"y_train holds labels outside 0\.\.1"),
        ({"y_test": Y[:2] - 1}, r"y_test holds labels outside 0\.\.1"),
        ({"groups": ((0, 2), (1, 2))}, "each of the 3 features exactly once"),
        ({"groups": ((0,), (1,))}, "each of the 3 features exactly once"),
        ({"groups": ((0, 1, 2),)}, "2 column names for 1 groups"),
        ({"groups": (), "column_names": ()}, "each of the 3 features exactly once"),
    ],
)
def test_arrays_are_checked(change, message):
    assert Dataset(**GOOD).n_classes == 2
    with pytest.raises(PriveeError, match=message):
        Dataset(**GOOD | change)


def test_names_are_unique_and_known():
    ours = ["digits", "breast-cancer", "mnist", "cifar10", "cifar100", "drive", "adult"]
    assert list(known_datasets())[: len(ours)] == ours  # what names no place comes after
    with pytest.raises(PriveeError, match="'adult' exists already"):
        register(replace(dataset_info("adult"), rows=1))
    assert dataset_info("adult").rows == 48_842
    with pytest.raises(PriveeError, match="no dataset is called 'iris'; there are digits, breast-cancer"):
        load_dataset("iris")
