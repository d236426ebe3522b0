"""Messages of a federated run as bytes: unchanged there and back, and anything else refused."""

import contextlib
import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privee.errors import FrameError, PriveeError
from privee.federation.wire.frames import Frame, Note, SiteFailure, decode, encode
from privee.federation.wire.tensors import BYTE, CODES, FLOAT32, FLOAT64, HALF, ROWS, Packing
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
from tests._support.federation import SESSION

finite = st.floats(-1e6, 1e6, width=32)
shapes = hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=6)
floats = hnp.arrays(np.float32, shapes, elements=finite).map(torch.from_numpy)
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
codes = hnp.arrays(np.uint8, st.integers(0, 9)).map(torch.from_numpy)
embeddings, gradients = st.builds(Embedding, st.none() | floats | codes), st.builds(LogitGradient, st.none() | floats)
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
    with pytest.raises(FrameError, match="too large"):
        decode(bytes(frame))
    frame[at : at + 8] = b"\xff\xff\0\0\xff\x0f\0\0"  # one gigabyte
    with pytest.raises(FrameError, match="cut off"):
        decode(bytes(frame))


def test_numbers_must_be_finite():
    with pytest.raises(PriveeError, match="lower learning rate"):
        encode(Frame(SESSION, 1, Embedding(torch.tensor([[float("nan")]]))))
    frame = bytearray(encode(Frame(SESSION, 1, Embedding(torch.tensor([[1.0]])))))
    frame[-4:] = np.float32("inf").tobytes()
    with pytest.raises(FrameError, match="not finite"):
        decode(bytes(frame))


anything = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
)


