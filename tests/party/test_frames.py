"""Frames between the gateway and a party: they come back as they were, and hostile ones are one error."""

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
