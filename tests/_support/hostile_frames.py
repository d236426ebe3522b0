"""Frames that nobody honest sends."""

import json

import numpy as np
from hypothesis import strategies as st

from privee.party.wire import MAX_ENTITIES, EmbedRequest

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
headers = st.fixed_dictionaries({"entities": json_values | st.lists(st.text()), "columns": json_values}) | json_values


@st.composite
def hostile_frames(draw: st.DrawFn) -> bytes:
    """Noise, headers of the wrong sort with any length before and any numbers after, and good frames cut or bent."""
    if draw(st.booleans()):
        good = bytearray(EmbedRequest(("1", "2"), np.full((2, 32), 0.5, dtype=np.float32)).encode())
        for place in draw(st.lists(st.integers(0, len(good) - 1), max_size=4)):
            good[place] ^= draw(st.integers(1, 255))
        return bytes(good[: draw(st.integers(0, len(good)))])
    text = json.dumps(draw(headers), ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    length = draw(st.just(len(text)) | st.integers(0, 2**32 - 1))
    return draw(st.just(length.to_bytes(4, "big") + text) | st.just(b"")) + draw(st.binary(max_size=64))


def framed(header: bytes, body: bytes = b"") -> bytes:
    return len(header).to_bytes(4, "big") + header + body


NASTY = [
    b"",
    b"\xff\xff\xff\xff",
    framed(b"[" * 100_000),
    framed(b'{"entities":["a"],"columns":[1,' + b"9" * 5000 + b"]}"),
    framed(b'{"entities":["a"],"columns":[1,2]}', b"\0" * 4),
    framed(b'{"entities":["a"],"columns":[1,1]}', np.float32("nan").tobytes()),
    framed(b'{"entities":["a"],"columns":[1,-1]}'),
    framed(b'{"entities":["a"],"columns":NaN}'),
    framed(b'{"entities":["\\ud800"],"columns":null}'),
    framed(b'{"entities":["a"],"columns":null}', b"more"),
    framed(b'{"entities":[],"columns":null}'),
    framed(json.dumps({"entities": ["a"] * (MAX_ENTITIES + 1), "columns": None}).encode()),
    framed(json.dumps({"entities": ["a" * 257], "columns": None}).encode()),
]
