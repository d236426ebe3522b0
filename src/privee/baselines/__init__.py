"""The encryption baselines: order-preserving encryption (`ope`) and top-k under homomorphic encryption (`he`).

They are defenses like the others and are found by the same names.
"""

from privee.baselines.he.top_k_defense import EncryptedTopK
from privee.baselines.ope import (
    FrequencyHidingEncryption,
    FrequencyHidingState,
    OpEpsilon,
    OrderPreservingEncryption,
)

__all__ = [
    "EncryptedTopK",
    "FrequencyHidingEncryption",
    "FrequencyHidingState",
    "OpEpsilon",
    "OrderPreservingEncryption",
]
