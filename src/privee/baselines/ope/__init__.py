"""Order-preserving encryption: two published schemes, as defenses. See docs/encrypted_order.md."""

from privee.baselines.ope.frequency_hiding_encryption import FrequencyHidingEncryption
from privee.baselines.ope.frequency_hiding_state import FrequencyHidingState
from privee.baselines.ope.order_preserving import OrderPreservingEncryption

__all__ = ["FrequencyHidingEncryption", "FrequencyHidingState", "OrderPreservingEncryption"]
