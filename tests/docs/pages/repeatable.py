"""Scores, ids and own columns of the same records."""

import numpy as np

from tests._support.reader.worlds import key_file, some_scores


def prepare(place):
    key_file(place)
    ids = [f"c{k}" for k in range(40)]
    place.names |= {
        "model_scores": some_scores(),
        "customer_ids": ids,
        "active_columns": np.arange(80.0).reshape(40, 2),
    }
