"""A question inside one transaction: codes are pinned or answers counted, and whoever would go beyond is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.party.ledger.statements import Statements
from privee.party.ledger.terms import Cost, Pinned, SealTerms

ANSWER, REFUSAL = "answer", "refusal"
_SAVE, _UNDO = "SAVEPOINT answering", "ROLLBACK TO SAVEPOINT answering"


class Act(NamedTuple):
    """A row for the log; `charged` is how many entities it cost something."""

    act: str
    details: dict[str, Any]
    charged: int = 0
    subject: str = "-"
    actor: str = "coordinator"
    reason: str = ""


def pin(
    cursor: Any,
    statements: Statements,
    entities: Sequence[bytes],
    terms: SealTerms,
    candidates: NDArray[np.uint8],
    *,
    whole: bool,
) -> tuple[Pinned, Act]:
    """The stored code of every entity, or else the candidate, which is stored and charged.

    Args:
        cursor: in its transaction.
        statements: with the limits.
        entities: hashes; of one that is there twice the first candidate counts.
        terms: of the seal.
        candidates: a code for each entity.
        whole: if any entity is refused, nothing is stored for any of them, and no code given.
    """
    cursor.execute(_SAVE)
    _register(cursor, statements.mark, terms)
    offered = dict(zip(reversed(entities), reversed(candidates.tolist()), strict=True))
    held = statements.look_up_codes(cursor, terms.id, offered.keys())  # most were asked about before
    missing = {entity: code for entity, code in offered.items() if entity not in held}
    new = statements.claim_codes(cursor, terms.id, missing)
    refused = new - statements.charge(cursor, dict.fromkeys(new, terms.cost()))
    if refused and whole:
        cursor.execute(_UNDO)
        pinned = Pinned(np.zeros(len(entities), dtype=np.uint8), _which(entities, refused), 0)
        return pinned, _act(REFUSAL, entities, 0, pinned.refused)
    statements.forget_codes(cursor, terms.id, refused)
    held |= statements.look_up_codes(cursor, terms.id, missing.keys() - refused)  # another may have been quicker
    codes = np.array([held.get(entity, 0) for entity in entities], dtype=np.uint8)
    pinned = Pinned(codes, _which(entities, refused), len(new) - len(refused))
    return pinned, _act(ANSWER, entities, pinned.new, pinned.refused)


def count(
    cursor: Any, statements: Statements, entities: Sequence[bytes], digests: Sequence[bytes], *, whole: bool
) -> tuple[NDArray[np.bool_], Act]:
    """One answer more for every entity, and one variant more for every digest that is new; tells who is refused."""
    cursor.execute(_SAVE)
    claimed = statements.claim_variants(cursor, set(zip(entities, digests, strict=True)))
    variants = Counter(entity for entity, _ in claimed)
    costs = {one: Cost(answers=answers, variants=variants[one]) for one, answers in Counter(entities).items()}
    refused = costs.keys() - statements.charge(cursor, costs)
    which = _which(entities, refused)
    if refused and whole:
        cursor.execute(_UNDO)
        return which, _act(REFUSAL, entities, 0, which)
    statements.forget_variants(cursor, {pair for pair in claimed if pair[0] in refused})
    return which, _act(ANSWER, entities, len(costs) - len(refused), which)


def _register(cursor: Any, mark: str, terms: SealTerms) -> None:
    """What a seal's codes cost is settled by its first use."""
    row = (terms.id, terms.codes, *terms.cost()[:2])
    marks = ", ".join([mark] * len(row))
    cursor.execute(f"INSERT INTO seals (seal, codes, bits, epsilon) VALUES ({marks}) ON CONFLICT DO NOTHING", list(row))  # noqa: S608
    cursor.execute(f"SELECT codes, bits, epsilon FROM seals WHERE seal = {mark}", [terms.id])  # noqa: S608 - constants
    if tuple(cursor.fetchone()) != row[1:]:
        raise PriveeError("this seal was used before with another number of codes or another epsilon")


def _which(entities: Iterable[bytes], refused: set[bytes]) -> NDArray[np.bool_]:
    return np.array([entity in refused for entity in entities], dtype=bool)


def _act(act: str, entities: Sequence[bytes], charged: int, refused: NDArray[np.bool_]) -> Act:
    details = {"entities": len(entities), "charged": charged, "refused": int(refused.sum())}
    return Act(act, details, charged)
