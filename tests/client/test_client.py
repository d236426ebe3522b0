"""The Python client: what it sends, what it makes of the answers, and how it is packaged."""

import inspect
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from privee.client import AsyncClient, Client, GatewayUnavailable, Release, calls
from privee.client.async_client import AsyncKeys
from privee.client.client import Keys
from privee.errors import PriveeError
from tests._support.scripted_gateway import KEY, KINDS, Scripted, answer, ask, problem, released, use

# What comes back


@KINDS
def test_doubles_survive_to_the_last_bit(kind):
    random = np.random.default_rng(7).integers(0, 1 << 64, 4000, dtype=np.uint64).view(np.float64)
    odd = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1 + 0.2, np.nextafter(1, 0)]
    values = np.concatenate([odd, random[np.isfinite(random)]])[:3990].reshape(399, 10)
    with Scripted(released(values)) as server:
        found = use(kind, server.url, lambda client: client.infer(range(399)))
    assert found.dtype == np.float64
    assert found.shape == values.shape
    assert found.tobytes() == values.tobytes()


@KINDS
def test_one_entity_gives_a_vector_and_many_a_table(kind):
    with Scripted(released([0.75, 0.25]), released([0.75, 0.25]), released(np.eye(2))) as server:
        assert use(kind, server.url, lambda client: client.infer("17")).shape == (2,)
        assert use(kind, server.url, lambda client: client.infer(["17"])).shape == (1, 2)
        assert use(kind, server.url, lambda client: client.infer(["17", 42])).shape == (2, 2)
    sent = [json.loads(body)["inputs"][0] for _, _, _, body in server.requests]
    assert [tensor["data"] for tensor in sent] == [["17"], ["17"], ["17", "42"]]
    assert [tensor["shape"] for tensor in sent] == [[1], [1], [2]]
    assert {path for _, path, _, _ in server.requests} == {"/v2/models/risk/infer"}


def test_a_release_says_where_it_comes_from_and_arithmetic_does_not():
    with Scripted(released(np.eye(3), remaining=-1, charged=2, defense="ordered-dp:epsilon=1.0")) as server:
        found = use("sync", server.url, lambda client: client.infer([1, 2, 3]))
    assert isinstance(found, Release)
    said = (found.release_id, found.remaining, found.charged, found.defense, found.model_version, found.classes)
    assert said == ("ab" * 16, None, 2, "ordered-dp:epsilon=1.0", "v1", None)
    assert found[1].release_id == found.copy().release_id == found.release_id
    for made in (found * 2, found - found, found.sum(axis=1), np.exp(found)):
        assert type(made) is np.ndarray
    assert type(found.max()) is np.float64


def test_class_names_come_with_the_metadata_of_the_same_version():
    def metadata(version, classes):
        return answer(200, {"name": "risk", "versions": [version], "parameters": {"classes": classes}})

    script = [
        metadata("v1", '["no", "yes, so"]'),
        released(),
        metadata("v1", '["a", "b", "c"]'),
        released(),
        metadata("v2", '["no", "yes, so"]'),
    ]
    with Scripted(*script, released()) as server, Client(server.url, KEY, model="risk") as client:
        found = []
        for _ in range(3):
            client.model()
            found.append(client.infer("17").classes)
    assert found == [("no", "yes, so"), None, None]


@KINDS
def test_the_only_model_need_not_be_named(kind):
    with Scripted(answer(200, {"name": "privee", "models": ["a b/c"]}), released()) as server:
        use(kind, server.url, ask, model=None)
    assert [path for _, path, _, _ in server.requests] == ["/v2", "/v2/models/a%20b%2Fc/infer"]
    for told in ({"models": ["one", "two"]}, {}):
        with Scripted(answer(200, told)) as server, pytest.raises(PriveeError, match=r"model=NAME"):
            use(kind, server.url, ask, model=None)


@pytest.mark.parametrize("broken", [b"{", b"[1]", b"null", b'{"outputs": []}', b"[" * 100_000])
def test_an_answer_that_cannot_be_read_may_have_been_charged(broken):
    with Scripted(answer(200, broken)) as server, pytest.raises(GatewayUnavailable, match="not a privee") as caught:
        use("sync", server.url, ask)
    assert caught.value.maybe_counted
    assert len(server.requests) == 1


