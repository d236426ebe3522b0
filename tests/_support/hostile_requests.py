"""Bodies and heads of requests of which something is wrong."""

import json

from privee.gateway.demo import MODEL
from tests._support.marked_world import MARK, person
from tests._support.wire import head

INFER = f"/v2/models/{MODEL}/infer"
MIB = 1 << 20
PERSON = person(1)


def tensors(entities, columns=None, **more) -> dict:
    """A request of which anything may be wrong."""
    given = {"name": "entities", "shape": [len(entities)], "datatype": "BYTES", "data": entities}
    wide = {"name": "columns", "shape": [1, 2], "datatype": "FP64", "data": columns}
    return {"inputs": [given | more] + ([] if columns is None else [wide])}


def text(value: object) -> bytes:
    return json.dumps(value).encode()


ONE = tensors([PERSON])
COLUMNS = '{"inputs": [%s, {"name": "columns", "shape": [1, 2], "datatype": "FP64", "data": [%s, 0.5]}]}'
BODIES = {
    "empty": b"",
    "not JSON": b"\x00\x01\x02",
    "not UTF-8": b'{"inputs": "\xff\xfe"}',
    "null": b"null",
    "a list": text([ONE]),
    "a number of 5000 digits": b"9" * 5000,
    "200,000 open brackets": b"[" * 200_000,
    "100,000 nested objects": b'{"inputs":' * 100_000,
    "entities nested 900 deep": text(ONE).replace(b'["', b"[" * 900 + b'"').replace(b'"]', b'"' + b"]" * 900),
    "entities nested 100,000 deep": text(ONE)
    .replace(b'["', b"[" * 100_000 + b'"')
    .replace(b'"]', b'"' + b"]" * 100_000),
    "two million numbers": b'{"inputs": [' + b"0," * 2_000_000 + b"0]}",
    "100,000 entities": text(tensors([PERSON] * 100_000)),
    "4097 entities": text(tensors([PERSON] * 4097)),
    "no entities": text(tensors([])),
    "no tensor": text({"inputs": []}),
    "columns alone": text({"inputs": tensors([PERSON], [0.5, 0.5])["inputs"][1:]}),
    "the tensor twice": text({"inputs": ONE["inputs"] * 2}),
    "three tensors": text({"inputs": ONE["inputs"] * 3}),
    "another name": text(tensors([PERSON], name=MARK)),
    "an unknown field": text(ONE | {MARK: 1}),
    "a lone surrogate as a field": b'{"\\ud800": 1}',
    "a lone surrogate in a parameter's name": text(ONE | {"parameters": {"\ud800": [1]}}),
    "a lone surrogate as the request's id": text(ONE | {"id": "\ud800"}),
    "a lone surrogate as an entity": text(tensors(["\ud800"])),
    "an entity of 300 bytes": text(tensors([MARK + "x" * 300])),
    "an entity with NUL": text(tensors([MARK + "\0"])),
    "an entity that nobody knows": text(tensors([MARK])),
    "an empty entity": text(tensors([""])),
    "a number as text": text(tensors([1])),
    "text as a number": text(tensors([PERSON], datatype="INT64")),
    "true as a number": text(tensors([True], datatype="INT64")),
    "a number beyond 64 bits": text(tensors([1 << 64], datatype="INT64")),
    "1e999 as an entity": text(tensors([1], datatype="INT64"))
    .replace(b"[1],", b"[1e999],", 1)
    .replace(b": [1]}", b": [1e999]}"),
    "a shape of NaN": text(ONE).replace(b"[1]", b"[NaN]"),
    "a shape of true": text(ONE).replace(b"[1]", b"[true]"),
    "a negative shape": text(tensors([PERSON], shape=[-1])),
    "a shape that is not the data's": text(tensors([PERSON], shape=[2])),
    "a shape of nine sizes": text(tensors([PERSON], shape=[1] * 9)),
    "a shape beyond memory": text(
        {"inputs": [*ONE["inputs"], tensors([], [0.5])["inputs"][1] | {"shape": [1, 1 << 31, 1 << 31, 1 << 31]}]}
    ),
    "rows of another width": text(
        {"inputs": [*ONE["inputs"], tensors([], [0.5] * 3)["inputs"][1] | {"shape": [1, 3]}]}
    ),
    "rows of no width": text({"inputs": [*ONE["inputs"], tensors([], [])["inputs"][1] | {"shape": [1, 0]}]}),
    "columns out of range": (COLUMNS % (json.dumps(ONE["inputs"][0]), "7")).encode(),
} | {
    f"{value[:9]} among the columns": (COLUMNS % (json.dumps(ONE["inputs"][0]), value)).encode()
    for value in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 400, '"0.5"', "null", "true", "{}")
}
HEADS = {
    "a path out of the folder": (head("/v2/models/../../etc/passwd", "Content-Length: 0", key="KEY"), 404),
    "an encoded path out of the folder": (
        head("/v2/models/..%2f..%2fetc%2fpasswd/infer", "Content-Length: 0", key="KEY"),
        404,
    ),
    "a model with NUL": (head("/v2/models/%00", method="GET", key="KEY"), 404),
    "a model that is not UTF-8": (head("/v2/models/%ff%fe", method="GET", key="KEY"), 404),
    "a model of 5000 letters": (head(f"/v2/models/{'a' * 5000}", method="GET", key="KEY"), 400),
    "a method that does not exist": (head("/v2", method="FOO"), 400),
    "a method that does not fit": (head("/v2", method="DELETE"), 405),
    "TRACE": (head("/v2", method="TRACE"), 405),
    "CONNECT": (head("gateway:443", method="CONNECT"), 400),
    "a line break in X-Request-ID": (head("/v2", "X-Request-ID: a\nSet-Cookie: b=1", method="GET"), 400),
    "NUL in X-Request-ID": (head("/v2", "X-Request-ID: a\0b", method="GET"), 400),
    "a length below zero": (head(INFER, "Content-Length: -5") + b"{}", 400),
    "a length that is no number": (head(INFER, "Content-Length: many") + b"{}", 400),
    "a length of 5000 digits": (head(INFER, f"Content-Length: {'9' * 5000}") + b"{}", 400),
    "two lengths": (head(INFER, "Content-Length: 2", "Content-Length: 3") + b"{}", 400),
    "a length and chunks": (head(INFER, "Content-Length: 2", "Transfer-Encoding: chunked") + b"0\r\n\r\n", 400),
    "a chunk of no size": (head(INFER, "Transfer-Encoding: chunked") + b"zz\r\n", 400),
    "a length of 17 digits": (head(INFER, f"Content-Length: {'9' * 17}", key="KEY"), 413),
    "a body of 5 MB": (head(INFER, f"Content-Length: {5 * MIB}", key="KEY") + bytes(5 * MIB), 413),
    "a body of 5 MB that is announced": (
        head(INFER, "Expect: 100-continue", f"Content-Length: {5 * MIB}", key="KEY"),
        413,
    ),
    "a key that is not ASCII": (head(INFER, "Authorization: Bearer \xff\xfe", "Content-Length: 2") + b"{}", 401),
    "a key of 60,000 letters": (head(INFER, "Content-Length: 2", key="a" * 60_000) + b"{}", 401),
    "no key": (head(INFER, "Content-Length: 2") + b"{}", 401),
    "HTTP/1.0 without a key": (head(f"/v2/models/{MODEL}", method="GET", version="1.0"), 401),
    "HTTP/2 at once": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a TLS greeting": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), 400),
    "garbage": (bytes(range(256)) * 20, 400),
    "a header of 1 MB": (head("/v2", f"X: {'a' * MIB}", method="GET"), 400),
    "a million bytes of headers": (head("/v2", *["a: b"] * 250_000, method="GET"), 400),
}
