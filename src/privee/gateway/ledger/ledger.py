"""The ledger: counts what every entity gives away, durably and before it leaves, and refuses what would be too much."""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from privee.durable.clock import MonotonicClock
from privee.durable.connections import Connections
from privee.durable.database import LedgerUnavailableError, clear_errors, is_sqlite
from privee.durable.losses import Guard, Marked
from privee.durable.mark import Tally
from privee.durable.secrets import hash_entities, hash_questions
from privee.errors import PriveeError
from privee.gateway.budget.price import Price
from privee.gateway.ledger import losses, opening, resets, views
from privee.gateway.ledger.charge_sql import Counting
from privee.gateway.ledger.charging import DoesNotFitError, charge_all, record_refused, refuse_all
from privee.gateway.ledger.limits import Limits, fits
from privee.gateway.ledger.party_calls import SentCall, record
from privee.gateway.ledger.quoting import MANY, Known, quote, quote_alike, read_overrun
from privee.gateway.ledger.requests import (
    ChargeQuote,
    ChargeRequest,
    OverQuotaError,
    OverVariantsError,
    Receipt,
    RefusedError,
)
from privee.gateway.ledger.secrets import Subkeys, subkeys

__all__ = [
    "ChargeQuote",
    "ChargeRequest",
    "Ledger",
    "LedgerUnavailableError",
    "Limits",
    "OverQuotaError",
    "OverVariantsError",
    "Price",
    "Receipt",
    "RefusedError",
]


