"""What every kind of scorer is: something that makes scores of rows, and says what it takes and gives.

A kind is one file in `kinds`, with the decorator `register`. Its library is imported when one is opened.
"""

from __future__ import annotations

import abc
import hashlib
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.registry import Named

PICKLES = (".pkl", ".pickle", ".joblib", ".sav", ".dill", ".cloudpickle", ".pt", ".pth")
_PICKLED = b"\x80"
VERSION_DIGITS = 16


class Scorer(abc.ABC):
    """Makes scores of rows, in any thread, `threads` of them at once.

    Attributes:
        name: in the registry.
        words: what it is, for people.
        suffixes: of the files that are of this kind.
        threads: more than one for what waits elsewhere, and may change there.
        by_blocks: whether a row's last bits may depend on how many rows it is scored with.
        version: changes with the model.
        names: of the columns it takes, in its order; None if it does not say.
        features: how many numbers a row has; None if it does not say.
        classes: their names; None if it does not say.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    threads: ClassVar[int] = 1
    by_blocks: ClassVar[bool] = True

    version: str
    names: tuple[str, ...] | None = None
    features: int | None = None
    classes: tuple[str, ...] | None = None

    @classmethod
    def takes(cls, given: str) -> bool:
        """Whether this is one of its kind: a file, by how its name ends."""
        return given.lower().endswith(cls.suffixes) if cls.suffixes else False

    @classmethod
    @abc.abstractmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Read it, or reach it within so many seconds; SettingError says what is wrong."""

    @abc.abstractmethod
    def outputs(self, rows: Rows) -> NDArray[Any]:
        """What the model says of rows: (n, classes); or (n,), how likely the second of two classes is.

        Raises:
            PartyError: it cannot be asked now.
            Exception: it can make nothing of these rows.
        """

    def check(self) -> None:
        """Whether it could be asked; PartyError says why not."""
        return

    def close(self) -> None:
        """Let go of it."""
        return


_SCORERS: Named[type[Scorer]] = Named("scorer", ("privee.gateway.scorers.kinds",))
Kind = TypeVar("Kind", bound=type[Scorer])


def register(kind: Kind) -> Kind:
    """Make a kind of scorer known by its name."""
    _SCORERS.add(kind.name, kind)
    return kind


def open_scorer(settings: ScorerSettings, seconds: float) -> Scorer:
    """The scorer that these settings name, ready to be asked."""
    given = settings.given
    kind = next((kind for kind in _SCORERS.known().values() if kind.takes(given)), None)
    if given.lower().endswith(PICKLES):
        raise _pickle(given)
    if kind is None:
        endings = ", ".join(ending for one in _SCORERS.known().values() for ending in one.suffixes)
        raise SettingError(
            f"--scorer {given}: give a file that ends in {endings}, module:function, or an address such as "
            "https://host/v2/models/NAME"
        )
    return kind.open(settings, seconds)


def read_model(given: str) -> tuple[bytes, str]:
    """A model's file and the version it stands for; whatever it is called, a pickle is refused."""
    try:
        content = Path(given).read_bytes()
    except FileNotFoundError:
        raise SettingError(f"--scorer {given}: no such file") from None
    except OSError as error:
        raise PriveeError(f"cannot read {given}: {error.strerror}") from None
    if content[:1] == _PICKLED and content[1:2] <= b"\x05":
        raise _pickle(given)
    return content, hashlib.sha256(content).hexdigest()[:VERSION_DIGITS]


def softmax(values: NDArray[Any]) -> NDArray[np.float64]:
    """Over the last axis, in double precision."""
    logits = np.asarray(values, dtype=np.float64)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return found


def _pickle(given: str) -> SettingError:
    return SettingError(
        f"--scorer {given}: a pickle can run any code when it is read, so none is: save the model as .onnx, .skops, "
        "XGBoost's .json or .ubj, or LightGBM's .txt"
    )
