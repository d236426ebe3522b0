"""Which passive party has which embedding defense, as it is given: `SPEC` for all of them, `PARTY:SPEC` for one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from privee.errors import SettingError
from privee.vfl.embedding_defenses.base import EmbeddingDefense
from privee.vfl.embedding_defenses.registry import embedding_defense, known_embedding_defenses
from privee.vfl.seal.settings import Seal

OPTION = "--embedding-defense"
BOTH = "a run has seals or embedding defenses, not both: a sealed party sends no embedding, and HashVFL is a seal"


def parse_embedding_defenses(texts: Sequence[str], passive: Sequence[str]) -> dict[str, EmbeddingDefense]:
    """Each passive party's embedding defense.

    Example:
        >>> found = parse_embedding_defenses(["mid:weight=0.5", "shop:dropout"], ["shop", "clinic"])
        >>> {party: one.spec for party, one in found.items()}
        {'shop': 'dropout', 'clinic': 'mid'}
    """
    split = [split_party(text, passive) for text in texts]
    found: dict[str, EmbeddingDefense] = {}
    for spec in (spec for party, spec in split if party is None):
        if found:
            raise SettingError(f"{OPTION} is given twice for all parties; PARTY:SPEC is for one")
        found = dict.fromkeys(passive, embedding_defense(spec))
    named: set[str] = set()
    for party, spec in split:
        if party is None:
            continue
        if party in named:
            raise SettingError(f"{OPTION} is given twice for {party}")
        named.add(party)
        found[party] = embedding_defense(spec)
    return {party: found[party] for party in passive if party in found}


def split_party(text: str, passive: Collection[str] | None = None) -> tuple[str | None, str]:
    """The party that a text names, if any, and the spec; without `passive`, any name will do."""
    first, _, rest = text.partition(":")
    known = known_embedding_defenses()
    is_party = rest.partition(":")[0] in known
    if is_party and (passive is None or first in passive):
        return first, rest
    if first in known or not rest:
        return None, text
    if is_party and passive is not None:
        raise SettingError(f"{OPTION} names {first!r}; the passive parties are {', '.join(passive)}")
    return None, rest if passive is None else text


def split_seals(
    seals: Mapping[str, Seal], defenses: Mapping[str, EmbeddingDefense]
) -> tuple[dict[str, Seal], dict[str, EmbeddingDefense]]:
    """Seals, with those that were given as embedding defenses (HashVFL), and the embedding defenses that are none."""
    as_seals = {name: one.seal for name, one in defenses.items() if one.seal is not None}
    if seals and as_seals:
        raise SettingError(BOTH)
    return {**seals, **as_seals}, {name: one for name, one in defenses.items() if one.seal is None}


def check_combination(
    defenses: Mapping[str, EmbeddingDefense], seals: Mapping[str, Seal], parties: Sequence[str]
) -> None:
    """Refuse what cannot go together, and parties that are not passive."""
    if defenses and seals:
        raise SettingError(BOTH)
    for name in defenses:
        if name not in parties[1:]:
            raise SettingError(f"only a passive party can have an embedding defense, and {name[:40]!r} is none")
