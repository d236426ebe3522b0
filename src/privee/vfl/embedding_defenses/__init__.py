"""Embedding defenses: what a passive party does, in training and afterwards, to the embedding that it sends.

They come from the literature and stand beside sealed parties, which bound what leaves (`privee.vfl.seal`). See
`docs/embedding_defenses.md` for what each keeps and costs.
"""

from privee.vfl.embedding_defenses.base import EmbeddingDefense
from privee.vfl.embedding_defenses.given import parse_embedding_defenses
from privee.vfl.embedding_defenses.registry import embedding_defense, known_embedding_defenses

__all__ = ["EmbeddingDefense", "embedding_defense", "known_embedding_defenses", "parse_embedding_defenses"]
