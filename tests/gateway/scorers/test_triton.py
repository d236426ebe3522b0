"""The gateway in front of Triton itself, where a Python that has nvidia-pytriton and scikit-learn is named."""

import contextlib
import os

import httpx
import numpy as np
import pytest

from privee.client import Client, PartyFailed
from privee.errors import PriveeError, SettingError
from privee.gateway.scorers.base import open_scorer
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from tests._support.triton_server import VARIABLE, TritonServer, config

pytestmark = pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no Python that has nvidia-pytriton and scikit-learn"
)
NAMES = ("a", "b", "c", "d")
WHOLE, SCORES, LABEL = [("x", "FP64", "[ 4 ]")], ("scores", "FP64", "[ 3 ]"), ("label", "INT64", "[ 1 ]")
MODELS = {
    "iris": config(WHOLE, [SCORES, LABEL], more="dynamic_batching { max_queue_delay_microseconds: 1000 }"),
    "single": config([("x", "FP32", "[ -1, 4 ]")], [("scores", "FP32", "[ -1, 3 ]")], batch=0),
    "half": config([("x", "FP16", "[ 4 ]")], [("scores", "FP16", "[ 3 ]")]),
    "columns": config([(name, "FP64", "[ 1 ]") for name in NAMES], [SCORES]),
    "labels": config(WHOLE, [LABEL]),
    "two": config(WHOLE, [SCORES, ("log", "FP64", "[ 3 ]")], batch=200),
}


@pytest.fixture(scope="module")
def triton(tmp_path_factory):
    server = TritonServer(tmp_path_factory.mktemp("triton"), MODELS, versions=("1", "3"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def rows():
    """150, with all the digits that a double has."""
    return np.random.default_rng(3).normal([5.8, 3.0, 3.8, 1.2], size=(150, 4))


@pytest.fixture
def table(tmp_path, rows):
    lines = ["id,a,b,c,d", *(f"p{place:03d},{','.join(map(repr, row))}" for place, row in enumerate(rows.tolist()))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "rows.csv")


def its_own(triton, model, rows, dtype):
    """What Triton's own client gets, as bytes, 50 rows at a time."""
    import tritonclient.http as client_of

    asked = client_of.InferenceServerClient(f"127.0.0.1:{triton.http}", network_timeout=60.0)
    found = []
    with contextlib.closing(asked):
        for part in np.split(rows.astype(dtype), 3):
            columns = [("x", part)] if model != "columns" else list(zip(NAMES, np.split(part, 4, axis=1), strict=True))
            inputs = []
            for name, values in columns:
                kind = {"f2": "FP16", "f4": "FP32", "f8": "FP64"}[values.dtype.str[1:]]
                inputs.append(client_of.InferInput(name, list(values.shape), kind))
                inputs[-1].set_data_from_numpy(np.ascontiguousarray(values))
            wanted = [client_of.InferRequestedOutput("scores", binary_data=True)]
            found.append(asked.infer(model, inputs, outputs=wanted).as_numpy("scores"))
    return np.concatenate(found).astype(np.float64)


@pytest.mark.parametrize(
    ("model", "dtype", "more"),
    [
        ("iris", np.float64, {}),
        ("iris/versions/3", np.float64, {}),
        ("single", np.float32, {}),
        ("half", np.float16, {}),
        ("columns", np.float64, {}),
        ("two", np.float64, {"output": "scores"}),
    ],
)
def test_scores_are_its_own_to_the_last_bit(triton, rows, model, dtype, more):
    scorer = open_scorer(ScorerSettings(given=triton.address(model), **more), 30.0)
    found = np.concatenate([scorer.outputs(Rows(NAMES, part)) for part in np.split(rows, 3)])
    assert np.array_equal(found, its_own(triton, model.partition("/")[0], rows, dtype))
    at_once = scorer.outputs(Rows(NAMES, rows))  # more than max_batch_size
    assert np.allclose(at_once, found, atol=1e-3 if dtype is np.float16 else 1e-6)
    assert scorer.classes == ("0", "1", "2")
    scorer.close()


def test_stock_clients_ask_the_gateway_as_they_would_ask_it(triton, serve, table, rows):
    import tritonclient.http as client_of

    gateway = serve(triton.address("iris"), rows=table, id_column="id")
    expected = its_own(triton, "iris", rows, np.float64)[:50]
    ids = [f"p{place:03d}" for place in range(50)]
    headers = {"Authorization": f"Bearer {gateway.key('consumer')}"}
    entities = client_of.InferInput("entities", [50], "BYTES")
    entities.set_data_from_numpy(np.array(ids, dtype=object))
    with contextlib.closing(client_of.InferenceServerClient(gateway.url.removeprefix("http://"))) as client:
        found = client.infer("iris", [entities], headers=dict(headers)).as_numpy("release")
    assert np.array_equal(found, expected)
    asked = {"inputs": [{"name": "entities", "shape": [50], "datatype": "BYTES", "data": ids}]}
    answer = httpx.post(f"{gateway.url}/v2/models/iris/infer", json=asked, headers=headers, timeout=30)
    (release,) = answer.json()["outputs"]
    assert np.array_equal(np.reshape(release["data"], release["shape"]), expected)


def test_it_is_asked_through_the_gateway_stops_and_comes_back(triton, serve, table, rows):
    gateway = serve(triton.address("iris"), rows=table, id_column="id", releases=2, deadline=20.0)
    expected = its_own(triton, "iris", rows, np.float64)
    ids = [f"p{place:03d}" for place in range(150)]
    with Client(gateway.url, gateway.key("consumer"), retries=0) as client:
        assert np.allclose(client.infer(ids), expected, atol=1e-12)
        triton.stop()
        with pytest.raises(PartyFailed, match="the model cannot be reached") as caught:
            client.infer("p001")
        assert (caught.value.status, caught.value.code) == (503, "scorer-unreachable")
        assert not client.ready()
        assert gateway.service.ledger.spent("p001").lifetime_releases == 1
        triton.start()
        assert client.ready()
        assert np.allclose(client.infer("p001"), expected[1], atol=1e-12)


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        ("nope", {}, r"the model is not there, or not for this gateway \(HTTP status 404\)"),
        ("iris/versions/9", {}, r"the model is not there, or not for this gateway \(HTTP status 404\)"),
        ("iris", {"output": "nope"}, "HTTP status 400; it says that it takes x and gives scores, label"),
        ("iris", {"input": "nope"}, "HTTP status 400; it says that it takes x and gives scores, label"),
        ("iris", {"output": "label"}, r"gives label \(INT64\), and scores are floating-point"),
        ("iris", {"columns": ("a", "b", "c")}, "the model takes 4 columns, and the table has 3"),
        ("labels", {}, "have it give probabilities, not classes"),
        ("two", {}, "which output of the other server are the scores"),
        ("two", {"output": "log"}, "the model's outputs are no scores: row 0, class 0 is negative"),
    ],
)
def test_what_is_wrong_is_one_line(triton, serve, table, model, settings, words):
    with pytest.raises(PriveeError, match=words) as caught:
        serve(triton.address(model), rows=table, id_column="id", **settings)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, SettingError) or "404" in words
