"""Tensors that go to another server of the Open Inference Protocol, and what it says of those it takes."""

import numpy as np
import pytest

from privee.client import Client
from privee.errors import PriveeError, SettingError
from privee.gateway.scorers.base import open_scorer
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from tests._support.oip_server import OipServer

COLUMNS = ("age", "income", "debt", "years")


def opened(server, **settings):
    return open_scorer(ScorerSettings(given=server.address, **settings), 5.0)


@pytest.mark.parametrize("datatype", ["FP64", "FP32", "FP16"])
def test_numbers_go_as_bytes_where_that_is_understood(upstream, people, fitted, datatype):
    """Triton 2.51 reads a number in JSON with an error in its last bits, and half precision not at all."""
    upstream.extensions = ["statistics", "binary_tensor_data"]
    upstream.about["inputs"][0]["datatype"] = datatype
    upstream.gives = ("p", datatype)
    x = np.where(np.arange(40).reshape(-1, 4) == 7, np.nan, people.x[:10] / 3)  # with a gap, which JSON cannot carry
    upstream.score = lambda inputs: np.nan_to_num(np.array(inputs[0]["data"]).reshape(inputs[0]["shape"]))[:, :3]
    scorer = opened(upstream)
    dtype = {"FP64": np.float64, "FP32": np.float32, "FP16": np.float16}[datatype]
    assert np.array_equal(scorer.outputs(Rows(COLUMNS, x)), np.nan_to_num(x.astype(dtype))[:, :3].astype(np.float64))
    body, headers = upstream.asked[-1]
    assert body["inputs"][0]["parameters"] == {"binary_data_size": x.size * np.dtype(dtype).itemsize}
    assert np.array_equal(np.array(body["inputs"][0]["data"]), x.astype(dtype).ravel(), equal_nan=True)
    assert headers["content-type"] == "application/octet-stream"
    scorer.close()


def test_a_server_that_says_nothing_of_its_outputs_may_answer_in_bytes(upstream, people):
    upstream.extensions, upstream.about["outputs"] = ["binary_tensor_data"], []
    upstream.score = lambda inputs: np.array(inputs[0]["data"]).reshape(-1, 4)[:, :3]
    upstream.gives = ("p", "FP64")
    scorer = opened(upstream)
    assert np.array_equal(scorer.outputs(Rows(COLUMNS, people.x / 3)), people.x[:, :3] / 3)
    assert upstream.asked[-1][0]["parameters"] == {"binary_data_output": True}
    scorer.close()


def test_no_more_rows_at_once_than_it_takes(serve, upstream, people, fitted):
    upstream.most = 8
    gateway = serve(upstream.address, releases=3)
    with Client(gateway.url, gateway.key("consumer"), retries=0) as client:
        answer = client.infer(people.ids[:20])
    assert np.allclose(answer, fitted.predict_proba(people.x[:20]), atol=1e-12)
    assert [body["inputs"][0]["shape"] for body, _ in upstream.asked[-3:]] == [[8, 4], [8, 4], [4, 4]]


def test_shapes_that_take_one_row(upstream, people, fitted):
    upstream.about["inputs"][0]["shape"] = [1, 1, 4]
    scorer = opened(upstream)
    assert np.allclose(scorer.outputs(Rows(COLUMNS, people.x[:2])), fitted.predict_proba(people.x[:2]), atol=1e-12)
    assert [body["inputs"][0]["shape"] for body, _ in upstream.asked] == [[1, 1, 4], [1, 1, 4]]
    scorer.close()
    upstream.about["inputs"][0]["shape"] = [4]
    with pytest.raises(SettingError, match="takes one row at a time: have it take batches"):
        opened(upstream)


@pytest.fixture
def by_column():
    inputs = [{"name": name, "datatype": "FP64", "shape": [-1, 1]} for name in COLUMNS]
    score = lambda tensors: np.column_stack([np.array(one["data"]) for one in tensors])[:, :3]  # noqa: E731
    with OipServer(score, inputs=inputs) as server:
        yield server


def test_columns_go_by_their_names_in_whatever_order_they_come(by_column, people):
    scorer = opened(by_column)
    swapped = Rows(COLUMNS[::-1], people.x[:5, ::-1])
    assert np.array_equal(scorer.outputs(swapped), people.x[:5, :3])
    other = Rows(("a", "b", "c", "d"), people.x[:5])  # of a table that calls them otherwise: by their places
    assert np.array_equal(scorer.outputs(other), people.x[:5, :3])
    scorer.close()


@pytest.mark.parametrize(
    ("datatype", "cell", "words"),
    [
        ("FP64", "secret", "the rows hold text where the other server takes numbers"),
        ("INT64", 1.5, "a gap or a fraction where the other server takes whole numbers"),
        ("INT64", np.nan, "a gap or a fraction where the other server takes whole numbers"),
        ("FP64", np.nan, "a row has a gap, and the other server takes JSON alone"),
    ],
)
def test_cells_that_do_not_fit_are_not_sent_and_not_named(by_column, datatype, cell, words):
    by_column.about["inputs"][0]["datatype"] = datatype
    scorer = opened(by_column)
    row = np.array([[cell, 1.0, 2.0, 3.0]], dtype=object)
    with pytest.raises(PriveeError, match=words) as caught:
        scorer.outputs(Rows(COLUMNS, row))
    assert "secret" not in str(caught.value)
    assert by_column.asked == []
    scorer.close()


def test_a_refused_first_row_is_told_with_what_the_server_says_of_itself(serve, upstream):
    with pytest.raises(SettingError) as caught:
        serve(upstream.address, output="nope")
    assert str(caught.value) == (
        "the model cannot score a row: its server answers with HTTP status 400; it says that it takes x and gives "
        "label, p: see --scorer-input, --scorer-output and --columns"
    )


def test_classes_are_no_scores(serve, upstream, fitted):
    upstream.about["outputs"] = [{"name": "label", "datatype": "INT64", "shape": [-1]}]
    upstream.gives = ("label", "INT64")
    upstream.score = lambda inputs: fitted.predict(np.array(inputs[0]["data"]).reshape(-1, 4))
    with pytest.raises(SettingError, match=r"gives label \(INT64\), .* have it give probabilities, not classes"):
        serve(upstream.address)


def test_what_is_no_such_server_is_told_in_one_line(upstream):
    upstream.raw = b"<html>hello</html>"
    with pytest.raises(PriveeError, match=r"^the model has no server of the Open Inference Protocol there$"):
        opened(upstream)


@pytest.mark.parametrize("raw", [b"[1]", b'{"inputs": 3, "outputs": [{"name": "p", "shape": "x"}, {}, 4]}'])
def test_what_says_nothing_that_can_be_read_may_still_be_one(upstream, people, raw):
    """It is asked with whole rows, as a server that says nothing is, and its answers count."""
    upstream.raw = raw
    scorer = opened(upstream)
    assert (scorer.names, scorer.features, scorer.classes) == (None, None, None)
    upstream.raw, upstream.gives = None, ("p", "FP64")
    upstream.score = lambda inputs: np.array(inputs[0]["data"]).reshape(-1, 4)[:, :3]
    assert np.array_equal(scorer.outputs(Rows(COLUMNS, people.x / 3)), people.x[:, :3] / 3)
    assert upstream.asked[-1][0]["inputs"][0]["name"] == "input-0"
    scorer.close()
