"""One file per defense, one contract (`base`), one registry.

A new defense is a new file here with `@register`; the names below are for readers and type checkers.
"""

from privee.defenses.base import Defense, Guarantee
from privee.defenses.gaussian_noise import GaussianNoise
from privee.defenses.high_confidence import HighConfidence
from privee.defenses.label_only import LabelOnly
from privee.defenses.memguard import MemGuard
from privee.defenses.no_defense import NoDefense
from privee.defenses.one_parameter import OneParameter
from privee.defenses.ordered_dp import OrderedDP
from privee.defenses.privee_u import PriveeU
from privee.defenses.privee_u_plus import PriveeUPlus
from privee.defenses.purifier import Purifier
from privee.defenses.ranking_only import RankingOnly
from privee.defenses.record_order import RecordOrder
from privee.defenses.registry import defense, known_defenses, register
from privee.defenses.repeatable import Repeatable
from privee.defenses.reverse_sigmoid import ReverseSigmoid
from privee.defenses.rounding import Rounding
from privee.defenses.secret_keys import new_key
from privee.defenses.temperature import Temperature
from privee.defenses.top_k import TopK

__all__ = [
    "Defense",
    "GaussianNoise",
    "Guarantee",
    "HighConfidence",
    "LabelOnly",
    "MemGuard",
    "NoDefense",
    "OneParameter",
    "OrderedDP",
    "PriveeU",
    "PriveeUPlus",
    "Purifier",
    "RankingOnly",
    "RecordOrder",
    "Repeatable",
    "ReverseSigmoid",
    "Rounding",
    "Temperature",
    "TopK",
    "defense",
    "known_defenses",
    "new_key",
    "register",
]
