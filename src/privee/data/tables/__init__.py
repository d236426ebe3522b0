"""A party's own table: read from CSV or Parquet, made into features in [0, 1], its labels into class numbers."""

from privee.data.tables.labels import Labels, fit_labels
from privee.data.tables.preprocessing import Preprocessing, fit_preprocessing
from privee.data.tables.reading import ALIGNED, AlignedIds, PartyTable, read_ids, read_party_table, write_aligned

__all__ = [
    "ALIGNED",
    "AlignedIds",
    "Labels",
    "PartyTable",
    "Preprocessing",
    "fit_labels",
    "fit_preprocessing",
    "read_ids",
    "read_party_table",
    "write_aligned",
]
