"""Embedding defenses by name, for the command line, saved runs and other packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privee.errors import PriveeError, SettingError
from privee.registry import Registry
from privee.vfl.embedding_defenses.base import EmbeddingDefense

EMBEDDING_DEFENSES: Registry[EmbeddingDefense] = Registry(
    "embedding defense", ("privee.vfl.embedding_defenses",), "privee.embedding_defenses"
)

register = EMBEDDING_DEFENSES.register
known_embedding_defenses = EMBEDDING_DEFENSES.known


def embedding_defense(name: str, **settings: Any) -> EmbeddingDefense:
    """Make an embedding defense from its name and settings, or from a spec such as `"mid:weight=0.5"`.

    Example:
        >>> embedding_defense("dropout:rate=0.5")
        Dropout(rate=0.5)
        >>> embedding_defense(**embedding_defense("dcor", weight=0.1).settings()).spec
        'dcor:weight=0.1'
    """
    return EMBEDDING_DEFENSES.make(name, **settings)


def saved_embedding_defense(settings: Mapping[str, Any]) -> EmbeddingDefense:
    """From what a run says of it."""
    try:
        return embedding_defense(**settings)
    except (TypeError, SettingError):
        raise PriveeError("these are not the settings of an embedding defense that this privee knows") from None
