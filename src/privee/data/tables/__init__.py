"""A party's own table: read from CSV or Parquet, made into features in [0, 1], its labels into class numbers."""

from privee.data.tables.aligned import ALIGNED, AlignedIds, read_ids, write_aligned
from privee.data.tables.labels import Labels, fit_labels
from privee.data.tables.preprocessing import Preprocessing, fit_preprocessing
from privee.data.tables.reading import PartyTable, read_party_table

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
