"""A party's labels."""

import json

import numpy as np
import pyarrow as pa
import pytest

import privee
from privee.data.tables import (
    Labels,
    fit_labels,
    read_party_table,
)
from tests._support.tables import write_parquet


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array(["a", " b", None]), ["a", "b", ""]),
        (pa.array([1, 2, None]), ["1", "2", ""]),
        (pa.array([True, False, None]), ["true", "false", ""]),
        (pa.array(["a", "b", None]).dictionary_encode(), ["a", "b", ""]),
        (pa.array([0.0, 1.0, float("nan")]), ["0", "1", "nan"]),
    ],
)
def test_parquet_labels_are_text(tmp_path, labels, expected):
    path = write_parquet(tmp_path, {"id": ["1", "2", "3"], "x": [1.0, 2.0, 3.0], "y": labels})
    table = read_party_table(path, id_column="id", label_column="y")
    assert table.labels == expected
    with pytest.raises(privee.PriveeError, match="the label is missing at data row 3"):
        fit_labels(table.labels)


# Labels


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["yes", "no", "yes"], ("no", "yes")),
        (["10", "9", "-1", "2.5"], ("-1", "2.5", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["1", "01"], ("01", "1")),
    ],
)
def test_classes_are_sorted_and_survive(labels, classes):
    fitted = fit_labels(labels)
    assert fitted.classes == classes
    codes = fitted.encode(labels)
    assert codes.dtype == np.int64
    assert codes.tolist() == [classes.index(label) for label in labels]
    assert fitted.decode(codes) == labels
    assert fitted.decode([]) == []
    assert Labels.from_dict(json.loads(json.dumps(fitted.as_dict()))) == fitted


def test_errors_of_labels():
    for missing in (None, "", "  ", "NA", "?"):
        with pytest.raises(privee.PriveeError, match=r"^the label is missing at data row 2$"):
            fit_labels(["a", missing, "b"])
        with pytest.raises(privee.PriveeError, match=r"^the label is missing at data row 2$"):
            fit_labels(["a", "b"]).encode(["a", missing])
    with pytest.raises(privee.PriveeError, match=r"^the label column has a single class: nothing to learn$"):
        fit_labels(["a", "a"])
    with pytest.raises(privee.PriveeError, match="empty"):
        fit_labels([])
    with pytest.raises(privee.PriveeError, match=r"^the label at data row 3 is not one of the 2 classes fitted$"):
        fit_labels(["a", "b"]).encode(["a", "b", "SECRET"])
    for codes in ([2], [-1], [0.5], ["a"]):
        with pytest.raises(privee.PriveeError, match="run from 0 to 1"):
            fit_labels(["a", "b"]).decode(codes)
    for saved, message in [
        ({"version": 2, "classes": ["a", "b"]}, "saved in format 2"),
        ({"version": 1}, "not saved labels"),
        ({"version": 1, "classes": "ab"}, "list of names"),
        ({"version": 1, "classes": ["a", 1]}, "list of names"),
        ({"version": 1, "classes": ["a"]}, "single class"),
        ({"version": 1, "classes": ["a", "b", "a"]}, "listed twice"),
    ]:
        with pytest.raises(privee.PriveeError, match=message):
            Labels.from_dict(saved)
