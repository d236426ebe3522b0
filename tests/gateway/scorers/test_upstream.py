"""The gateway in front of another server of the Open Inference Protocol."""

import numpy as np
import pytest

from privee.client import Client, GatewayUnavailable, PartyFailed
from privee.errors import PriveeError, SettingError
from privee.gateway.scorers.base import open_scorer
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from tests._support.oip_server import OipServer

COLUMNS = ("age", "income", "debt", "years")


def client_of(gateway):
    return Client(gateway.url, gateway.key("consumer"), retries=0)


def test_rows_go_there_and_releases_come_back(serve, people, fitted, upstream, tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    gateway = serve(upstream.address, classes=("lo", "mid", "hi"), token=tmp_path / "token", releases=3)
    with client_of(gateway) as client:
        answer = client.infer(["p003", "p001"])
        assert np.allclose(answer, fitted.predict_proba(people.x[[3, 1]]), atol=1e-12)
        assert client.model()["parameters"]["scorer"].startswith("a model on another server")
        assert client.ready()
    body, headers = upstream.asked[-1]
    assert body["outputs"] == [{"name": "p"}]
    assert (body["inputs"][0]["name"], body["inputs"][0]["datatype"]) == ("x", "FP64")
    assert body["inputs"][0]["data"] == people.x[[3, 1]].ravel().tolist()
    assert headers["authorization"] == "Bearer s3cret"
    assert gateway.service.model.name == "iris"


@pytest.mark.parametrize(
    ("status", "expected", "code", "charged"),
    [
        (503, 503, "scorer-unreachable", 0),
        (429, 503, "scorer-unreachable", 0),
        (404, 502, "scorer-mismatch", 0),
        (401, 502, "scorer-mismatch", 0),
        (500, 502, "scorer-refused", 1),  # the answer may depend on the row
        (400, 502, "scorer-refused", 1),
    ],
)
def test_what_it_answers_otherwise(serve, upstream, status, expected, code, charged):
    gateway = serve(upstream.address)
    upstream.status = status
    with client_of(gateway) as client:
        with pytest.raises(GatewayUnavailable if charged else PartyFailed) as caught:
            client.infer("p001")
        assert (caught.value.status, caught.value.code) == (expected, code)
        assert gateway.service.ledger.spent("p001").lifetime_releases == charged
        upstream.status = 200
        assert client.infer("p002") is not None


def test_it_is_late_or_gone(serve, upstream):
    gateway = serve(upstream.address, deadline=0.5)
    with client_of(gateway) as client:
        upstream.seconds = 1.0
        with pytest.raises(PartyFailed, match="did not answer") as caught:
            client.infer("p001")
        assert (caught.value.status, caught.value.code) == (504, "scorer-deadline")
        upstream.seconds = 0
        upstream.stop()
        with pytest.raises(PartyFailed, match="the model cannot be reached") as caught:
            client.infer("p001")
        assert (caught.value.status, caught.value.code) == (503, "scorer-unreachable")
        assert not client.ready()
        assert gateway.service.ledger.spent("p001").lifetime_releases == 0


def test_another_version_is_another_model(serve, upstream):
    gateway = serve(upstream.address)
    upstream.version = "2"
    with client_of(gateway) as client, pytest.raises(PartyFailed, match="another version than at the start") as caught:
        client.infer("p001")
    assert caught.value.code == "scorer-mismatch"


def test_a_tensor_for_each_column(serve, people, fitted):
    def score(inputs):
        found = {tensor["name"]: np.array(tensor["data"]) for tensor in inputs}
        return fitted.predict_proba(np.column_stack([found[name] for name in COLUMNS]))

    inputs = [{"name": name, "datatype": "FP32", "shape": [-1, 1]} for name in COLUMNS[::-1]]
    with OipServer(score, inputs=inputs) as server:
        gateway = serve(server.address)
        with client_of(gateway) as client:
            assert np.allclose(client.infer("p005"), fitted.predict_proba(people.x[5:6])[0], atol=1e-6)
        assert server.asked[-1][0]["inputs"][0]["shape"] == [1, 1]


def test_a_server_that_says_nothing_of_itself(serve, people, fitted, upstream):
    """As KServe's and MLServer's own runtimes of scikit-learn do."""
    upstream.about |= {"inputs": [], "outputs": [], "versions": []}
    gateway = serve(upstream.address, input="input-7", rows=None, features=4)
    with client_of(gateway) as client:
        answer = client.infer("somebody", columns=people.x[5])
        assert np.allclose(answer, fitted.predict_proba(people.x[5:6])[0], atol=1e-6)
    assert upstream.asked[-1][0]["inputs"][0]["name"] == "input-7"


def test_logits(people, upstream, fitted, serve):
    upstream.score = lambda inputs: fitted.decision_function(np.array(inputs[0]["data"]).reshape(-1, 4))
    with pytest.raises(SettingError, match=r"the model's outputs are no scores: .* if these are logits, say --logits"):
        serve(upstream.address, place="without")
    with client_of(serve(upstream.address, logits=True)) as client:
        assert np.allclose(client.infer("p005"), fitted.predict_proba(people.x[5:6])[0], atol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("http://example.org/v2/models/iris", "rows must not travel in the clear"),
        ("https://example.org/", "is https://host/v2/models/NAME"),
        ("ftp://example.org/v2/models/iris", "is https://host/v2/models/NAME"),
        ("https://user:pass@example.org/v2/models/iris", "is https://host/v2/models/NAME"),
        ("http://127.0.0.1:1/v2/models/iris", "the model cannot be reached"),
    ],
)
def test_addresses_that_are_none(given, words):
    with pytest.raises(PriveeError, match=words):
        open_scorer(ScorerSettings(given=given), 1.0)


def test_a_version_changes_with_what_it_says(upstream, people):
    first = open_scorer(ScorerSettings(given=upstream.address), 1.0)
    upstream.about["versions"] = ["1", "2"]
    second = open_scorer(ScorerSettings(given=upstream.address), 1.0)
    upstream.about["versions"] = []
    versions = [first.version, second.version]
    for served in ("v1", "v2"):  # of a server that names it in its answers alone
        upstream.version = served
        third = open_scorer(ScorerSettings(given=upstream.address), 1.0)
        third.outputs(Rows(COLUMNS, people.x[:2]))
        versions.append(third.version)
        third.close()
    assert len(set(versions)) == 4
    for one in (first, second):
        one.close()