@pytest.mark.parametrize("data", [[0.5], [0.5, "x"], [0.5, None], [float("nan"), 0.5], [10**400, 1]])
def test_a_broken_release_is_refused(data):
    whole = {"name": "release", "shape": [1, 2], "datatype": "FP64", "data": data}
    said = {"defense": "none", "release_id": "ab", "remaining": 1, "charged": 1}
    body = {"model_name": "risk", "model_version": "v1", "parameters": said, "outputs": [whole]}
    with Scripted(answer(200, body)) as server, pytest.raises(GatewayUnavailable):
        use("sync", server.url, ask)


# What is sent


def test_columns_are_sent_exactly():
    wide = np.random.default_rng(1).normal(size=(2, 3))
    for columns, datatype in ((wide, "FP64"), (wide.astype(np.float32), "FP32"), (wide.round().astype(int), "FP64")):
        call = calls.infer("risk", calls.query(["1", "2"], columns))
        sent = json.loads(call.content())["inputs"][1]
        assert (sent["datatype"], sent["shape"]) == (datatype, [2, 3])
        assert np.array(sent["data"]).reshape(2, 3).tobytes() == columns.astype(np.float64).tobytes()
    assert calls.query("1", [1.0, 2.0]).inputs[1]["shape"] == [1, 2]
    assert calls.query(["1"], np.zeros((1, 4, 4))).inputs[1]["shape"] == [1, 4, 4]


def test_entities_are_texts_or_whole_numbers():
    assert calls.query(np.array([7, 8])).inputs[0]["data"] == ["7", "8"]
    assert calls.query(np.array(["a", "b"])).inputs[0]["data"] == ["a", "b"]
    assert calls.query(iter(["é", 2**70])).inputs[0]["data"] == ["é", str(2**70)]
    assert calls.query(np.int64(3)).single


@pytest.mark.parametrize(
    ("entities", "columns"),
    [
        ([], None),
        (["secret-7", 1.5], None),
        (["secret-7", True], None),
        (["secret-7", None], None),
        (None, None),
        (b"secret-7", None),
        ({"secret-7"}, None),
        (["secret-7"], [1.0]),
        (["secret-7"], [[1.0], [2.0]]),
        (["secret-7"], [[float("nan")]]),
        (["secret-7"], [["x"]]),
        (["secret-7"], [[1.0], [1.0, 2.0]]),
    ],
)
def test_a_wrong_query_is_refused_before_it_is_sent(entities, columns):
    with pytest.raises(PriveeError) as caught:
        calls.query(entities, columns)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_each_attempt_carries_the_same_request_id_and_other_calls_another():
    with Scripted(problem(503, "party-unreachable"), released()) as server:
        use("sync", server.url, ask)
        use("sync", server.url, ask)
    ids = [headers["x-request-id"] for _, _, headers, _ in server.requests]
    assert ids[0] == ids[1] != ids[2]


# The package


def test_both_clients_have_the_same_methods():
    for plain, awaited in ((Client, AsyncClient), (Keys, AsyncKeys)):
        names = {name for name in vars(plain) if not name.startswith("_")}
        assert names == {name for name in vars(awaited) if not name.startswith("_")}
        for name in names | ({"__init__"} if plain is Client else set()):
            one, other = (inspect.signature(getattr(kind, name)) for kind in (plain, awaited))
            assert [*one.parameters.values()][1:] == [*other.parameters.values()][1:], name
            assert one.return_annotation == other.return_annotation, name
            assert name == "__init__" or inspect.iscoroutinefunction(getattr(awaited, name))


def run_python(code):
    environment = {name: value for name, value in os.environ.items() if name != "PRIVEE_API_KEY"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)  # noqa: S603
    return done.stdout.strip()


def test_importing_the_client_loads_nothing_heavy():
    heavy = ["httpx", "torch", "fastapi", "sqlalchemy", "grpc", "sklearn", "pyarrow"]
    assert run_python(f"import sys, privee.client; print([name for name in {heavy} if name in sys.modules])") == "[]"
    lazily = "import sys, privee; print('privee.client' in sys.modules, privee.Client is privee.client.Client)"
    assert run_python(lazily) == "False True"


def test_without_httpx_one_line_says_what_to_install():
    code = """
import sys
sys.modules["httpx"] = None
from privee import *
import privee
for name in ("Client", "AsyncClient"):
    try:
        getattr(privee, name)
    except privee.PriveeError as error:
        print(type(error).__name__, error, name in globals())
"""
    line = "MissingExtraError privee.client needs httpx: pip install 'privee[client]' False"
    assert run_python(code).splitlines() == [line, line]
