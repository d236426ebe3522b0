"""What passive parties do to the embeddings that they send, on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from privee.vfl.embedding_defenses import EmbeddingDefense

EmbeddingDefenseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--embedding-defense",
        help="What passive parties do to their embeddings: `mid:weight=0.05`, `dcor:weight=1`, `dropout:rate=0.5`, "
        "`adversarial:weight=1`, `hashvfl:signs=4` (a seal); `PARTY:SPEC` is for one. Not with --seal. Repeatable.",
    ),
]


def check_embedding_defenses(texts: Sequence[str] | None, seal: Sequence[str] | None) -> None:
    """Refuse what is no embedding defense before anything else is done, and one beside a seal."""
    if not texts:
        return
    from privee.errors import SettingError
    from privee.vfl.embedding_defenses import embedding_defense
    from privee.vfl.embedding_defenses.given import BOTH, split_party

    if seal:
        raise SettingError(BOTH)
    for text in texts:
        embedding_defense(split_party(text)[1])


def given_embedding_defenses(texts: Sequence[str] | None, passive: Sequence[str]) -> dict[str, EmbeddingDefense]:
    """Each passive party's embedding defense."""
    if not texts:
        return {}
    from privee.vfl.embedding_defenses import parse_embedding_defenses

    return parse_embedding_defenses(texts, passive)