@given(anything.map(torch.from_numpy), st.sampled_from(list(Packing)))
def test_every_packing_brings_shapes_and_numbers_back(values, packing):
    """Empty sides and the largest numbers too."""
    back = decode(encode(Frame(SESSION, 1, Embedding(values)), packing)).content.values
    assert back.dtype == torch.float32
    assert back.shape == values.shape
    bound = {Packing.EXACT: 0.0, Packing.FP16: 2.0**-10, Packing.INT8: 1 / 252}[packing]
    rows = len(values) if packing is Packing.INT8 else min(1, values.numel())
    flat, off = (t.reshape(rows, values.numel() // max(rows, 1)).double() for t in (values, back - values))
    largest = flat.abs().amax(1, keepdim=True) if flat.numel() else flat.sum(1, keepdim=True)
    assert bool((off.abs() <= bound * largest + 1e-37).all())


# --- bytes that nobody honest sends -------------------------------------------------------------------------------

MUTATIONS = 40_000
LARGE = (0, 1, 2, 3, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)


def head(code: int, *sides: int) -> bytes:
    """A tensor's head, whatever it promises."""
    return bytes([code, len(sides)]) + b"".join(side.to_bytes(4, "little") for side in sides)


def embedding(tensor: bytes) -> bytes:
    """A frame that says it holds an embedding."""
    empty = encode(Frame(SESSION, 1, Embedding(None)))
    return empty[:-2] + tensor


def samples() -> list[bytes]:
    """Good frames of every kind and packing, some with empty tensors."""
    rows, numbers = torch.arange(3), torch.linspace(-1, 1, 6).reshape(3, 2)
    logits = Logits(numbers, rows, True)
    codes = torch.arange(5, dtype=torch.uint8)
    kinds = [Embedding(t) for t in (numbers, numbers[:0], numbers[:, :0], numbers.double(), None, codes, codes[:0])]
    kinds += [
        LogitGradient(numbers),
        logits,
        Logits(numbers[:0], rows[:0], False),
        ReportRequest(),
        Report(1.0, 0.5, 3),
    ]
    kinds += [Work(numbers, rows, True, False), Work(None, rows[:0], False, False)]
    kinds += [WorkAndLogits(Work(numbers[:0], None, True, True), logits), Note("n", {"a": [1, "b"]}, b"body")]
    kinds += [EmbeddingAndGradient(Embedding(one), LogitGradient(None)) for one in (numbers, codes)]
    kinds += [SiteFailure("no")]
    return [encode(Frame(SESSION, 1, kind), packing) for kind in kinds for packing in Packing]


def bent(good: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, a stretch cut out or doubled, or a length put in that means much."""
    data = bytearray(good)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(0, len(data) or 1))
        how = rng.integers(0, 4)
        if how == 0:
            data[place : place + 1] = bytes([rng.integers(0, 256)])
        elif how == 1:
            data[place : place + 4] = int(rng.choice(LARGE)).to_bytes(4, "little")
        elif how == 2:
            del data[place : place + int(rng.integers(1, 9))]
        else:
            data[place:place] = data[place : place + int(rng.integers(1, 9))]
    return bytes(data)


def test_every_mutation_is_a_message_or_a_frame_error():
    rng, good = np.random.default_rng(11), samples()
    read = 0
    for place in range(MUTATIONS):
        with contextlib.suppress(FrameError):
            decode(bent(good[place % len(good)], rng))
            read += 1
    assert read > MUTATIONS / 100  # some do pass, so the rest was not refused at the door


@pytest.mark.parametrize("code", [FLOAT32, FLOAT64, HALF, BYTE, CODES])
@pytest.mark.parametrize("most", [1, 3])
def test_what_a_head_promises_takes_no_memory(code, most):
    """Each of these says how much is to come, and nothing does."""
    tracemalloc.start()
    try:
        for sides in itertools.product((0, 1, 2**16, 2**29, 2**32 - 1), repeat=most):
            with contextlib.suppress(FrameError):
                decode(embedding(head(code, *sides)))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("code", [FLOAT32, FLOAT64, HALF, BYTE])
@pytest.mark.parametrize("sides", [(0, 2**32 - 1, 2**32 - 1), (2**32 - 1,) * 8, (0,) + (2**32 - 1,) * 7])
def test_an_empty_tensor_is_not_endless(code, sides):
    with pytest.raises(FrameError, match="too large"):
        decode(embedding(head(code, *sides) + bytes(64)))


# --- codes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packing", list(Packing))
def test_codes_are_one_byte_each_however_numbers_are_packed(packing):
    codes = torch.tensor([0, 255, 7], dtype=torch.uint8)
    data = encode(Frame(SESSION, 1, Embedding(codes)), packing)
    assert data == embedding(head(CODES, 3) + bytes([0, 255, 7]))
    assert same(Embedding(codes), decode(data).content)


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (head(CODES) + b"x", "a list"),
        (head(CODES, 1, 1) + b"x", "a list"),
        (head(CODES, 2) + b"x", "cut off"),
        (head(CODES, 2**29) + b"x", "cut off"),
        (head(CODES, 2**32 - 1) + b"x", "too large"),
        (head(CODES, 1) + b"xx", "longer"),
    ],
)
def test_what_is_not_a_list_of_codes_is_refused(tensor, words):
    with pytest.raises(FrameError, match=words):
        decode(embedding(tensor))


def test_codes_travel_where_a_party_answers_and_nowhere_else():
    """Not as a gradient, not as row numbers; and nobody packs a table of them."""
    codes = torch.zeros(2, dtype=torch.uint8)
    gradient = encode(Frame(SESSION, 1, LogitGradient(None)))[:-2] + head(CODES, 2) + b"xx"
    with pytest.raises(FrameError, match="unknown kind"):
        decode(gradient)
    rows = encode(Frame(SESSION, 1, Work(None, torch.arange(2), False)))
    assert head(ROWS, 2) in rows
    with pytest.raises(FrameError, match="no row numbers"):
        decode(rows.replace(head(ROWS, 2), head(CODES, 2)))
    with pytest.raises(PriveeError, match="a list"):
        encode(Frame(SESSION, 1, Embedding(codes[None])))


def test_half_characters_are_refused_and_not_sent():
    good = encode(Frame(SESSION, 1, Note("n", {"a": "xxxxxx"})))
    with pytest.raises(FrameError, match="not readable"):
        decode(good.replace(b"xxxxxx", b"\\ud800"))
    assert decode(encode(Frame(SESSION, 1, SiteFailure("file \udcff")))).content.words == "file ?"
