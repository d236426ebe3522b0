"""Messages of a federated run as bytes: unchanged there and back, and anything else refused."""

import contextlib
import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privee.errors import PriveeError
from privee.federation.errors import FrameError
from privee.federation.frames import Frame, Note, decode, encode
from privee.federation.tensors import Packing
from privee.vfl.messages import (
    Embedding,
    EmbeddingAndGradient,
    LogitGradient,
    Logits,
    Report,
    ReportRequest,
    Work,
    WorkAndLogits,
)
from tests.support_federation import SESSION

finite = st.floats(-1e6, 1e6, width=32)
floats = hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=3, max_side=6), elements=finite).map(
    torch.from_numpy
)
doubles = hnp.arrays(np.float64, (3, 2), elements=st.floats(-1e9, 1e9)).map(torch.from_numpy)
numbers = st.lists(st.integers(0, 2**32 - 1), max_size=8).map(lambda rows: torch.tensor(rows, dtype=torch.int64))
logits = st.integers(0, 5).flatmap(
    lambda n: st.builds(
        Logits,
        hnp.arrays(np.float32, (n, 3), elements=finite).map(torch.from_numpy),
        st.lists(st.integers(0, 99), min_size=n, max_size=n).map(lambda r: torch.tensor(r, dtype=torch.int64)),
        st.booleans(),
    )
)
plain = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.booleans() | st.none())
works = st.builds(Work, st.none() | floats | doubles, st.none() | numbers, st.booleans(), st.booleans())
embeddings, gradients = (st.builds(kind, st.none() | floats) for kind in (Embedding, LogitGradient))
messages = st.one_of(
    works,
    embeddings,
    logits,
    gradients,
    st.builds(WorkAndLogits, works, logits),
    st.builds(EmbeddingAndGradient, embeddings, gradients),
    st.just(ReportRequest()),
    st.builds(Report, st.floats(0, 1e9), st.floats(0, 1), st.integers(0, 2**63)),
    st.builds(Note, st.text(max_size=10), plain, st.binary(max_size=50)),
)


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return a == b


@given(messages, st.binary(min_size=16, max_size=16), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_messages_come_back_unchanged(message, session, step, busy):
    back = decode(encode(Frame(session, step, message, busy)))
    assert (back.session, back.step, back.busy) == (session, step, busy)
    assert same(message, back.content)


@given(messages, st.data())
def test_anything_else_is_refused(message, data):
    """Cut, lengthened or changed bytes give a message or a FrameError, and nothing else."""
    good = encode(Frame(SESSION, 1, message))
    cut = good[: data.draw(st.integers(0, len(good) - 1))]
    if not isinstance(message, Note):  # a note's body has no length of its own; the aligners check theirs
        with pytest.raises(FrameError):
            decode(cut)
        with pytest.raises(FrameError):
            decode(good + b"\0")
    changed = bytearray(good)
    changed[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(FrameError):
        decode(bytes(changed))


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    with pytest.raises(FrameError):
        decode(data)


def test_sizes_are_bounded_before_memory_is_taken():
    frame = bytearray(encode(Frame(SESSION, 1, Embedding(torch.zeros(2, 3)))))
    at = len(frame) - 24 - 8
    frame[at : at + 8] = b"\xff" * 8  # 2**64 numbers, so it says
    with pytest.raises(FrameError, match="cut off"):
        decode(bytes(frame))


def test_numbers_must_be_finite():
    with pytest.raises(PriveeError, match="lower learning rate"):
        encode(Frame(SESSION, 1, Embedding(torch.tensor([[float("nan")]]))))
    frame = bytearray(encode(Frame(SESSION, 1, Embedding(torch.tensor([[1.0]])))))
    frame[-4:] = np.float32("inf").tobytes()
    with pytest.raises(FrameError, match="not finite"):
        decode(bytes(frame))


@given(floats, st.sampled_from([Packing.FP16, Packing.INT8]))
def test_reduced_numbers_are_close(values, packing):
    back = decode(encode(Frame(SESSION, 1, Embedding(values)), packing)).content.values
    assert back.dtype == torch.float32
    assert back.shape == values.shape
    bound = 2.0**-10 if packing is Packing.FP16 else 1 / 253
    largest = values.abs().amax() if packing is Packing.FP16 else values.reshape(len(values), -1).abs().amax(1)
    off = (back - values).abs()
    assert bool((off.reshape(len(values), -1) <= (bound * largest).reshape(-1, 1) + 1e-37).all())
