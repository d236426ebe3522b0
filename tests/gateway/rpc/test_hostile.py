"""What a gateway is told that it should not be: over gRPC, and in bytes over HTTP. Always one line, never a 5xx."""

import asyncio
import dataclasses
import json
import logging
import struct
import threading
import time

import grpc
import httpx
import numpy as np
import pytest

from privee.errors import PriveeError, SettingError
from privee.gateway.demo import MODEL
from privee.gateway.rpc import calls
from privee.gateway.rpc.messages import CLASSES, SERVICE
from privee.gateway.rpc.server import reserve
from tests._support.local_gateway import Local
from tests._support.rpc_requests import request

INFER = f"/v2/models/{MODEL}/infer"
MIB = 1 << 20


@pytest.fixture(scope="module")
def served(folder, tmp_path_factory):
    with Local(folder, tmp_path_factory.mktemp("rpc"), grpc_port=0, deadline=1.0) as found:
        yield found


@pytest.fixture
def call(served):
    """Calls a method with any bytes: its answer, or the code and the words with which it ended."""
    with grpc.insecure_channel(served.grpc, options=[("grpc.max_send_message_length", -1)]) as channel:

        def made(method, data, *, key="consumer", timeout=20, **more):
            metadata = [] if key is None else [("authorization", f"Bearer {served.key(key)}")]
            asked = channel.stream_unary(f"/{SERVICE}/{method}")
            frames = [data] if isinstance(data, bytes) else data
            try:
                return asked(iter(frames), metadata=[*metadata, *more.get("metadata", [])], timeout=timeout)
            except grpc.RpcError as error:
                made.trailing = dict(error.trailing_metadata() or ())
                return error.code().name, error.details()

        yield made


