"""P(yes) alone is a score of two classes."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as arrow_parquet
import pytest

import privee
from privee.data.score_files.open_files import load_scores, open_reader
from privee.data.score_files.protect import protect_file
from privee.errors import PriveeError

CHANCES = np.random.default_rng(0).beta(0.4, 3, 500)
IDS = [f"{k:04}" for k in range(500)]


def written(folder, suffix: str, chances=CHANCES, **more):
    path = folder / f"scores{suffix}"
    table = pa.table({"customer_id": IDS[: len(chances)], "p_yes": chances} | more)
    if suffix == ".npy":
        np.save(path, np.asarray(chances)[:, None])
    elif suffix == ".csv":
        arrow_csv.write_csv(table, path)
    else:
        arrow_parquet.write_table(table, path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
@pytest.mark.parametrize("spec", ["none", "ordered-dp:epsilon=4", "privee-u:rho=0.1"])
def test_one_column_is_read_as_two_classes_and_released_as_two(tmp_path, suffix, spec):
    source, target = written(tmp_path, suffix), tmp_path / f"out{suffix}"
    defense = privee.defense(spec)
    summary = protect_file(source, target, defense, draws=privee.seeded(3))
    both = np.stack([1 - CHANCES, CHANCES], axis=1)
    assert summary.read_as_two_classes
    assert (summary.rows, summary.classes) == (500, 2)
    expected = defense.release(both, draws=privee.seeded(3))
    assert np.allclose(load_scores(target).values, expected, atol=1e-12)
    if suffix == ".csv":
        types = arrow_csv.ConvertOptions(column_types={"customer_id": pa.string()})
        table = arrow_csv.read_csv(target, convert_options=types)
        assert table.column_names == ["customer_id", "not_p_yes", "p_yes"]
        assert table["customer_id"].to_pylist() == IDS


def test_two_columns_stay_as_they_are(tmp_path):
    source = written(tmp_path, ".csv", not_yes=1 - CHANCES)
    assert not protect_file(source, tmp_path / "out.csv", privee.defense("none")).read_as_two_classes
    assert arrow_csv.read_csv(tmp_path / "out.csv").column_names == ["customer_id", "p_yes", "not_yes"]


def test_a_name_that_is_taken_is_not_taken_again(tmp_path):
    source = written(tmp_path, ".csv", not_p_yes=CHANCES)
    assert open_reader(source, keep=["not_p_yes"]).score_names == ["not_p_yes_", "p_yes"]


@pytest.mark.parametrize("bad", [1.2, -0.1, np.nan])
def test_what_is_no_probability_is_named_by_row_and_column_and_nothing_is_written(tmp_path, bad):
    chances = CHANCES.copy()
    chances[41] = bad
    source = written(tmp_path, ".parquet", chances)
    with pytest.raises(PriveeError, match="data row 42, column p_yes is not from 0 to 1"):
        protect_file(source, tmp_path / "out.parquet", privee.defense("none"))
    assert not (tmp_path / "out.parquet").exists()
