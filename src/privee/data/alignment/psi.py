"""Blinded ids (OpenMined PSI: elliptic-curve Diffie-Hellman on P-256), with text and bytes in and bytes out.

A blinded id is a point of the curve, hashed from the id and raised to a secret key. Blinded by both sides it is the
same whoever came first, and so it can be compared. Sets travel as RAW, the full list: Bloom filters and Golomb-coded
sets are smaller but report ids that are not there, and one such id would shift every record after it. Work is cut into
pieces, one per core at a time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
from private_set_intersection import python as psi  # type: ignore[import-untyped, unused-ignore]

from privee.errors import PriveeError

SAME_VERSION = "; check that all parties run the same version of privee"
PIECE = 250
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # how many points P-256 has

Tick = Callable[[int], None]
"""Called with the number of ids that have just been worked on."""


def new_key() -> bytes:
    """A fresh secret key; it serves one meeting of two parties only."""
    return bytes(psi.client.CreateWithNewKey(True).GetPrivateKeyBytes())


def undoing(key: bytes) -> bytes:
    """The key that takes this one's blinding off."""
    return pow(int.from_bytes(key), -1, ORDER).to_bytes(32)


def product(one: bytes, other: bytes) -> bytes:
    """The key that blinds as both do, one after the other; if one of them is fresh, it is."""
    return (int.from_bytes(one) * int.from_bytes(other) % ORDER).to_bytes(32)


def blinded(ids: Sequence[str], key: bytes, tick: Tick) -> list[bytes]:
    """The ids, blinded, in their order."""

    def blind(client: Any, start: int, stop: int) -> Any:
        return client.CreateRequest(ids[start:stop]).encrypted_elements

    return _in_pieces(partial(psi.client.CreateFromKey, key, True), blind, len(ids), tick)


def blinded_more(points: Sequence[bytes], key: bytes, tick: Tick) -> list[bytes]:
    """Blinded ids, blinded once more (with the key of `undoing`: once less), in their order."""

    def blind(server: Any, start: int, stop: int) -> Any:
        piece = psi.Request(reveal_intersection=True, encrypted_elements=points[start:stop])
        return server.ProcessRequest(piece).encrypted_elements

    return _in_pieces(partial(psi.server.CreateFromKey, key, True), blind, len(points), tick)


def request_of(points: Sequence[bytes]) -> bytes:
    """Blinded ids as the library's request."""
    return bytes(psi.Request(reveal_intersection=True, encrypted_elements=points).SerializeToString())


def response_of(points: Sequence[bytes]) -> bytes:
    """Blinded ids as the library's response."""
    return bytes(psi.Response(encrypted_elements=points).SerializeToString())


def setup_of(points: Sequence[bytes]) -> bytes:
    """Blinded ids as the library's setup message; they must be sorted, so that their order says nothing about rows."""
    message = psi.ServerSetup()
    message.raw.encrypted_elements.extend(points)
    return bytes(message.SerializeToString())


def points_of_request(data: bytes) -> list[bytes]:
    """The blinded ids of a request."""
    return _parsed(psi.Request, data)


def points_of_response(data: bytes, asked: int) -> list[bytes]:
    """The blinded ids of a response; there must be as many as were asked about."""
    points = _parsed(psi.Response, data)
    if len(points) != asked:
        raise PriveeError(f"the answer is about another number of ids than were asked about{SAME_VERSION}")
    return points


def points_of_setup(data: bytes) -> list[bytes]:
    """The blinded ids of a setup message in the one form that gives exact answers: RAW, sorted, nothing twice."""
    with _readable():
        points = list(psi.ServerSetup.FromString(data).raw.encrypted_elements)
    if not points or any(a >= b for a, b in itertools.pairwise(points)):
        raise PriveeError(f"a message does not hold a sorted list of blinded ids{SAME_VERSION}")
    return points


def _in_pieces(
    make: Callable[[], Any], work: Callable[[Any, int, int], Sequence[Any]], size: int, tick: Tick
) -> list[Any]:
    """Join what `work(tool, start, stop)` gives for each piece. The library lets go of Python's lock, so threads help.

    Its objects must not be shared by threads, and take 2 ms to make: every thread makes its own. Pieces are short, so
    that no core waits long for the last one and an interruption ends the work soon.
    """
    pieces = [(start, min(start + PIECE, size)) for start in range(0, size, PIECE)]
    joined: list[Any] = []
    own = threading.local()

    def run(piece: tuple[int, int]) -> Sequence[Any]:
        if not hasattr(own, "tool"):
            own.tool = make()
        with _readable():
            return work(own.tool, *piece)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for (start, stop), part in zip(pieces, pool.map(run, pieces), strict=True):
                joined += part
                tick(stop - start)
        except BaseException:  # an interruption too: do not work through what is left
            pool.shutdown(cancel_futures=True)
            raise
    return joined


def _parsed(kind: Any, data: bytes) -> list[bytes]:
    with _readable():
        points = list(kind.FromString(data).encrypted_elements)
    if not points:
        raise PriveeError(f"a message holds no ids{SAME_VERSION}")
    return points


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (DecodeError, RuntimeError):  # the library's words for "not a point on the curve" and the like
        raise PriveeError(f"a message does not hold blinded ids{SAME_VERSION}") from None
