"""Datasets and tables: digits as it is bundled, and a party's CSV file read."""

from pathlib import Path

from privee.data.datasets import load_dataset
from privee.data.tables import read_ids

assert load_dataset("digits", seed=1).n_classes == 10
Path("bank.csv").write_text("customer,income\n1,10\n2,20\n", encoding="utf-8")
assert read_ids(Path("bank.csv"), ["customer"]).to_pylist() == ["1", "2"]
