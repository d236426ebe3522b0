"""Stock clients, real processes, real TLS: binary tensors over HTTP, JSON, and gRPC, on the same terms."""

import contextlib
import json
import re
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import pytest

import privee
from privee.gateway.demo import MODEL, PARTIES
from tests._support.gateway_world import Running, gateway_world
from tests._support.stock_clients import InferenceServerException, Stock, status, stock

pytestmark = pytest.mark.filterwarnings("ignore:ssl:DeprecationWarning")  # gevent's own
DOCS = Path(__file__).parents[3] / "docs" / "gateway.md"
WAYS = ("binary", "json", "grpc")
LIMIT = 6
SERVED = ("--tls", "--grpc-port", "0", "--deadline", "20")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A gateway that counts, and one that gives the scores, both with TLS and gRPC."""
    folder = tmp_path_factory.mktemp("stock")
    with contextlib.ExitStack() as stack:
        found: Running = stack.enter_context(gateway_world(folder, *SERVED, "--releases", str(LIMIT)))
        bare = found.world.gateway(found.addresses, ("--defense", "none", "--uncounted", *SERVED), name="bare")
        stack.callback(bare.stop)
        found.bare = bare.wait_ready().ready
        found.ca = str(found.world.certs / "ca.pem")
        yield found


@pytest.fixture
def ask(world):
    """Clients of the counting gateway, or of another place or with another key."""
    with contextlib.ExitStack() as stack:

        def made(way, place=None, key="consumer"):
            text = None if key is None else world.key(key)
            return stack.enter_context(stock(way, place or world.gateway.ready, text, world.ca))

        yield made


# What is there


@pytest.mark.parametrize("way", ["binary", "grpc"])
def test_a_stock_client_finds_out_what_is_served(ask, way):
    one = ask(way)
    assert one.client.is_server_live()
    assert one.client.is_server_ready()
    assert one.client.is_model_ready(MODEL)
    assert not one.client.is_model_ready("another")
    about, model = one.client.get_server_metadata(), one.client.get_model_metadata(MODEL, headers=one.headers())
    if not one.over_http:
        assert (about.name, about.version) == ("privee", privee.__version__)
        inputs = [(tensor.name, tensor.datatype, list(tensor.shape)) for tensor in model.inputs]
        outputs = [(tensor.name, tensor.datatype, list(tensor.shape)) for tensor in model.outputs]
        version = model.versions[0]
    else:
        assert (about["name"], about["version"]) == ("privee", privee.__version__)
        assert "binary_tensor_data" in about["extensions"]
        inputs = [tuple(tensor.values()) for tensor in model["inputs"]]
        outputs = [tuple(tensor.values()) for tensor in model["outputs"]]
        version = model["versions"][0]
    assert inputs == [("entities", "BYTES", [-1]), ("columns", "FP32", [-1, -1])]
    assert outputs == [("release", "FP64", [-1, 10])]
    assert one.client.is_model_ready(MODEL, version)
    assert not one.client.is_model_ready(MODEL, "7")
    assert one.client.get_model_metadata(MODEL, version, headers=one.headers())
    assert one.release(["1000"], model_version=version).shape == (1, 10)


# What comes out


def test_scores_are_the_same_bits_whichever_way_they_are_asked_for(ask, world):
    """The uncounted gateway gives the joint model's scores, which are no draw: text, bytes and gRPC must agree."""
    ids = [str(number) for number in range(64)]
    columns = np.random.default_rng(3).random((64, 32))
    plain, own, narrow, numbers = [], [], [], []
    for way in WAYS:
        one = ask(way, world.bare)
        plain.append(one.release(ids))
        own.append(one.release(ids, columns))
        narrow.append(one.release(ids, columns.astype(np.float32)))
        numbers.append(one.release([int(name) for name in ids]))
    assert {found.dtype for found in (*plain, *own, *narrow)} == {np.dtype("float64")}
    assert len({found.tobytes() for found in (*plain, *numbers)}) == 1
    assert len({found.tobytes() for found in (*own, *narrow)}) == 1  # the model takes float32
    assert plain[0].tobytes() != own[0].tobytes()


@pytest.mark.parametrize("way", WAYS)
def test_the_ranking_of_the_scores_arrives_bit_for_bit(ask, world, way):
    ids = [str(number) for number in range(100, 228)]
    scores, release = ask("binary", world.bare).release(ids), ask(way).release(ids)
    assert release.dtype == np.float64
    assert (privee.ranking(release) == privee.ranking(scores)).all()
    assert np.abs(release - scores).max() > 0.1
    higher = scores[:, :, None] > scores[:, None, :]
    assert (release[:, :, None] > release[:, None, :])[higher].all()


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_says_what_it_is(ask, way):
    one = ask(way)
    result = one.ask([str(300 + WAYS.index(way))], request_id="mine")
    said = one.said(result)
    assert (said["defense"], said["remaining"], said["charged"]) == ("privee-u:rho=0.1", LIMIT - 1, 1)
    assert re.fullmatch("[0-9a-f]{32}", said["release_id"])
    response = result.get_response()
    assert (response["id"] if one.over_http else response.id) == "mine"


