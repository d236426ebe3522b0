"""Dates in CSV files become numbers, as those of Parquet do; what could be read in two ways stays text."""

import datetime

import pyarrow as pa
import pytest

from privee.data.tables import fit_preprocessing, read_party_table
from privee.data.tables.cells import are_dates, from_text, from_typed


def read(tmp_path, cells, **settings):
    (tmp_path / "t.csv").write_text("id,x\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells)))
    return read_party_table(tmp_path / "t.csv", id_column="id", **settings)


@pytest.mark.parametrize(
    "cells",
    [
        ("2024-12-31", "1969-02-28", ""),
        ("31.12.2024", "28.2.1969", "?"),
        ("2024-12-31 00:00", "1969-02-28 00:00", "NA"),
        ("2024-12-31T00:00:00", "1969-02-28T00:00:00.0", ""),
    ],
)
def test_dates_are_the_numbers_that_parquet_dates_are(tmp_path, cells):
    table = read(tmp_path, cells)
    days = pa.chunked_array([pa.array([datetime.date(2024, 12, 31), datetime.date(1969, 2, 28), None])])
    assert table.columns["x"].to_pylist() == from_typed(days, None, "x").to_pylist()
    assert table.dates == ("x",)
    assert are_dates(days)


@pytest.mark.parametrize("cells", [("12/31/2024", "01/02/2024"), ("2024-13-31", "2024-01-02"), ("2024-01-02", "soon")])
def test_anything_else_stays_text(tmp_path, cells):
    table = read(tmp_path, cells)
    assert table.columns["x"].to_pylist() == list(cells)
    assert table.dates == ()


def test_new_rows_are_read_as_the_fitted_ones_were(tmp_path):
    fitted = fit_preprocessing(read(tmp_path, ("2020-01-01", "2020-01-11", "2020-01-06")))
    new = read(tmp_path, ("2020-01-06",), kinds=fitted.kinds)
    assert fitted.apply(new).tolist() == [[0.5]]
    as_text = read(tmp_path, ("2020-01-06",), kinds={"x": "categorical"})
    assert as_text.columns["x"].to_pylist() == ["2020-01-06"]
    assert from_text(pa.chunked_array([["1.5", "2"]]), None, "x").to_pylist() == [1.5, 2]
