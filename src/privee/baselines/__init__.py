"""The encryption baselines: order-preserving encryption (`ope`) and top-k under homomorphic encryption (`he`).

They are defenses like the others and are found by the same names.
"""

from privee.baselines.he.top_k_defense import EncryptedTopK
from privee.baselines.ope import FrequencyHidingEncryption, FrequencyHidingState, OrderPreservingEncryption
from privee.defenses.registry import register

for _cls in (OrderPreservingEncryption, FrequencyHidingEncryption, EncryptedTopK):
    register(_cls)

__all__ = ["EncryptedTopK", "FrequencyHidingEncryption", "FrequencyHidingState", "OrderPreservingEncryption"]
