"""The protocol's messages: as everybody else has them, looked over before they are read, and read without surprises."""

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from privee.errors import PriveeError
from privee.gateway.http.binary import MANY, attach, read_numbers, read_texts, split
from privee.gateway.http.problems import RequestValidationError
from privee.gateway.http.protocol import InferRequest, read_query, wants_binary
from privee.gateway.rpc.bounds import MOST_FIELDS, check_fields
from privee.gateway.rpc.messages import CLASSES, MESSAGES, SERVICE
from privee.gateway.rpc.reading import read_infer

MOST = 10_000


def stock_messages():
    return pytest.importorskip("tritonclient.grpc").service_pb2


def field(number: int, payload: bytes) -> bytes:
    size, head = len(payload), bytes([number << 3 | 2])
    while size > 127:
        head, size = head + bytes([size & 127 | 128]), size >> 7
    return head + bytes([size]) + payload


# As everybody else has them


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_that_of_the_stock_client(name):
    """Every field it has, ours has under the same number, of the same kind; or its requests would be misread."""
    module = stock_messages()
    theirs = getattr(module, name.partition(".")[0]).DESCRIPTOR
    for part in name.split(".")[1:]:
        theirs = theirs.nested_types_by_name[part]
    ours = CLASSES[name].DESCRIPTOR
    assert ours.full_name == theirs.full_name

    def told(one):
        inner = one.message_type
        is_map = inner is not None and inner.GetOptions().map_entry
        return one.number, one.type, inner and inner.full_name, is_map, bool(one.containing_oneof)

    for one in theirs.fields:
        assert told(ours.fields_by_name[one.name]) == told(one), one.name


def test_the_service_is_that_of_the_stock_client():
    assert SERVICE in {one.full_name for one in stock_messages().DESCRIPTOR.services_by_name.values()}


def test_a_message_goes_over_and_back():
    theirs = stock_messages().ModelInferRequest(model_name="m", id="x", raw_input_contents=[b"\x00\x01"])
    theirs.inputs.add(name="entities", datatype="BYTES", shape=[2, -1]).parameters["a"].int64_param = -5
    theirs.parameters["b"].string_param = "t"
    ours = CLASSES["ModelInferRequest"].FromString(theirs.SerializeToString())
    assert ours.inputs[0].parameters["a"].int64_param == -5
    assert type(theirs).FromString(ours.SerializeToString()) == theirs


# Looked over

WIDE = {
    "inputs": b"\x2a\x00",
    "inputs with a parameter": b"\x2a\x02\x22\x00",
    "inputs with contents": b"\x2a\x02\x2a\x00",
    "raw contents": b"\x3a\x00",
    "parameters": b"\x22\x00",
    "parameters with a value": b"\x22\x04\x12\x02\x08\x01",
    "unknown fields": b"\x7a\x00",
    "numbers": b"\x78\x01",
}


@pytest.mark.parametrize("kind", WIDE)
def test_a_request_of_many_fields_is_not_read(kind):
    with pytest.raises(PriveeError, match=f"{MOST_FIELDS} fields"):
        check_fields(WIDE[kind] * (MOST_FIELDS + 1), MOST)


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (b"\x22\x00" * (MOST_FIELDS + 1), "fields"),
        (field(4, b"\x12\x00" * (MOST_FIELDS + 1)), "fields"),
        (field(3, b"\x01" * 200), "8 sizes"),
        (field(5, b"\x42\x00" * (MOST + 1)), "values"),
        (field(5, field(6, bytes(4 * MOST + 4))), "values"),
        (field(5, field(3, b"\x01" * (MOST + 1))), "values"),
        (field(5, b"\x42\x00" * (MOST // 4)) * 5, "values"),
    ],
)
def test_a_tensor_of_many_fields_is_not_read(inside, words):
    with pytest.raises(PriveeError, match=words):
        check_fields(field(5, inside), MOST)


def test_as_many_values_as_the_settings_allow_are_read():
    long = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # -1, of ten bytes
    check_fields(field(5, field(5, field(3, long * MOST))), MOST)
    check_fields(field(5, field(5, field(7, bytes(8 * MOST)))), MOST)
    check_fields(field(5, field(5, b"\x42\x00" * MOST) + field(3, b"\x01" * 8)) + field(7, bytes(1 << 20)), MOST)


def test_what_is_read_fits_what_protobuf_reads():
    """All that a stock client sends passes; cut off anywhere within, it does not, or is a shorter message."""
    theirs = stock_messages().ModelInferRequest(model_name="m", raw_input_contents=[b"\x01\x00\x00\x007" * 9])
    theirs.inputs.add(name="entities", datatype="BYTES", shape=[9])
    whole = theirs.SerializeToString()
    _, request = read_infer(whole, MOST)
    assert list(read_query(request, max_entities=9).entities) == ["7"] * 9
    for cut in range(len(whole)):
        with pytest.raises((PriveeError, RequestValidationError)):
            read_query(read_infer(whole[:cut], MOST)[1], max_entities=9)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_request_or_one_clear_error(data):
    with contextlib.suppress(PriveeError, RequestValidationError):
        assert 1 <= len(read_query(read_infer(data, MOST)[1], max_entities=9).entities) <= 9


# Tensors in bytes

TEXTS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=200), min_size=1, max_size=9)


