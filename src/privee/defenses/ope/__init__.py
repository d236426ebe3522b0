"""Order-preserving encryption: two published schemes, as defenses. See docs/encrypted_order.md."""

from privee.defenses.ope.frequency_hiding import FrequencyHidingState
from privee.defenses.ope.frequency_hiding_encryption import FrequencyHidingEncryption
from privee.defenses.ope.order_preserving import OrderPreservingEncryption

__all__ = ["FrequencyHidingEncryption", "FrequencyHidingState", "OrderPreservingEncryption"]
