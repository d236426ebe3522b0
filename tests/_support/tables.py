"""Tables of a party's, written and read as the tests need them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from privee.data.tables import (
    PartyTable,
    Preprocessing,
    fit_preprocessing,
)


def write_csv(tmp_path, text, name="bank.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_parquet(tmp_path, columns, name="bank.parquet"):
    arrow_parquet.write_table(pa.table(columns), tmp_path / name)
    return tmp_path / name


def table_of(**columns):
    """A table in memory: floats (None or NaN is missing) or text per column."""
    arrow = {}
    for name, values in columns.items():
        text = any(isinstance(value, str) for value in values)
        arrow[name] = pa.chunked_array([pa.array(values, pa.string() if text else pa.float64())])
    rows = len(next(iter(columns.values())))
    return PartyTable("bank", tuple(str(k) for k in range(rows)), arrow)


def values_of(table, name):
    return table.columns[name].to_pylist()


def fit_and_reload(table, **settings):
    """Fit, save, load and apply, as every user does; the saved settings must change nothing."""
    fitted = fit_preprocessing(table, **settings)
    loaded = Preprocessing.from_dict(json.loads(json.dumps(fitted.as_dict(), allow_nan=False)))
    assert loaded == fitted
    features = fitted.apply(table)
    assert (loaded.apply(table).view(np.uint32) == features.view(np.uint32)).all()
    assert features.dtype == np.float32
    assert features.shape == (len(table), len(fitted.feature_names))
    assert np.isfinite(features).all()
    assert features.min() >= 0
    assert features.max() <= 1
    assert [position for group in fitted.groups for position in group] == list(range(features.shape[1]))
    return fitted, features
