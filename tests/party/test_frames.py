"""Frames between the gateway and a party: they come back as they were, and hostile ones are one error."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privee.errors import FrameError
from privee.party.wire import MAX_ENTITIES, About, EmbedReply, EmbedRequest
from tests._support.hostile_frames import NASTY, hostile_frames

finite = st.floats(-(2.0**59), 2.0**59, width=32)


@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=9), st.integers(0, 5), st.data())
def test_frames_come_back_as_they_were(entities, width, data):
    columns = None
    if width:
        cells = data.draw(st.lists(finite, min_size=width * len(entities), max_size=width * len(entities)))
        columns = np.array(cells, dtype=np.float32).reshape(len(entities), width)
    back = EmbedRequest.decode(EmbedRequest(tuple(entities), columns).encode())
    assert back.entities == tuple(entities)
    assert (back.columns is None) == (columns is None)
    assert columns is None or np.array_equal(back.columns, columns)
    reply = EmbedReply(np.ones((3, 2), dtype=np.float32), (1,), "a" * 64)
    assert EmbedReply.decode(reply.encode(), 3).unknown == (1,)


def test_the_largest_answers_that_are_right_are_read():
    """All unknown; and the longest names that a party can have."""
    every = tuple(range(MAX_ENTITIES))
    reply = EmbedReply(np.zeros((MAX_ENTITIES, 1), dtype=np.float32), every, "a" * 64)
    assert EmbedReply.decode(reply.encode(), MAX_ENTITIES).unknown == every
    about = About("\U0001f3e6" * 300, "a" * 64, 2**31 - 1, 2**31 - 1, 2**62, "v" * 300)
    assert About.decode(about.encode()) == about


@settings(max_examples=300)
@given(hostile_frames())
def test_hostile_frames_are_one_error(frame):
    for decode in (EmbedRequest.decode, lambda frame: EmbedReply.decode(frame, 2), About.decode):
        try:
            found = decode(frame)
        except FrameError:
            continue
        assert decode(found.encode()).encode() == found.encode()  # what can be read could have been written by us


@pytest.mark.parametrize("frame", NASTY, ids=range(len(NASTY)))
def test_nasty_frames_are_refused(frame):
    with pytest.raises(FrameError):
        EmbedRequest.decode(frame)


# A sealed party, and a request's name


def test_codes_are_a_byte_each():
    codes = np.array([0, 15, 3], dtype=np.uint8)
    frame = EmbedReply(None, (0,), "a" * 64, codes, 16).encode()
    back = EmbedReply.decode(frame, 3)
    assert back.embeddings is None
    assert (back.codes.tolist(), back.n_codes, back.unknown) == ([0, 15, 3], 16, (0,))
    assert frame.endswith(codes.tobytes())
    for wrong in (frame + b"\0", frame[:-1], frame[:-1] + b"\x10"):
        with pytest.raises(FrameError):
            EmbedReply.decode(wrong, 3)
    with pytest.raises(FrameError):
        EmbedReply.decode(frame, 2)


@pytest.mark.parametrize("size", [0, 1, 257, 16.0, True, "16", None, [16]])
def test_a_number_of_codes_that_makes_no_sense(size):
    with pytest.raises(FrameError):
        EmbedReply.decode(EmbedReply(None, (), "a" * 64, np.zeros(1, np.uint8), size).encode(), 1)


def test_a_reply_has_embeddings_or_codes_and_never_both():
    header = json.dumps({"unknown": [], "weights": "a" * 64, "codes": 16, "shape": [4, 1]}).encode()
    for body in (b"\0" * 4, b"\0" * 16):
        with pytest.raises(FrameError, match="never both"):
            EmbedReply.decode(len(header).to_bytes(4, "big") + header + body, 4)
    header = json.dumps({"unknown": [], "weights": "a" * 64}).encode()
    with pytest.raises(FrameError, match="embeddings or codes"):
        EmbedReply.decode(len(header).to_bytes(4, "big") + header, 1)


def test_a_request_may_have_a_name():
    plain = EmbedRequest(("a",))
    assert b"request" not in plain.encode()  # an older party reads it
    assert EmbedRequest.decode(plain.encode()).request is None
    named = EmbedRequest(("a",), None, "0f" * 32)
    assert EmbedRequest.decode(named.encode()) == named
    for wrong in ("", "0f", "0F" * 32, "0f" * 33, "\n" * 64):
        with pytest.raises(FrameError):
            EmbedRequest.decode(EmbedRequest(("a",), None, wrong).encode())


def test_a_party_says_it_is_sealed_only_if_it_is():
    plain = About("bank", "a" * 64, 3, 4, 5, "v")
    assert b"codes" not in plain.encode()
    assert b"receipts" not in plain.encode()
    sealed = About("bank", "a" * 64, 1, 4, 5, "v", 16, True)
    assert About.decode(sealed.encode()) == sealed
    for wrong in (About("bank", "a" * 64, 2, 4, 5, "v", 16), About("bank", "a" * 64, 1, 4, 5, "v", 300)):
        with pytest.raises(FrameError):
            About.decode(wrong.encode())
