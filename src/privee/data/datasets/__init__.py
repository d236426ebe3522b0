"""Public datasets by name: found in a folder or fetched, verified, and made into arrays in [0, 1].

A new dataset is one new file with a `DatasetInfo`, and one line here.
"""

from privee.data.datasets.adult import ADULT
from privee.data.datasets.base import Dataset
from privee.data.datasets.bundled import BREAST_CANCER, DIGITS
from privee.data.datasets.cifar import CIFAR10, CIFAR100
from privee.data.datasets.drive import DRIVE
from privee.data.datasets.info import DataFile, DatasetInfo, Layout
from privee.data.datasets.load import Fetched, describe, fetch_dataset, load_dataset, where_is
from privee.data.datasets.mnist import MNIST
from privee.data.datasets.registry import dataset_info, known_datasets, register

for _info in (DIGITS, BREAST_CANCER, MNIST, CIFAR10, CIFAR100, DRIVE, ADULT):
    register(_info)

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
