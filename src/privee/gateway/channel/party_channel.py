"""The gateway's channel to all parties: embeddings for entities, within a deadline."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

import numpy as np

from privee.errors import PriveeError, SettingError
from privee.gateway.channel.batching import BatchAnswer, Floats
from privee.gateway.channel.call_names import CallNames
from privee.gateway.channel.code_line import CodeLine
from privee.gateway.channel.connection import PartyConnection, PartyTimeouts
from privee.gateway.channel.local_line import LocalLine
from privee.net import Address, require_loopback
from privee.party.errors import PartyError
from privee.party.server import PartyHandler
from privee.party.wire import MAX_ENTITIES, MAX_ENTITY_BYTES, are_plain, is_entity
from privee.pki.identity import COORDINATOR_NAME, Identity, TlsFiles
from privee.traces import traced, within
from privee.vfl.seal.code_column import CodeColumn

Line = PartyConnection | CodeLine | LocalLine
__all__ = ["PartyChannel", "PartyHealth", "PartyTimeouts"]


@dataclasses.dataclass(frozen=True)
class PartyHealth:
    """What a party answered when asked how it is.

    Attributes:
        reachable: It answered, and is the party it should be, with the weights it should have.
        seconds: How long that took.
        weights: SHA-256 of its weights file.
        width: Of its embeddings.
        features: Numbers in a row of its encoded columns: the width of `columns` for the first party.
        rows: Entities it knows; None for a database.
        version: Of its privee.
        error: What is wrong, in words; None if nothing is.
    """

    reachable: bool
    seconds: float
    weights: str | None = None
    width: int | None = None
    features: int | None = None
    rows: int | None = None
    version: str | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


class PartyChannel:
    """Asks all parties at once. Requests that come while a party is busy share its next call.

    Args:
        addresses: Each party's `host:port`, by name; the first is the active party.
        tls: The coordinator's certificate; None on loopback alone.
        timeouts: Deadline and retries.
        max_batch: Most entities in one call to a party; a larger request takes several.
        in_flight: Most calls to a party at once.
        expected_weights: SHA-256 of each party's weights file, as the run's config has it; others are a mismatch.
        columns: Codes of the sealed parties that have handed them over, and are not asked.
        local: The active party, if it answers in this process.
        calls: names each call to a party that keeps a ledger of its own.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        tls: TlsFiles | None,
        *,
        timeouts: PartyTimeouts | None = None,
        max_batch: int = 4096,
        in_flight: int = 2,
        expected_weights: Mapping[str, str] | None = None,
        columns: Mapping[str, CodeColumn] | None = None,
        local: PartyHandler | None = None,
        calls: CallNames | None = None,
    ) -> None:
        if not addresses and local is None:
            raise SettingError("a channel needs at least one party")
        if not 1 <= max_batch <= MAX_ENTITIES or in_flight < 1:
            raise SettingError(f"max_batch must lie between 1 and {MAX_ENTITIES}, and in_flight be 1 or more")
        identity = None if tls is None else _coordinator(tls)
        self._timeouts, expected = timeouts or PartyTimeouts(), expected_weights or {}
        self._lines: list[Line] = [] if local is None else [LocalLine(local, self._timeouts, calls)]
        self._lines += [
            PartyConnection(
                name,
                _address(text, identity),
                identity,
                self._timeouts,
                max_batch=max_batch,
                in_flight=in_flight,
                expected_weights=expected.get(name),
                calls=calls,
            )
            for name, text in addresses.items()
        ]
        self._lines += [CodeLine(name, column, expected.get(name)) for name, column in (columns or {}).items()]

    @property
    def parties(self) -> tuple[str, ...]:
        """The parties' names, the active party first."""
        return tuple(line.name for line in self._lines)

    @property
    def features(self) -> int | None:
        """Numbers in a row of the active party's columns, once it has said so."""
        return self._lines[0].features

    @property
    def unchanging(self) -> bool:
        """Whether nobody is asked or counts: what is said of an entity is then the same for ever."""
        return all(line.unchanging for line in self._lines)

    @traced("privee.parties")
    async def embeddings(self, entities: Sequence[str], columns: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Every party's embeddings of these entities, (n, width) float32, by party.

        Args:
            entities: Ids that the parties have in common.
            columns: The active party's own columns for these entities, encoded (n, features) in [0, 1], instead of
                its stored ones.

        Raises:
            PartyError: A party did not answer as it should; of several such parties the first is named.
            PriveeError: Entities or columns are not valid; the message names the place, never an id.
        """
        wanted, own = _checked_entities(entities), _checked_columns(columns, len(entities))
        expires = asyncio.get_running_loop().time() + self._timeouts.deadline
        given = [own, *([None] * (len(self._lines) - 1))]
        asked = [
            within("privee.party", line.embeddings(wanted, mine, expires), privee_party=line.name)
            for line, mine in zip(self._lines, given, strict=True)
        ]
        answers = await _ended(asked)
        return {line.name: _known(line.name, answer) for line, answer in zip(self._lines, answers, strict=True)}

    async def health(self) -> dict[str, PartyHealth]:
        """Ask every party how it is; never raises, and takes no longer than the deadline."""
        healths = await asyncio.gather(*(self._health(line) for line in self._lines))
        return {line.name: health for line, health in zip(self._lines, healths, strict=True)}

    async def close(self) -> None:
        """Close all connections; what is under way fails."""
        await asyncio.gather(*(line.close() for line in self._lines))

    async def _health(self, line: Line) -> PartyHealth:
        started = time.perf_counter()
        expires = asyncio.get_running_loop().time() + self._timeouts.deadline
        try:
            about = await line.about(expires)
        except PartyError as error:
            return PartyHealth(False, time.perf_counter() - started, error=str(error))
        facts = {key: value for key, value in vars(about).items() if key not in ("party", "codes", "receipts")}
        return PartyHealth(True, time.perf_counter() - started, **facts)


async def _ended(asked: Sequence[Awaitable[BatchAnswer]]) -> list[BatchAnswer | Exception]:
    """How each ended, waited for one after the other: all are under way, and `gather` takes longer than that."""
    futures = [asyncio.ensure_future(one) for one in asked]
    answers: list[BatchAnswer | Exception] = []
    try:
        for future in futures:
            try:
                answers.append(await future)
            except Exception as error:
                answers.append(error)
    finally:
        for future in futures[len(answers) :]:  # only if this was given up
            if not future.cancel() and not future.cancelled():
                future.exception()  # asked for, though nobody waits any more
    return answers


def _known(party: str, answer: BatchAnswer | BaseException) -> np.ndarray:
    """The embeddings, if there are all of them."""
    if isinstance(answer, BaseException):
        raise answer
    count, unknown = len(answer.embeddings), answer.unknown
    if unknown:
        words = f"does not know {len(unknown)} of the {count} entities asked for" if count > 1 else "does not know it"
        raise PartyError(party, "unknown-entity", words, unknown)
    return answer.embeddings


def _coordinator(tls: TlsFiles) -> Identity:
    identity = tls.load()
    if COORDINATOR_NAME not in identity.names:
        raise PriveeError(f"{tls.cert} is not the coordinator's certificate: give the folder `coordinator`")
    return identity


def _address(text: str, identity: Identity | None) -> Address:
    address = Address.parse(text)
    if identity is None:
        require_loopback(address, "give the coordinator's certificate, made with `privee certs init`")
    return address


def _checked_entities(entities: Sequence[str]) -> tuple[str, ...]:
    wanted = tuple(entities)
    if not wanted or isinstance(entities, str):
        raise PriveeError("entities must be a list of one text or more")
    for place, entity in enumerate(() if are_plain(wanted) else wanted):
        if not is_entity(entity):
            raise PriveeError(f"entity {place} must be a text of 1 to {MAX_ENTITY_BYTES} bytes of UTF-8")
    return wanted


def _checked_columns(columns: np.ndarray | None, count: int) -> Floats | None:
    if columns is None:
        return None
    values = np.asarray(columns)
    if values.ndim != 2 or len(values) != count or values.dtype.kind not in "fiub":
        raise PriveeError(f"columns must be numbers, one row for each of the {count} entities")
    if not (values.size and values.min() >= 0 and values.max() <= 1):  # written so that NaN fails too
        raise PriveeError("columns must be finite numbers in [0, 1], encoded as in training")
    return values.astype(np.float32)