class Ledger:
    """An open ledger; safe to use from several threads. Made with `Ledger.open`.

    Attributes:
        engine: connections to its database, for `api_keys` and `audit_chain`.
        keys: what its secret key is used for.
        limits: what every entity may give away.
        lost: that counts are missing in it, in words, if it was opened nevertheless; it can then be read alone.
    """

    def __init__(
        self, engine: sa.Engine, keys: Subkeys, limits: Limits, clock: MonotonicClock, lost: str | None = None
    ) -> None:
        self.engine, self.keys, self.limits, self._clock, self.lost = engine, keys, limits, clock, lost
        self._counting = Counting(limits, mark="?" if is_sqlite(engine) else "%s")
        marked = Marked.beside(engine, keys.mark) if is_sqlite(engine) else None
        self._guard = Guard(marked, self.now(), sound=lost is None) if marked else None
        same = self._guard.same if self._guard else None
        self._writing, self._reading = (Connections(engine, writes=writes, same=same) for writes in (True, False))

    @staticmethod
    def create(url: str, key: bytes) -> None:
        """Make the tables of a new ledger. One that was made with the same key is left as it is."""
        opening.create(url, subkeys(key))

    @staticmethod
    def upgrade(url: str) -> None:
        """Bring a ledger made by an older privee up to date."""
        opening.upgrade(url)

    @classmethod
    def open(
        cls, url: str, key: bytes, *, limits: Limits, clock: MonotonicClock | None = None, lossy: bool = False
    ) -> Ledger:
        """Open a ledger.

        Args:
            url: `sqlite:///path` or `postgresql://user@host/name`.
            key: its secret key.
            limits: what every entity may give away, see `limits_for`.
            clock: for tests.
            lossy: open it for reading even if counts are known to be missing, such as a backup.

        Raises:
            LedgerUnavailableError: counts were lost.
            PriveeError: it is missing, damaged, of another version or made with another key; the line says which.
        """
        keys, clock = subkeys(key), clock or MonotonicClock()
        engine, latest, lost = opening.open_checked(url, keys)
        if lost and not lossy:
            engine.dispose()
            raise LedgerUnavailableError(lost)
        clock.not_before(latest)
        return cls(engine, keys, limits, clock, lost)

    @property
    def chain_key(self) -> bytes:
        """The subkey of the audit chain."""
        return self.keys.chain

    def now(self) -> int:
        """The ledger's own time, in whole seconds since 1970; it never goes back."""
        return self._clock.now()

    def fingerprint(self, *parts: bytes) -> bytes:
        """Of a release with repeatable draws: of everything it depends on besides the entity."""
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(self.keys.fingerprints, message, "sha256")

    def price(self, entities: Sequence[str], price: Price, key_id: str | None = None) -> ChargeQuote:
        """What releases for these entities would come to now. Nothing is charged, and nothing is kept for the asker.

        Args:
            entities: their ids.
            price: of one entity's release.
            key_id: whose quotas count; None is nobody's.
        """
        known, now = self._know(ChargeRequest(entities, price, key_id or "-", "-")), self.now()

        def work(cursor: Any) -> ChargeQuote:
            return self._quote(cursor, known, now, key_id)

        return dataclasses.replace(self._reading.run(work), hashes=known.entities)

    def admits(self, ask: ChargeRequest) -> tuple[bool, Sequence[bytes]]:
        """Whether `price` would allow it, in less time where everybody asked about is far from the limits; and hashes.

        What the highest of all their sums can bear, each of them can.
        """
        known, now = self._know(ask), self.now()

        def work(cursor: Any) -> bool:
            different = set(known.entities)
            if len(different) == len(known.entities) >= MANY:
                overrun = read_overrun(cursor, self._counting, known, now)
                highest = self._counting.highest(cursor, different)
                if overrun is None and fits(self.limits, highest.plus(ask.price)):
                    return True
            return self._quote(cursor, known, now, ask.key_id).allowed

        return self._reading.run(work), known.entities

    def charge(self, ask: ChargeRequest) -> Receipt:
        """Count the releases of a request; they may leave once this returns.

        Raises:
            RefusedError: it would be too much; nothing is counted.
            LedgerUnavailableError: it is not known to be counted, so it must not leave.
        """
        (outcome,) = self.charge_many([ask])
        if isinstance(outcome, RefusedError):
            raise outcome
        return outcome

    def charge_many(self, asks: Sequence[ChargeRequest]) -> list[Receipt | RefusedError]:
        """Count several requests with one wait for the disk; each is counted whole or refused, in the asks' order.

        Raises:
            LedgerUnavailableError: it is not known which are counted, so none may leave.
        """
        known, now = dict(enumerate(map(self._know, asks))), self.now()
        outcomes = self._settle(known, now) if known else {}
        refused = {place: found for place, found in outcomes.items() if isinstance(found, DoesNotFitError)}
        receipts = {place: found for place, found in outcomes.items() if isinstance(found, Receipt)}
        refusals = self._refuse([(known[place], why) for place, why in refused.items()], now)
        answers: dict[int, Receipt | RefusedError] = receipts | dict(zip(refused, refusals, strict=True))
        return [answers[place] for place in sorted(answers)]

    def refuse(self, ask: ChargeRequest) -> RefusedError | None:
        """Record an ask that `price` found too much, without charging; None if by now it would fit."""
        refusal = self.price(ask.entities, ask.price, ask.key_id).refusal
        if refusal is not None:
            known, now = self._know(ask), self.now()
            self._writing.run(lambda cursor: record_refused(cursor, self._counting, known, refusal, now))
        return refusal

    def record_calls(self, calls: Sequence[SentCall]) -> None:
        """Write down what parties were asked, see `party_calls`."""
        self._writing.run(lambda cursor: record(cursor, self._counting.mark, calls))

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to read with; it takes no lock that a charge would wait for."""
        with clear_errors(), self.engine.execution_options(reads=True).connect() as connection:
            yield connection

    def ping(self) -> None:
        """Raises LedgerUnavailableError if the database cannot be read."""
        self._reading.run(lambda cursor: cursor.execute("SELECT value FROM about").fetchall())

    def spent(self, entity: str) -> views.Spending:
        """What an entity has given away."""
        (hashed,) = hash_entities(self.keys.entities, [entity])
        with self.reading() as connection:
            return views.spending_of(connection, self.limits, hashed, self.now())

    def near_limit(self, count: int) -> list[views.Spending]:
        """The entities that have used up most of what is allowed; SQLite reads the whole table."""
        with self.reading() as connection:
            return views.nearest(connection, self.limits, count, self.now())

    def totals(self) -> views.Totals:
        """Counts of the whole ledger."""
        with self.reading() as connection:
            return views.totals(connection)

    def reset(self, entity: str, *, reason: str, actor: str) -> None:
        """Let an entity start anew. An administrative act; what it gave away in its lifetime stays on record."""
        (hashed,) = hash_entities(self.keys.entities, [entity])
        with clear_errors(), self.engine.begin() as connection:
            resets.reset(connection, self.keys.chain, hashed, reason=reason, actor=actor, now=self.now())

    def reset_many(self, entities: Sequence[str], *, reason: str, actor: str) -> int:
        """Let all of these start anew, or none, with one entry in the log; tells how many."""
        hashes = hash_entities(self.keys.entities, entities)
        with clear_errors(), self.engine.begin() as connection:
            return resets.reset_many(connection, self.keys.chain, hashes, reason=reason, actor=actor, now=self.now())

    def reset_charged_by(self, key_id: str, *, since: int = 0, reason: str, actor: str) -> int:
        """The same for all that a key was charged for since a time, such as one that was stolen.

        That is known of keys with a quota of entities or a share, from when they had it.
        """
        with clear_errors(), self.engine.begin() as connection:
            hashes, about = resets.charged_by(connection, key_id, since), {"key": key_id, "since": since}
            return resets.reset_many(
                connection, self.keys.chain, hashes, reason=reason, actor=actor, now=self.now(), about=about
            )

    def accept_loss(self, *, reason: str, actor: str, spend_all: bool = False) -> None:
        """Of a ledger that was opened with `lossy`: go on without what was lost. An administrative act.

        Args:
            reason: for the log.
            actor: who.
            spend_all: every entity in it counts as spent until it is reset or its window ends, since it may be.
        """
        if self.lost is None:
            raise PriveeError("nothing is known to be lost in this ledger, so there is nothing to accept")
        losses.accept(self.engine, self.keys, reason=reason, actor=actor, now=self.now(), spend_all=spend_all)

    def close(self) -> None:
        """Finish what is under way and let go of the database."""
        self._writing.close()
        self._reading.close()
        if self._guard:
            self._guard.close(self.now())
        self.engine.dispose()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _know(self, ask: ChargeRequest) -> Known:
        entities = hash_entities(self.keys.entities, ask.entities) if ask.hashes is None else list(ask.hashes)
        asked = ask.questions
        return Known(ask, entities, None if asked is None else hash_questions(self.keys.questions, entities, asked))

    def _quote(self, cursor: Any, known: Known, now: int, key_id: str | None) -> ChargeQuote:
        different = set(known.entities)
        overrun = read_overrun(cursor, self._counting, known, now) if key_id else None
        if len(different) == len(known.entities) >= MANY:
            found = quote_alike(self.limits, *self._counting.look_alike(cursor, different, now), known, overrun)
            if found is not None:
                return found
        return quote(self.limits, *self._counting.look(cursor, different, now), known, overrun)

    def _settle(self, asks: dict[int, Known], now: int) -> dict[int, Receipt | DoesNotFitError]:
        """All at once; if that does not fit, in two parts, so that a few that are refused cost the others little."""
        try:
            receipts = self._charge(list(asks.values()), now)
        except DoesNotFitError as too_much:
            if len(asks) == 1:
                return dict.fromkeys(asks, too_much)
            parts = _split(asks, too_much)
            return {place: found for part in parts for place, found in self._settle(part, now).items()}
        return dict(zip(asks, receipts, strict=True))

    def _charge(self, asks: list[Known], now: int) -> list[Receipt]:
        if self.lost:
            raise LedgerUnavailableError(self.lost)
        if not self._guard:
            return self._writing.run(lambda cursor: charge_all(cursor, self._counting, asks, now))
        guard = self._guard

        def work(cursor: Any) -> tuple[list[Receipt], Tally]:
            receipts = charge_all(cursor, self._counting, asks, now)
            return receipts, guard.mark.count(cursor, sum(receipt.charged for receipt in receipts), now)

        receipts, tally = self._writing.run(work)
        guard.keep(tally, self._reading)
        return receipts

    def _refuse(self, asks: Sequence[tuple[Known, DoesNotFitError]], now: int) -> list[RefusedError]:
        return self._writing.run(lambda cursor: refuse_all(cursor, self._counting, asks, now)) if asks else []


def _split(asks: dict[int, Known], too_much: DoesNotFitError) -> list[dict[int, Known]]:
    """Those that are not to blame, and the others; in halves if all are."""
    blamed = [place for place, known in asks.items() if too_much.blames(known)]
    later = set(blamed if len(blamed) < len(asks) else blamed[len(blamed) // 2 :])
    parts = ([place for place in asks if place not in later], later)
    return [{place: asks[place] for place in sorted(part)} for part in parts]
