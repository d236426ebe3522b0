"""A party's ledger: what leaves is on disk before, and no entity ever gives more than its limits allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privee.durable.audit_chain import Chain, append_by
from privee.durable.clock import MonotonicClock
from privee.durable.connections import Connections
from privee.durable.database import LedgerUnavailableError, clear_errors, is_sqlite
from privee.durable.losses import Guard
from privee.durable.secrets import hash_entities, hash_questions
from privee.errors import PriveeError
from privee.party.ledger import answering, losses, opening, views
from privee.party.ledger.answering import Act
from privee.party.ledger.resealing import reseal
from privee.party.ledger.statements import Statements
from privee.party.ledger.terms import Call, Cost, PartyLimits, Pinned, SealTerms

T = TypeVar("T")
NO_CALL = Call()


class PartyLedger:
    """An open ledger; safe to use from several threads. Made with `PartyLedger.open`.

    Attributes:
        limits: what every entity may spend in its life.
        lost: that something is missing in it, in words, if it was opened nevertheless; it can then be read alone.
    """

    def __init__(self, found: opening.Opened, limits: PartyLimits | None) -> None:
        self._marked, self._keys, self.lost = found.marked, found.keys, found.lost
        self._engine, self._clock = found.marked.engine, MonotonicClock()
        self._clock.not_before(found.latest)
        self._guard = Guard(found.marked, self.now(), sound=found.lost is None)
        self._writing, self._reading = (
            Connections(self._engine, writes=writes, same=self._guard.same) for writes in (True, False)
        )
        with clear_errors(), self._engine.execution_options(reads=True).connect() as connection:
            stored = views.limits(connection)
        self.limits = limits or stored
        self._statements = Statements(self.limits, "?" if is_sqlite(self._engine) else "%s")
        if self.limits != stored and not self.lost:
            self._commit(lambda cursor: (None, views.keep_limits(cursor, self._statements.mark, stored, self.limits)))

    @classmethod
    def open(
        cls,
        address: str | Path,
        secret: Path,
        limits: PartyLimits | None = None,
        *,
        make: bool = True,
        lossy: bool = False,
    ) -> PartyLedger:
        """Open a ledger.

        Args:
            address: a SQLite file, or `postgresql://user@host/name`.
            secret: file of the party's secret, made with the ledger and never again.
            limits: what every entity may spend from now on; None for those it was last opened with.
            make: whether to make secret and ledger where neither is.
            lossy: open it for reading even if something is known to be missing in it.

        Raises:
            LedgerUnavailableError: it is lost, was put back from an old copy, or is a copy.
            PriveeError: it is damaged, of something else or made with another secret; the line says which.
        """
        found = opening.open_checked(address, secret, make=make)
        if found.lost and not lossy:
            found.marked.engine.dispose()
            raise LedgerUnavailableError(found.lost)
        return cls(found, limits)

    def now(self) -> int:
        """The ledger's own time, in whole seconds since 1970; it never goes back."""
        return self._clock.now()

    def pin(
        self,
        entities: Sequence[str],
        terms: SealTerms,
        candidates: NDArray[np.uint8],
        *,
        whole: bool = False,
        call: Call = NO_CALL,
    ) -> Pinned:
        """The code of every entity with this seal: the one that is stored, or else the candidate, from now on for ever.

        A new code is charged to its entity, in bits and epsilon, and is on disk when this returns. An entity that would
        go beyond its limits is refused; nothing is stored for it.

        Args:
            entities: their ids.
            terms: of the seal.
            candidates: a code for each, drawn for its record.
            whole: if one is refused, store and give codes for none.
            call: for the log.

        Raises:
            LedgerUnavailableError: it is not known to be stored, so nothing may leave.
        """
        if candidates.dtype != np.uint8 or candidates.shape != (len(entities),):
            raise PriveeError("candidates must be one byte for each entity")
        if len(candidates) and candidates.max() >= terms.codes:
            raise PriveeError(f"a code must be below {terms.codes}")
        hashes = hash_entities(self._keys.entities, entities)

        def work(cursor: Any) -> tuple[Pinned, Act]:
            pinned, act = answering.pin(cursor, self._statements, hashes, terms, candidates, whole=whole)
            return pinned, _told(act, call)

        return self._commit(work)

    def count(
        self, entities: Sequence[str], digests: Sequence[bytes], *, whole: bool = False, call: Call = NO_CALL
    ) -> NDArray[np.bool_]:
        """Count an answer for every entity, durable when this returns; tells which are refused, and not counted.

        Args:
            entities: their ids; one that is there twice gives two answers.
            digests: for each what its answer depends on; how many differ is limited too. Only a keyed hash is kept.
            whole: if one is refused, count none.
            call: for the log.
        """
        hashes = hash_entities(self._keys.entities, entities)
        seen = hash_questions(self._keys.variants, hashes, digests)

        def work(cursor: Any) -> tuple[NDArray[np.bool_], Act]:
            refused, act = answering.count(cursor, self._statements, hashes, seen, whole=whole)
            return refused, _told(act, call)

        return self._commit(work)

    def reseal(self, entities: Sequence[str] | None, *, reason: str, actor: str) -> int:
        """Forget codes, so that new ones are drawn, and charged, at the next question; tells how many. It is logged.

        Args:
            entities: whose; None for all.
            reason: for the log.
            actor: who.

        Raises:
            PriveeError: one of them has no code, or has spent too much to bear another; nothing is forgotten then.
        """
        hashes = None if entities is None else hash_entities(self._keys.entities, entities)
        return self._commit(lambda cursor: reseal(cursor, self._statements, hashes, reason=reason, actor=actor))

    def spent(self, entity: str) -> Cost:
        """What an entity has spent in its life."""
        (hashed,) = hash_entities(self._keys.entities, [entity])
        return self._reading.run(lambda cursor: self._statements.spent(cursor, [hashed]).get(hashed, Cost()))

    def status(self) -> views.Status:
        """What was spent, in numbers."""
        with clear_errors(), self._engine.execution_options(reads=True).connect() as connection:
            return views.status(connection, self.limits)

    def calls(self) -> list[dict[str, Any]]:
        """Every call in its log, oldest first. They are not verified; `chain` does that."""
        with clear_errors(), self._engine.execution_options(reads=True).connect() as connection:
            return views.calls(connection)

    @property
    def chain(self) -> Chain:
        """Its log of calls and acts."""
        return Chain(self._engine, self._keys.chain)

    @staticmethod
    def accept_loss(address: str | Path, secret: Path, *, reason: str, actor: str, spend_all: bool = False) -> str:
        """Go on with a ledger that has lost something, is a copy, or is gone; tells what it was. It is logged.

        Args:
            address: as in `open`.
            secret: as in `open`.
            reason: for the log.
            actor: who.
            spend_all: no entity in it may have another code or answer, since it may have spent all it may.
        """
        return losses.accept(address, secret, reason=reason, actor=actor, spend_all=spend_all)

    def close(self) -> None:
        """Finish what is under way and let go of the database."""
        self._writing.close()
        self._reading.close()
        self._guard.close(self.now())
        self._engine.dispose()

    def __enter__(self) -> PartyLedger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _commit(self, work: Callable[[Any], tuple[T, Act]]) -> T:
        """One transaction with its row in the log; once it is on disk, the mark is brought as far."""
        if self.lost:
            raise LedgerUnavailableError(self.lost)
        now, guard = self.now(), self._guard

        def logged(cursor: Any) -> tuple[T, Any]:
            result, act = work(cursor)
            entry = {name: value for name, value in act._asdict().items() if name != "charged"}
            append_by(cursor, self._statements.mark, self._keys.chain, at=now, **entry)
            return result, guard.mark.count(cursor, act.charged, now)

        result, tally = self._writing.run(logged)
        guard.keep(tally, self._reading)
        return result


def _told(act: Act, call: Call) -> Act:
    """With what is known of the call; it asked about those that are unknown too."""
    details = act.details | {"entities": act.details["entities"] + call.unknown, "unknown": call.unknown}
    return act._replace(subject=call.request, details=details)
