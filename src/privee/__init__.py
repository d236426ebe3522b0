"""privee: release joint predictions without giving away the columns behind them.

>>> import privee
>>> scores = [[0.7, 0.2, 0.1]]
>>> release = privee.PriveeU(rho=0.1).release(scores)
>>> privee.ranking(release)
array([[0, 1, 2]])
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from privee import theory
from privee.baselines import EncryptedTopK, FrequencyHidingEncryption, OpEpsilon, OrderPreservingEncryption
from privee.defenses import (
    Defense,
    GaussianNoise,
    Guarantee,
    HighConfidence,
    LabelOnly,
    MemGuard,
    NoDefense,
    OneParameter,
    OrderedDP,
    PriveeU,
    PriveeUPlus,
    Purifier,
    RankingOnly,
    RecordOrder,
    Repeatable,
    ReverseSigmoid,
    Rounding,
    Temperature,
    TopK,
    defense,
    known_defenses,
    new_key,
    register,
)
from privee.defenses.protected_tables import protect
from privee.errors import PriveeError, ScoreError, SettingError, UnavailableError
from privee.randomness import Draws, keyed, secure, seeded
from privee.scores import SUM_TOLERANCE, check_scores, ranking
from privee.version import __version__

if TYPE_CHECKING:
    from privee.client import AsyncClient, Client

__all__ = [
    "SUM_TOLERANCE",
    "AsyncClient",
    "Client",
    "Defense",
    "Draws",
    "EncryptedTopK",
    "FrequencyHidingEncryption",
    "GaussianNoise",
    "Guarantee",
    "HighConfidence",
    "LabelOnly",
    "MemGuard",
    "NoDefense",
    "OneParameter",
    "OpEpsilon",
    "OrderPreservingEncryption",
    "OrderedDP",
    "PriveeError",
    "PriveeU",
    "PriveeUPlus",
    "Purifier",
    "RankingOnly",
    "RecordOrder",
    "Repeatable",
    "ReverseSigmoid",
    "Rounding",
    "ScoreError",
    "SettingError",
    "Temperature",
    "TopK",
    "UnavailableError",
    "__version__",
    "check_scores",
    "defense",
    "keyed",
    "known_defenses",
    "new_key",
    "protect",
    "ranking",
    "register",
    "secure",
    "seeded",
    "theory",
]
if find_spec("httpx") is None:  # `from privee import *` asks for every name, and these two cannot be had
    __all__.remove("AsyncClient")
    __all__.remove("Client")


def __getattr__(name: str) -> Any:
    """The gateway's client is loaded when it is asked for: most users need no HTTP."""
    if name in {"AsyncClient", "Client"}:
        from privee import client

        return getattr(client, name)
    raise AttributeError(f"module 'privee' has no attribute {name!r}")
