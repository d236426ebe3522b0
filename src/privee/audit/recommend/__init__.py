"""Which defense, with which settings: one answer to a user's wishes, with the evidence for it."""

from privee.audit.recommend.answer import RankedOption, Recommendation, Wishes
from privee.audit.recommend.choice import recommend
from privee.audit.recommend.evidence import Effort
from privee.audit.recommend.rules import candidates

__all__ = ["Effort", "RankedOption", "Recommendation", "Wishes", "candidates", "recommend"]
