"""Private set intersection (OpenMined PSI: elliptic-curve Diffie-Hellman on P-256), with bytes in and bytes out.

The client learns which of its own ids the server has; the server learns how many ids the client has. The server's set
travels as RAW, the full list of blinded ids: Bloom filters and Golomb-coded sets are smaller but report ids that are
not there, and one such id would shift every record after it. Work is cut into pieces, one per core at a time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]
from private_set_intersection import python as psi  # type: ignore[import-untyped, unused-ignore]

from privee.errors import PriveeError

SAME_VERSION = "; check that all parties run the same version of privee"
SMALLEST_PIECE, MOST_PIECES = 500, 64

Tick = Callable[[int], None]
"""Called with the number of ids that have just been worked on."""


class PsiClient:
    """The side that learns. The key is fresh and serves one intersection only."""

    def __init__(self, ids: Sequence[str], tick: Tick) -> None:
        self._ids, self._tick = list(ids), tick
        self._key = psi.client.CreateWithNewKey(True).GetPrivateKeyBytes()

    def request(self) -> bytes:
        """This side's ids, blinded."""
        pieces = _in_pieces(
            lambda start, stop: self._worker().CreateRequest(self._ids[start:stop]).encrypted_elements,
            len(self._ids),
            self._tick,
        )
        return _serialized(psi.Request(reveal_intersection=True), pieces)

    def intersection(self, setup: bytes, response: bytes) -> list[int]:
        """Positions of the ids that the other side has too."""
        held, answers = _parsed_setup(setup), _parsed(psi.Response, response)
        if len(answers) != len(self._ids):
            raise PriveeError(f"the answer is about another number of ids than were asked about{SAME_VERSION}")

        def find(start: int, stop: int) -> list[int]:
            piece = psi.Response(encrypted_elements=answers[start:stop])
            return [start + found for found in self._worker().GetIntersection(held, piece)]

        return sorted(_in_pieces(find, len(answers), self._tick))

    def _worker(self) -> Any:
        return psi.client.CreateFromKey(self._key, True)  # objects of the library must not be shared by threads


class PsiServer:
    """The side that answers. The key is fresh and serves one intersection only."""

    def __init__(self, ids: Sequence[str], tick: Tick) -> None:
        self._ids, self._tick = list(ids), tick
        self._key = psi.server.CreateWithNewKey(True).GetPrivateKeyBytes()

    def setup(self) -> bytes:
        """This side's ids, blinded and sorted, so that their order says nothing about rows."""

        def blind(start: int, stop: int) -> Any:
            message = self._worker().CreateSetupMessage(0.0, 1, self._ids[start:stop], psi.DataStructure.RAW)
            return message.raw.encrypted_elements

        message = psi.ServerSetup()
        message.raw.encrypted_elements.extend(sorted(_in_pieces(blind, len(self._ids), self._tick)))
        return bytes(message.SerializeToString())

    def response(self, request: bytes) -> bytes:
        """The other side's blinded ids, blinded once more."""
        asked = _parsed(psi.Request, request)

        def blind(start: int, stop: int) -> Any:
            piece = psi.Request(reveal_intersection=True, encrypted_elements=asked[start:stop])
            return self._worker().ProcessRequest(piece).encrypted_elements

        return _serialized(psi.Response(), _in_pieces(blind, len(asked), self._tick))

    def _worker(self) -> Any:
        return psi.server.CreateFromKey(self._key, True)


def size_of_setup(setup: bytes) -> int:
    """How many ids a setup message holds."""
    return len(_parsed_setup(setup).raw.encrypted_elements)


def _in_pieces(work: Callable[[int, int], Sequence[Any]], size: int, tick: Tick) -> list[Any]:
    """Join what `work(start, stop)` gives for each piece. The library lets go of Python's lock, so threads help."""
    step = max(SMALLEST_PIECE, -(-size // MOST_PIECES))
    pieces = [(start, min(start + step, size)) for start in range(0, size, step)]
    joined: list[Any] = []

    def run(piece: tuple[int, int]) -> Sequence[Any]:
        with _readable():
            return work(*piece)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for (start, stop), part in zip(pieces, pool.map(run, pieces), strict=True):
                joined += part
                tick(stop - start)
        except BaseException:  # an interruption too: do not work through what is left
            pool.shutdown(cancel_futures=True)
            raise
    return joined


def _serialized(message: Any, elements: Sequence[bytes]) -> bytes:
    message.encrypted_elements.extend(elements)
    return bytes(message.SerializeToString())


def _parsed(kind: Any, data: bytes) -> list[bytes]:
    with _readable():
        elements = list(kind.FromString(data).encrypted_elements)
    if not elements:
        raise PriveeError(f"a message holds no ids{SAME_VERSION}")
    return elements


def _parsed_setup(data: bytes) -> Any:
    """A setup message in the one form that gives exact answers: RAW, sorted, nothing twice."""
    with _readable():
        setup = psi.ServerSetup.FromString(data)
    elements = list(setup.raw.encrypted_elements)
    if not elements or any(a >= b for a, b in itertools.pairwise(elements)):
        raise PriveeError(f"a message does not hold a sorted list of blinded ids{SAME_VERSION}")
    return setup


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (DecodeError, RuntimeError):  # the library's words for "not a point on the curve" and the like
        raise PriveeError(f"a message does not hold blinded ids{SAME_VERSION}") from None