RAW = {"name": "entities", "datatype": "BYTES", "shape": [1]}
ONE = struct.pack("<I", 1) + b"7"
MESSAGES = {
    "nothing": b"",
    "noise": b"\xff\x00\x01" * 50,
    "half a message": request("17")[:-3],
    "another name": request("17", inputs=[RAW | {"name": "ids"}]),
    "no data": request("17", inputs=[RAW]),
    "raw bytes too few": request(inputs=[RAW], raw_input_contents=[ONE[:-1]]),
    "raw bytes too many": request(inputs=[RAW], raw_input_contents=[ONE + b"x"]),
    "a length beyond memory": request(inputs=[RAW], raw_input_contents=[b"\xff\xff\xff\xff7"]),
    "more tensors than inputs": request(inputs=[RAW], raw_input_contents=[ONE, ONE]),
    "raw and contents": request("17", raw_input_contents=[ONE]),
    "a shape beyond memory": request(inputs=[RAW | {"shape": [1 << 31] * 8}], raw_input_contents=[ONE]),
    "a shape of nine sizes": request(inputs=[RAW | {"shape": [1] * 9}], raw_input_contents=[ONE]),
    "a negative shape": request(inputs=[RAW | {"shape": [-1]}], raw_input_contents=[ONE]),
    "no shape": request(inputs=[RAW | {"shape": []}], raw_input_contents=[ONE]),
    "contents of another type": request(inputs=[RAW | {"contents": {"int64_contents": [7]}}]),
    "an unknown type": request(inputs=[RAW | {"datatype": "FP16"}], raw_input_contents=[ONE]),
    "not text": request(inputs=[RAW | {"contents": {"bytes_contents": [b"\xff"]}}]),
    "an empty id": request(""),
    "4097 entities": request(*["7"] * 4097),
    "100,000 entities": request(*["7"] * 100_000),
    "a million inputs": b"\x2a\x00" * 1_000_000,
    "a million parameters": b"\x22\x04\x12\x02\x08\x01" * 600_000,
    "the tensor twice": request(inputs=[RAW, RAW], raw_input_contents=[ONE, ONE]),
    "shared memory": request(
        inputs=[RAW | {"parameters": {"shared_memory_region": CLASSES["InferParameter"](string_param="x")}}],
        raw_input_contents=[ONE],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_wrong_message_is_told_so_in_one_line(served, call, name):
    code, words = call("ModelInfer", MESSAGES[name])
    assert (code, call.trailing["privee-code"]) == ("INVALID_ARGUMENT", "bad-request"), words
    assert 5 < len(words) < 400
    assert "\n" not in words
    assert served.service.ledger.totals().charged == 0


def test_other_ends_of_a_call(served, call, monkeypatch):
    one = request("17")
    assert call("ModelInfer", one, key=None)[0] == "UNAUTHENTICATED"
    assert call("ModelInfer", one, key=None, metadata=[("authorization", "Bearer ")])[0] == "UNAUTHENTICATED"
    assert call("ModelInfer", one, key="auditor")[0] == "PERMISSION_DENIED"
    assert call("ModelInfer", request("17", model_name="other"))[0] == "NOT_FOUND"
    assert call("ModelMetadata", b"\x0a\x01x")[0] == "NOT_FOUND"
    assert call("ModelMetadata", b"\x0a\xff")[0] == "INVALID_ARGUMENT"
    assert call("ModelReady", b"\xff")[0] == "INVALID_ARGUMENT"
    assert call("ModelInfer", one)[0] == "UNAVAILABLE"  # no party is there
    assert call.trailing["privee-code"] == "party-unreachable"
    assert call("Repository", one)[0] == "UNIMPLEMENTED"
    assert call("ModelInfer", [])[0] == "INVALID_ARGUMENT"
    monkeypatch.setattr(calls, "BODY_SECONDS", 0.2)
    waiting = threading.Event()
    code, words = call("ModelInfer", iter(lambda: waiting.wait(3), True))
    waiting.set()
    assert (code, words) == ("DEADLINE_EXCEEDED", "the call's message did not arrive in time")


def test_a_message_beyond_the_limit_ends_there(served, call):
    """The limit is HTTP's; compressed ones are measured unpacked."""
    huge = request("17", raw_input_contents=[bytes(5 * MIB)])
    assert call("ModelInfer", huge)[0] == "RESOURCE_EXHAUSTED"
    with grpc.insecure_channel(served.grpc, compression=grpc.Compression.Gzip) as channel:
        packed = request("17", raw_input_contents=[bytes(64 * MIB)])
        metadata = [("authorization", f"Bearer {served.key('consumer')}")]
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(f"/{SERVICE}/ModelInfer")(packed, metadata=metadata, timeout=20)
    assert caught.value.code().name == "RESOURCE_EXHAUSTED"
    assert call("ServerLive", b"", key=None) == b"\x08\x01"


def test_strangers_cannot_make_it_read_much(served, call):
    assert call("ModelReady", b"\x0a\x06digits", key=None) == b""  # no: there is no party
    assert call("ModelReady", b"\x12" + b"\xa0\x8d\x06" + bytes(100_000), key=None)[0] == "RESOURCE_EXHAUSTED"
    for method in ("ServerLive", "ServerReady", "ServerMetadata"):  # what they are sent is not read
        assert isinstance(call(method, b"\xff\xff", key=None), bytes)


def test_what_nobody_foresaw_is_internal_without_words_of_it(served, call, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "privee.gateway")

    def fails(*_, **__):
        raise ZeroDivisionError("entity 17")

    monkeypatch.setattr("privee.gateway.http.query_routes.read_query", fails)
    code, words = call("ModelInfer", request("17"), metadata=[("x-request-id", "trace-1")])
    assert (code, words) == ("INTERNAL", "something went wrong here; nothing was released")
    assert call.trailing["x-request-id"] == "trace-1"
    (line,) = [one.fields for one in caplog.records if one.msg == "failed"]
    assert line["exception"] == "ZeroDivisionError"
    assert "entity 17" not in str(line)


def test_a_call_whose_caller_is_gone_is_worked_on_and_noted(served, call, monkeypatch, caplog):
    """As over HTTP: what was begun is counted or not, and the log says which."""
    caplog.set_level(logging.INFO, "privee.gateway")
    begun, ended = threading.Event(), threading.Event()

    async def slow(self, query, key_id, *, write=None):
        begun.set()
        await asyncio.sleep(0.5)
        ended.set()
        raise PriveeError("said after its caller was gone")

    monkeypatch.setattr(type(served.service.inference), "infer", slow)
    assert call("ModelInfer", request("17"), timeout=0.2)[0] == "DEADLINE_EXCEEDED"
    assert begun.is_set()
    assert ended.wait(5)
    end = time.monotonic() + 5
    while not (lines := [one.fields for one in caplog.records if one.msg == "request"]) and time.monotonic() < end:
        time.sleep(0.01)
    assert [(line["route"], line["code"], line["entities"]) for line in lines] == [
        ("ModelInfer", "INVALID_ARGUMENT", 1)
    ]


def test_a_call_under_way_is_answered_before_it_stops(folder, tmp_path, monkeypatch):
    begun, told = threading.Event(), []

    async def slow(self, query, key_id, *, write=None):
        begun.set()
        await asyncio.sleep(0.5)
        raise PriveeError("answered all the same")

    with Local(folder, tmp_path, grpc_port=0) as local:
        monkeypatch.setattr(type(local.service.inference), "infer", slow)
        metadata = [("authorization", f"Bearer {local.key('consumer')}")]

        def ask() -> None:
            with grpc.insecure_channel(local.grpc) as channel:
                try:
                    channel.unary_unary(f"/{SERVICE}/ModelInfer")(request("17"), metadata=metadata, timeout=20)
                except grpc.RpcError as error:
                    told.append(error.details())

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(20)
    asking.join()
    assert told == ["answered all the same"]


# Bytes over HTTP

HEAD = "inference-header-content-length"


def binary(tensors, behind: bytes, **more) -> tuple[bytes, dict[str, str]]:
    head = json.dumps({"inputs": tensors} | more).encode()
    return head + behind, {HEAD: str(len(head))}


def raw(size, **more):
    return {"name": "entities", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": size}} | more


COLUMNS = {"name": "columns", "shape": [1, 2], "datatype": "FP32", "parameters": {"binary_data_size": 8}}
BODIES = {
    "cut off": binary([raw(5)], ONE[:-1]),
    "too long": binary([raw(5)], ONE + b"x"),
    "a size that is too small": binary([raw(4)], ONE),
    "a size beyond memory": binary([raw(1 << 62)], ONE),
    "a negative size": binary([raw(-5)], ONE),
    "a size as text": binary([raw("5")], ONE),
    "a length beyond memory": binary([raw(5)], b"\xff\xff\xff\xff7"),
    "a shape beyond memory": binary([raw(5, shape=[1 << 31] * 2)], ONE),
    "more ids than bytes": binary([raw(5, shape=[4096])], ONE),
    "4097 ids": binary([raw(5 * 4097, shape=[4097])], ONE * 4097),
    "data too": binary([raw(5, data=["7"])], ONE),
    "no data": binary([{"name": "entities", "shape": [1], "datatype": "BYTES"}], b""),
    "not text": binary([raw(5)], b"\x01\x00\x00\x00\xff"),
    "an empty id": binary([raw(4)], bytes(4)),
    "an INT64 of four bytes": binary([raw(4, datatype="INT64")], bytes(4)),
    "columns too short": binary([raw(5), COLUMNS], ONE + bytes(7)),
    "columns of another shape": binary([raw(5), COLUMNS | {"shape": [1, 3]}], ONE + bytes(8)),
    "columns for two": binary([raw(5), COLUMNS | {"shape": [2, 1]}], ONE + bytes(8)),
    "columns that are not numbers": binary([raw(5), COLUMNS], ONE + np.array([np.nan, 0], "<f4").tobytes()),
    "columns beyond float32": binary(
        [raw(5), COLUMNS | {"datatype": "FP64", "parameters": {"binary_data_size": 16}}],
        ONE + np.array([1e300, 0]).tobytes(),
    ),
    "no columns": binary([raw(5), COLUMNS | {"shape": [1, 0], "parameters": {"binary_data_size": 0}}], ONE),
    "binary_data_output of another kind": binary([raw(5)], ONE, parameters={"binary_data_output": "yes"}),
    "shared memory": binary([raw(5) | {"parameters": {"binary_data_size": 5, "shared_memory_region": "x"}}], ONE),
    "a head that is not JSON": (b"xxxx" + ONE, {HEAD: "4"}),
    "a head that is a list": (b"[]" + ONE, {HEAD: "2"}),
    "no head": (ONE, {HEAD: "0"}),
    "a head of another length": (binary([raw(5)], ONE)[0], {HEAD: "20"}),
    "a head beyond the body": (binary([raw(5)], ONE)[0], {HEAD: "5000"}),
    "a length that is none": (binary([raw(5)], ONE)[0], {HEAD: "ten"}),
    "a length of 5000 digits": (binary([raw(5)], ONE)[0], {HEAD: "9" * 5000}),
    "no length": (binary([raw(5)], ONE)[0], {}),
    "compressed": (binary([raw(5)], ONE)[0], {"content-encoding": "gzip"}),
    "called text": (binary([raw(5)], ONE)[0], {HEAD: "20", "content-type": "text/plain"}),
}


@pytest.mark.parametrize("name", BODIES)
def test_wrong_bytes_over_http_are_told_so_in_one_line(served, name):
    content, headers = BODIES[name]
    headers = {"authorization": f"Bearer {served.key('consumer')}"} | headers
    answer = httpx.post(f"{served.url}{INFER}", content=content, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request"), answer.text
    assert 5 < len(answer.json()["error"]) < 400
    assert "\n" not in answer.json()["error"]


def test_good_bytes_get_as_far_as_the_parties_and_ask_for_a_key(served):
    content, headers = binary([raw(5)], ONE)
    assert httpx.post(f"{served.url}{INFER}", content=content, headers=headers).status_code == 401
    headers |= {"authorization": f"Bearer {served.key('consumer')}"}
    for kind in ({}, {"content-type": "application/octet-stream"}, {"content-type": "application/json"}):
        answer = httpx.post(f"{served.url}{INFER}", content=content, headers=headers | kind)
        assert (answer.status_code, answer.json()["code"]) == (503, "party-unreachable")
    price = httpx.post(f"{served.url}{INFER}".replace("infer", "price"), content=content, headers=headers)
    assert price.json()["allowed"] is True
    wide = httpx.post(
        f"{served.url}{INFER}", content=b"[" + b"0," * 999_999 + b"0]" + ONE, headers=headers | {HEAD: "2000001"}
    )
    assert (wide.status_code, "values" in wide.json()["error"]) == (400, True)


# The port


def test_a_port_that_is_taken_is_told_before_anything_is_served(served):
    port = int(served.grpc.rpartition(":")[2])
    settings = served.service.settings
    with pytest.raises(PriveeError, match=r"cannot listen on 127\.0\.0\.1"):
        reserve(dataclasses.replace(settings, grpc_port=port))
    for wrong in (-1, 65536, settings.port):
        with pytest.raises(SettingError, match="gRPC port"):
            dataclasses.replace(settings, grpc_port=wrong)
