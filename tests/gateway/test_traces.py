"""Spans of a request on a running gateway: their steps, and nothing about entities, scores, features or keys."""

import asyncio
import gzip
import inspect
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import numpy as np
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from privee import traces
from privee.errors import MissingExtraError, SettingError
from privee.gateway.channel.party_channel import PartyChannel
from privee.gateway.demo import World, running_parties
from privee.gateway.inference import Inference
from tests._support.gateway_world import body
from tests._support.local_gateway import Local

ENTITY, STRANGER = "1234", "nobody-knows-98765"
CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture(scope="module")
def parties(folder):
    """The two parties of the bundled run, as processes."""
    with running_parties(World(folder), ("active", "passive-1")) as found:
        yield {name: process.address for name, process in found.items()}


@pytest.fixture
def kept(monkeypatch):
    """What a collector would be sent."""
    spans = InMemorySpanExporter()
    monkeypatch.setattr(traces, "_batches", lambda address: SimpleSpanProcessor(spans))
    return spans


@pytest.fixture
def gateway(folder, tmp_path, parties, kept):
    given = {"parties": parties, "certs": World(folder).certs, "deadline": 5.0, "releases": 1}
    with Local(folder, tmp_path, traces="http://127.0.0.1:9", **given) as found:
        yield found


def asked(gateway: Local, key: str, *entities: str, **more) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}", "traceparent": f"00-{CALLER}-00f067aa0ba902b7-01"}
    headers |= {"tracestate": f"who={STRANGER}", "x-request-id": STRANGER}
    return httpx.post(f"{gateway.url}/v2/models/digits/infer", json=body(*entities, **more), headers=headers)


def ended(kept: InMemorySpanExporter, requests: int) -> tuple:
    """All spans, once so many requests have ended: their answers are there a moment before."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        spans = kept.get_finished_spans()
        if sum(span.name == "privee.request" for span in spans) == requests:
            return spans
        time.sleep(0.01)
    raise AssertionError("the requests' spans did not end")


def tree(spans: tuple) -> list[tuple[str, str | None]]:
    """Each step's name, and that of the step it is part of."""
    names = {span.context.span_id: span.name for span in spans}
    return [(span.name, names.get(span.parent.span_id) if span.parent else None) for span in spans]


def test_a_request_has_its_steps(gateway, kept):
    assert asked(gateway, gateway.key("consumer"), ENTITY).status_code == 200
    spans = ended(kept, 1)
    assert sorted(tree(spans), key=str) == sorted(
        [
            ("privee.party", "privee.parties"),
            ("privee.party", "privee.parties"),
            ("privee.parties", "privee.request"),
            ("privee.release", "privee.request"),
            ("privee.ledger", "privee.request"),
            ("privee.request", None),
        ],
        key=str,
    )
    (request,) = [span for span in spans if span.name == "privee.request"]
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v2/models/{model}/infer",
        "http.response.status_code": 200,
    }
    steps = [span for span in spans if span is not request]
    assert all(request.start_time <= span.start_time <= span.end_time <= request.end_time for span in steps)
    assert {span.attributes.get("privee.party") for span in steps} == {None, "active", "passive-1"}


def words(span) -> dict:
    """A span without its times and the ids that OpenTelemetry draws: those hold every short number by chance."""
    found = json.loads(span.to_json()) | {"context": 0, "parent_id": 0, "start_time": 0, "end_time": 0}
    found["resource"]["attributes"].pop("service.instance.id", None)
    return found


