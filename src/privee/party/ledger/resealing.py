"""Codes that are forgotten, so that a new one is drawn at the next question: an act with its reason in the log."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from privee.durable.audit_chain import REASON, check_text
from privee.durable.database import chunks
from privee.errors import PriveeError
from privee.party.ledger.answering import Act
from privee.party.ledger.statements import Statements
from privee.party.ledger.terms import Cost

RESEAL = "reseal"


def reseal(
    cursor: Any, statements: Statements, entities: Sequence[bytes] | None, *, reason: str, actor: str
) -> tuple[int, Act]:
    """Forget the codes of these entities, with every seal; tells how many codes. What was spent stays spent.

    Args:
        cursor: in its transaction.
        statements: with the limits.
        entities: hashes; None is all that have codes.
        reason: for the log.
        actor: who.

    Raises:
        PriveeError: an entity has no code, or could not bear new ones; then nothing is forgotten.
    """
    reason = check_text(reason, "the reason", REASON)
    if statements.mark != "?":  # SQLite has one writer at a time
        cursor.execute("LOCK TABLE codes IN SHARE ROW EXCLUSIVE MODE")
    held = _held(cursor, statements, entities)
    missing = 0 if entities is None else len(set(entities) - held.keys())
    if missing or not held:
        raise PriveeError(f"{missing or 'all'} of the entities have no code: nothing is forgotten")
    beyond = _beyond(cursor, statements, held)
    if beyond:
        raise PriveeError(
            f"{beyond} of {len(held)} entities have spent too much to bear another code: nothing is forgotten"
        )
    by_seal = defaultdict(list)
    for entity, seals in held.items():
        for seal in seals:
            by_seal[seal].append(entity)
    for seal, of_seal in by_seal.items():
        statements.forget_codes(cursor, seal, of_seal)
    count = sum(map(len, by_seal.values()))
    digest = hashlib.sha256(b"".join(sorted(held))).hexdigest()
    details = {"entities": len(held), "codes": count, "set": digest}
    return count, Act(RESEAL, details, subject=f"{len(held)} entities", actor=actor, reason=reason)


def _held(cursor: Any, statements: Statements, entities: Sequence[bytes] | None) -> dict[bytes, list[bytes]]:
    """The seals that each entity has a code with."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    every = "SELECT entity, seal FROM codes"
    if entities is None:
        cursor.execute(every)
        rows = cursor.fetchall()
    else:
        rows = []
        for chunk in chunks(sorted(set(entities))):
            marks = ", ".join([statements.mark] * len(chunk))
            cursor.execute(f"{every} WHERE entity IN ({marks})", list(chunk))
            rows += cursor.fetchall()
    for entity, seal in rows:
        found[bytes(entity)].append(bytes(seal))
    return found


def _beyond(cursor: Any, statements: Statements, held: dict[bytes, list[bytes]]) -> int:
    """How many could not bear a new code in place of each one that is forgotten."""
    cursor.execute("SELECT seal, bits, epsilon FROM seals")
    costs = {bytes(seal): (bits, epsilon) for seal, bits, epsilon in cursor.fetchall()}
    before = statements.spent(cursor, held.keys())
    sides = ([before.get(entity, Cost())[:2], *(costs[seal] for seal in seals)] for entity, seals in held.items())
    after = (Cost(*map(sum, zip(*side, strict=True))) for side in sides)
    return sum(not statements.limits.allow(cost) for cost in after)
