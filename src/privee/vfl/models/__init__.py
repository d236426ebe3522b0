"""The paper's architectures, and a place for any other pair of modules.

A *bottom* turns one party's columns into an embedding; a *top* takes the list of embeddings and gives logits. A new
architecture is a new file here, named as the model is, with `@register(top=...)` above the maker of its bottoms.
"""

from privee.vfl.models._registry import (
    EMBEDDING,
    MODELS,
    Architecture,
    Bottom,
    ConcatTop,
    SumTop,
    Top,
    architecture,
    dense_top,
    register,
    sum_top,
)
from privee.vfl.models._scaling import Scaling

ARCHITECTURES = MODELS.known()

__all__ = [
    "ARCHITECTURES",
    "EMBEDDING",
    "Architecture",
    "Bottom",
    "ConcatTop",
    "Scaling",
    "SumTop",
    "Top",
    "architecture",
    "dense_top",
    "register",
    "sum_top",
]
