"""privee: release joint predictions without giving away the columns behind them.

>>> import privee
>>> scores = [[0.7, 0.2, 0.1]]
>>> release = privee.PriveeU(rho=0.1).release(scores)
>>> privee.ranking(release)
array([[0, 1, 2]])
"""

from privee import theory
from privee.defenses import (
    Defense,
    EncryptedTopK,
    FrequencyHidingEncryption,
    GaussianNoise,
    Guarantee,
    LabelOnly,
    NoDefense,
    OrderedDP,
    OrderPreservingEncryption,
    PriveeU,
    PriveeUPlus,
    RankingOnly,
    Repeatable,
    Rounding,
    Temperature,
    TopK,
    defense,
    known_defenses,
    new_key,
    register,
)
from privee.errors import PriveeError, ScoreError, SettingError
from privee.randomness import Draws, keyed, secure, seeded
from privee.scores import SUM_TOLERANCE, check_scores, ranking
from privee.version import __version__

__all__ = [
    "SUM_TOLERANCE",
    "Defense",
    "Draws",
    "EncryptedTopK",
    "FrequencyHidingEncryption",
    "GaussianNoise",
    "Guarantee",
    "LabelOnly",
    "NoDefense",
    "OrderPreservingEncryption",
    "OrderedDP",
    "PriveeError",
    "PriveeU",
    "PriveeUPlus",
    "RankingOnly",
    "Repeatable",
    "Rounding",
    "ScoreError",
    "SettingError",
    "Temperature",
    "TopK",
    "__version__",
    "check_scores",
    "defense",
    "keyed",
    "known_defenses",
    "new_key",
    "ranking",
    "register",
    "secure",
    "seeded",
    "theory",
]