def packed(texts: list[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(one)) + one for one in texts)


@given(TEXTS)
def test_texts_come_back_as_they_were(texts):
    assert read_texts(memoryview(packed([one.encode() for one in texts])), len(texts)) == texts


SHORT = st.lists(st.text(st.sampled_from("\0\1\2\3ab"), max_size=3), min_size=MANY, max_size=MANY + 9)


@given(SHORT, st.integers(0, 100), st.sampled_from([b"", b"\0", b"\1", b"\1\0\0\0a", b"ab"]), st.integers(0, 3))
def test_many_short_texts_come_back_or_their_lengths_are_wrong(texts, place, instead, size):
    """Also such as look like lengths, and bytes in which something was exchanged."""
    data = packed([one.encode() for one in texts])
    assert read_texts(memoryview(data), len(texts)) == texts
    place = min(place, len(data))
    try:
        found = read_texts(memoryview(data[:place] + instead + data[place + size :]), len(texts))
    except PriveeError:
        return
    assert packed([one.encode() for one in found]) == data[:place] + instead + data[place + size :]


@given(st.binary(max_size=60), st.integers(1, 9))
def test_any_bytes_are_texts_or_one_clear_error(data, count):
    try:
        found = read_texts(memoryview(data), count)
    except PriveeError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    assert packed([one.encode() for one in found]) == data


@pytest.mark.parametrize(
    ("data", "count", "words"),
    [
        (b"", 1, "end within position 0"),
        (b"\x01\x00\x00", 1, "end within position 0"),
        (packed([b"a"]) + b"\x02\x00\x00\x00b", 2, "end within position 1"),
        (b"\xff\xff\xff\xff" + b"a" * 9, 1, "end within position 0"),
        (packed([b"a", b"b"]), 1, "5 bytes too many"),
        (packed([b"a", b"\xff"]), 2, "position 1 is not Unicode"),
        (packed([b"a"] * MANY) + b"\x02\x00\x00\x00a" + packed([b"a"]), MANY + 2, f"end within position {MANY + 1}"),
        (packed([b"a"] * MANY) + b"\x03\x00\x00\x00ab", MANY + 1, f"end within position {MANY}"),
        (packed([b"a"] * (MANY + 1)), MANY, "5 bytes too many"),
    ],
)
def test_wrong_lengths_are_told(data, count, words):
    with pytest.raises(PriveeError, match=words):
        read_texts(memoryview(data), count)


def test_numbers_are_as_many_as_the_shape_says():
    row = np.array([[0.5, -0.0, 5e-324]])
    assert read_numbers(memoryview(row.tobytes()), "FP64", [1, 3], "columns").tobytes() == row.tobytes()
    for shape in ([1, 2], [3, 2], [1 << 31] * 8, [0]):
        with pytest.raises(PriveeError, match="24 bytes; its shape and datatype make"):
            read_numbers(memoryview(row.tobytes()), "FP64", shape, "columns")


@pytest.mark.parametrize("length", ["-1", "1e3", "", " 5", "5 ", "0x5", "99999999999", "9" * 5000, "6", "٣"])
def test_a_heads_length_is_a_number_of_bytes_that_are_there(length):
    with pytest.raises(PriveeError, match="Inference-Header-Content-Length"):
        split(length, b"12345")


def test_bytes_behind_a_head_are_somebodys():
    def tensor(**more):
        return {"inputs": [{"name": "entities", "parameters": more}]}

    assert bytes(attach(tensor(binary_data_size=3), memoryview(b"abc"))["inputs"][0]["data"]) == b"abc"
    for given_, behind, words in (
        (tensor(binary_data_size=4), b"abc", "says 4 bytes, and 3 are left"),
        (tensor(binary_data_size=2), b"abc", "1 bytes behind the head belong to no tensor"),
        (tensor(), b"abc", "3 bytes behind the head belong to no tensor"),
        ([], b"abc", "belong to no tensor"),
        ({"inputs": 5}, b"abc", "belong to no tensor"),
        (tensor(binary_data_size=-1), b"abc", "whole number"),
        (tensor(binary_data_size=True), b"abc", "whole number"),
        (tensor(binary_data_size="3"), b"abc", "whole number"),
        (tensor(binary_data_size=1 << 70), b"abc", "bytes, and 3 are left"),
        ({"inputs": [tensor(binary_data_size=3)["inputs"][0] | {"data": []}]}, b"abc", "not both"),
    ):
        with pytest.raises(PriveeError, match=words):
            attach(given_, memoryview(behind))


def test_an_outputs_own_word_goes_before_the_requests():
    tensor = {"name": "entities", "shape": [1], "datatype": "BYTES", "data": ["1"]}
    output = {"name": "release", "parameters": {"binary_data": False}}

    def wanted(**more):
        return wants_binary(InferRequest.model_validate({"inputs": [tensor], **more}))

    assert [wanted(), wanted(parameters={"binary_data_output": True})] == [False, True]
    assert not wanted(parameters={"binary_data_output": True}, outputs=[output])
    assert wanted(outputs=[output | {"parameters": {"binary_data": True}}])
    with pytest.raises(PriveeError, match="true or false"):
        wanted(parameters={"binary_data_output": 1})
    with pytest.raises(ValidationError):
        wanted(outputs=[output | {"name": "scores"}])