def test_http_gives_bytes_only_where_they_are_asked_for(ask, world):
    """By default all outputs, or each by its own parameter, whatever the inputs are."""
    one = ask("binary")
    output = one.module.InferRequestedOutput
    for outputs, raw in ((None, True), ([output("release")], True), ([output("release", binary_data=False)], False)):
        (tensor,) = one.ask(["310"], outputs=outputs).get_response()["outputs"]
        assert ("data" in tensor, tensor.get("parameters")) == (not raw, {"binary_data_size": 80} if raw else None)
    one.json = True
    (tensor,) = one.ask(["310"], outputs=None).get_response()["outputs"]
    assert tensor["parameters"] == {"binary_data_size": 80}


# What is refused


@pytest.mark.parametrize("way", WAYS)
def test_every_refusal_has_its_code_and_one_line(ask, world, way):
    one, entity = ask(way), str(320 + WAYS.index(way))
    width = np.full((1, 32), 0.5, np.float32)
    for _ in range(LIMIT):
        one.release([entity])
    told = {
        "spent": one.refusal([entity]),
        "spent, in a batch": one.refusal(["999", entity]),
        "another variant": one.refusal(["330"], width) if one.release(["330"]) is not None else None,
        "nobody": one.refusal(["331", "nobody-7f3a"]),
        "another model": one.refusal(["331"], model="another"),
        "another version": one.refusal(["331"], model_version="7"),
        "an empty id": one.refusal(["331", ""]),
        "a long id": one.refusal(["331", "x" * 257]),
        "not text": one.refusal([b"331", b"\xff\xfe"]) if way != "json" else (400, "Unicode text, position 1"),
        "other columns": one.refusal(["331"], width[:, :3]),
        "columns out of range": one.refusal(["331"], width + 7),
        "not a number": one.refusal(["331"], width * np.nan),
        "too many rows": one.refusal(["331"], np.concatenate([width, width])),
        "too many": one.refusal(["331"] * 4097),
        "classes": one.refusal(["331"], outputs=[one.module.InferRequestedOutput("release", class_count=3)]),
        "another output": one.refusal(["331"], outputs=[one.module.InferRequestedOutput("scores")]),
    }
    wanted = dict.fromkeys(told, 400) | {"spent": 429, "spent, in a batch": 429, "another variant": 429}
    wanted |= {"nobody": 404, "another model": 404, "another version": 404}
    assert {name: code for name, (code, _) in told.items()} == wanted
    for name, (_, words) in told.items():
        assert 5 < len(words) < 400, name
        assert not {"\n", "nobody-7f3a", "Traceback"} & {words, *words.split()}, name
    assert "would give away more than allowed" in told["spent"][1]
    assert "positions 1" in told["nobody"][1]
    assert "position 1" in told["not text"][1]
    assert one.said(one.ask(["331"]))["remaining"] == LIMIT - 1 - WAYS.index(way)  # nothing of it was counted


@pytest.mark.parametrize("way", WAYS)
def test_keys_are_asked_for_and_their_roles_hold(ask, world, way):
    assert ask(way, key=None).refusal(["340"]) == (401, "give a valid API key: Authorization: Bearer KEY")
    code, words = ask(way, key="auditor").refusal(["340"])
    assert (code, "role consumer" in words) == (403, True)
    nobody = ask(way)
    nobody.key = "privee_00000000_" + "x" * 40
    assert nobody.refusal(["340"])[0] == 401
    with pytest.raises(InferenceServerException) as caught:
        nobody.client.get_model_metadata(MODEL, headers=nobody.headers())
    assert status(caught.value) == 401


def test_a_rate_holds_over_both_ways_together(ask, world):
    slow = world.world.api_key("consumer", rate="3/minute")
    ways = [ask(way) for way in ("binary", "grpc", "json", "grpc", "binary")]
    for one in ways:
        one.key = slow
    codes = []
    for one in ways:
        try:
            one.release(["350"])
            codes.append(200)
        except InferenceServerException as error:
            codes.append(status(error))
    assert codes == [200, 200, 200, 429, 429]


