"""Order-preserving encryption: two published schemes and one under a DP mechanism, as defenses.

See docs/encrypted_order.md.
"""

from privee.baselines.ope.frequency_hiding_encryption import FrequencyHidingEncryption
from privee.baselines.ope.frequency_hiding_state import FrequencyHidingState
from privee.baselines.ope.op_epsilon import OpEpsilon
from privee.baselines.ope.order_preserving import OrderPreservingEncryption

__all__ = ["FrequencyHidingEncryption", "FrequencyHidingState", "OpEpsilon", "OrderPreservingEncryption"]