def test_no_id_score_feature_or_key_is_in_a_span(gateway, kept):
    """Answered, refused by the ledger, an unknown id, columns of one's own, and a request that is no JSON."""
    key = gateway.key("consumer")
    columns = np.linspace(0.111111, 0.999999, 32).reshape(1, 32)
    given = [
        *body(ENTITY)["inputs"],
        {"name": "columns", "shape": [1, 32], "datatype": "FP32", "data": columns.tolist()[0]},
    ]
    answers = [asked(gateway, key, ENTITY), asked(gateway, key, ENTITY), asked(gateway, key, STRANGER)]
    answers.append(asked(gateway, key, "77", inputs=[*body("77")["inputs"], given[1]]))
    answers.append(httpx.post(f"{gateway.url}/v2/models/{STRANGER}/infer", content=STRANGER))
    assert [answer.status_code for answer in answers] == [200, 429, 404, 200, 401]
    spans = ended(kept, len(answers))
    told = "".join(span.to_json() for span in spans)
    assert "PartyError" in told  # of an error its type
    assert all(set(span.attributes) <= traces.ATTRIBUTES for span in spans)
    assert not any(span.events or span.links or span.status.description for span in spans)
    text = json.dumps([words(span) for span in spans])
    released = [value for answer in answers[:1] for value in answer.json()["outputs"][0]["data"]]
    secret = [ENTITY, STRANGER, CALLER, "77", key, key.split("_")[1], *map(repr, released), "0.111", "who="]
    assert [one for one in secret if one in text] == []
    assert CALLER not in told  # a caller's trace is not taken over


def test_nothing_is_traced_unless_it_is_asked_for(local, kept):
    httpx.get(f"{local.url}/v2/health/live")
    assert kept.get_finished_spans() == ()
    assert traces._tracer is None


def test_a_step_is_the_function_itself_where_nothing_is_traced():
    """So that it costs one comparison: no span, no further coroutine."""
    for step in (Inference._refuse_early, Inference._release, PartyChannel.embeddings):
        assert step.__wrapped__.__name__ == step.__name__

    async def step() -> int:
        return 7

    made = traces.traced("privee.step")(step)()
    assert inspect.getcoroutinestate(made) == inspect.CORO_CREATED
    assert made.cr_code is step.__code__
    assert traces.within("privee.step", made) is made
    assert asyncio.run(made) == 7


def test_an_attribute_that_nobody_allowed_is_refused():
    with (
        traces.started(SimpleSpanProcessor(InMemorySpanExporter())),
        pytest.raises(ValueError, match="do not say entity"),
        traces.span("privee.step", entity="17"),
    ):
        pass


@pytest.fixture
def collector():
    """Somebody who takes what OpenTelemetry's own exporter sends: its address, and what came."""
    came: list[tuple[str, bytes]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers["content-encoding"] == "gzip"
            came.append((self.path, gzip.decompress(content) if packed else content))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", came
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector(folder, tmp_path, parties, collector):
    address, came = collector
    given = {"parties": parties, "certs": World(folder).certs, "deadline": 5.0}
    with Local(folder, tmp_path, traces=address, **given) as found:
        assert asked(found, found.key("consumer"), ENTITY).status_code == 200
    assert {path for path, _ in came} == {"/v1/traces"}  # what was left was sent at the end
    told = b"".join(content for _, content in came)
    assert all(name in told for name in (b"privee.request", b"privee.parties", b"privee.release", b"privee.ledger"))
    assert b"privee-gateway" in told
    assert not any(word.encode() in told for word in (ENTITY, STRANGER))


def test_a_collector_that_is_away_stops_nobody(folder, tmp_path, parties):
    given = {"parties": parties, "certs": World(folder).certs, "deadline": 5.0}
    with Local(folder, tmp_path, traces="http://127.0.0.1:9", **given) as found:
        began = time.perf_counter()
        assert asked(found, found.key("consumer"), ENTITY).status_code == 200
        assert time.perf_counter() - began < 5


def test_addresses_and_what_is_missing_are_told_before_anything_starts(monkeypatch):
    with pytest.raises(SettingError, match="address of a collector"):
        traces.check("collector:4318")
    traces.check("http://collector:4318")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'privee\[traces\]'"):
        traces.check("http://collector:4318")