def test_an_entity_gives_exactly_its_limit_to_all_ways_at_once(ask, world):
    """Twelve clients, four of each kind, four questions each, about one entity that may give six releases."""
    outcomes: list[int | str] = []
    context, headers = ssl.create_default_context(cafile=world.ca), {"Authorization": f"Bearer {world.key('consumer')}"}

    def over_http(client: httpx.Client, way: str) -> int | str:
        """What the stock client sends, which cannot be used in several threads."""
        told = {"name": "entities", "shape": [1], "datatype": "BYTES"}
        raw = b"\x03\x00\x00\x00360" if way == "binary" else b""
        told |= {"parameters": {"binary_data_size": len(raw)}} if raw else {"data": ["360"]}
        head = json.dumps({"inputs": [told], "parameters": {"binary_data_output": bool(raw)}}).encode()
        length = {"Inference-Header-Content-Length": str(len(head))} if raw else {}
        answer = client.post(f"/v2/models/{MODEL}/infer", content=head + raw, headers=headers | length)
        if answer.status_code != 200:
            return answer.status_code
        size = int(answer.headers.get("Inference-Header-Content-Length", len(answer.content)))
        return json.loads(answer.content[:size])["parameters"]["release_id"]

    def over_grpc(one: Stock, way: str) -> int | str:
        try:
            return one.said(one.ask(["360"]))["release_id"]
        except InferenceServerException as error:
            return status(error)

    def work(way: str) -> None:
        made = httpx.Client(base_url=world.url, verify=context), over_http
        with contextlib.ExitStack() as stack:
            if way == "grpc":
                made = stock(way, world.gateway.ready, world.key("consumer"), world.ca), over_grpc
            client = stack.enter_context(made[0])
            outcomes.extend(made[1](client, way) for _ in range(4))

    threads = [threading.Thread(target=work, args=(way,)) for way in WAYS * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    released = [one for one in outcomes if isinstance(one, str)]
    assert Counter(one for one in outcomes if isinstance(one, int)) == {429: 48 - LIMIT}
    assert len(set(released)) == len(released) == LIMIT
    with httpx.Client(base_url=world.url, verify=context) as client:
        headers = {"Authorization": f"Bearer {world.key('auditor')}"}
        spent = client.post("/ledger/spent", json={"entity": "360"}, headers=headers).json()
        metrics = client.get("/metrics", headers=headers).text
    assert spent["spent"]["releases"] == LIMIT
    assert 'privee_grpc_requests_total{code="OK",method="ModelInfer"}' in metrics


def test_the_examples_of_the_manual_run_as_they_stand(world):
    text = DOCS.read_text(encoding="utf-8").partition("### Stock clients")[2]
    blocks = re.findall(r"```python\n(.*?)```", text.partition("\n### ")[0], flags=re.DOTALL)
    assert len(blocks) == 2
    places = {"gateway.example:8443": world.url.partition("//")[2], "gateway.example:8444": world.gateway.ready["grpc"]}
    places |= {'"ca.pem"': repr(world.ca), '"risk"': repr(MODEL), '["c1000", "c1002"]': '["370", "371"]'}
    places |= {"key = ...": f"key = {world.key('consumer')!r}"}
    for block in blocks:
        assert len(block.splitlines()) <= 11
        code = block
        for there, here in places.items():
            code = code.replace(there, here)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)  # noqa: S603
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"\[\d \d\]\n", done.stdout), done.stdout


def test_what_fails_at_a_party_is_told_alike_and_costs_nothing(ask, world):
    """Last but for the logs: the party is away for a while."""
    world.stop_party(PARTIES[1])
    try:
        for way in WAYS:
            one = ask(way)
            code, words = one.refusal(["380"])
            assert (code in (503, 504), PARTIES[1] in words) == (True, True), words
        until = time.monotonic() + 10  # the gateway looks once a second
        while ask("grpc").client.is_server_ready() and time.monotonic() < until:
            time.sleep(0.1)
        assert not ask("grpc").client.is_server_ready()
        assert not ask("grpc").client.is_model_ready(MODEL)
        assert not ask("binary").client.is_server_ready()
    finally:
        world.start_party(PARTIES[1])
    one = ask("grpc")
    assert one.said(one.ask(["380"]))["remaining"] == LIMIT - 1


def test_logs_hold_neither_ids_nor_keys_nor_releases(ask, world):
    one = ask("grpc")
    release = one.release(["390"])
    assert one.refusal(["marked-entity-5c1e"])[0] == 404
    assert '"route": "ModelInfer", "code": "OK"' in world.log
    assert '"code": "NOT_FOUND"' in world.log
    private = ["marked-entity-5c1e", world.key("consumer")[16:], *(f"{value:.8f}"[:8] for value in release.ravel())]
    assert not [word for word in private if word in world.log and not re.fullmatch(r"-?0\.[02]0*", word)]
    assert "Traceback" not in world.log
