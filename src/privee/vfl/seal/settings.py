"""What a seal is to be: how many codes, by which randomised response, and who learns them from what."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from privee.errors import SettingError
from privee.theory import leaked_bits

MOST_CODES = 256
"""A code is a byte."""
USUAL_CODES = 8
LEARN = ("joint", "own")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seal:
    """One passive party's promise: one of so many codes per entity, drawn once, is all that ever leaves.

    Attributes:
        codes: how many there are, 2 to 256; with `signs` given, 2 to their power.
        epsilon: of the randomised response by which a code is drawn; None sends the code as it is.
        learn: `joint` learns codes with the task, from gradients; `own` from the party's own columns alone, so that the
            promise covers training too.
        signs: HashVFL's form: so many signs instead of a free choice among codes.
        sensitive: columns about which the codes should tell little (a pull while they are learned, never a proof).

    Example:
        >>> parse_seal("codes=8,epsilon=4").spec
        'codes=8,epsilon=4'
        >>> parse_seal("codes=8").bits
        3.0
    """

    codes: int = USUAL_CODES
    epsilon: float | None = None
    learn: str = "joint"
    signs: int | None = None
    sensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.signs is not None:
            _check_whole("signs", self.signs, 1, 8)
            object.__setattr__(self, "codes", 2**self.signs)
            if self.learn != "joint":
                raise SettingError("signs are learned with the task; learn=own is for codes")
        _check_whole("codes", self.codes, 2, MOST_CODES)
        if self.epsilon is not None and not 0 < self.epsilon < math.inf:
            raise SettingError(f"the epsilon of a seal must be above 0, got {self.epsilon!r}")
        if self.learn not in LEARN:
            raise SettingError(f"learn must be {' or '.join(LEARN)}, got {self.learn!r}")

    @property
    def bits(self) -> float:
        """What can ever leave, at most."""
        return math.log2(self.codes)

    @property
    def keeps(self) -> float:
        """How likely the randomised response leaves a code as it is, beside a uniform one in its place."""
        if self.epsilon is None:
            return 1.0
        odds = math.exp(min(self.epsilon, 700.0))
        return (odds - 1) / (odds + self.codes - 1)

    def is_as_tight_as(self, other: Seal) -> bool:
        """Whether no more can leave by this one, in training as afterwards, than by the other."""
        bounded = other.epsilon is None or (self.epsilon is not None and self.epsilon <= other.epsilon)
        return self.codes <= other.codes and bounded and (other.learn == "joint" or self.learn == "own")

    @property
    def spec(self) -> str:
        """As it is written on the command line."""
        parts = [f"codes={self.codes}" if self.signs is None else f"signs={self.signs}"]
        parts += [] if self.epsilon is None else [f"epsilon={self.epsilon:g}"]
        parts += [] if self.learn == "joint" else [f"learn={self.learn}"]
        return ",".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self) | {"sensitive": list(self.sensitive)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Seal:
        """The inverse of `as_dict`."""
        try:
            return cls(**{**values, "sensitive": tuple(values.get("sensitive", ()))})
        except TypeError:
            raise SettingError("these are not the settings of a seal") from None


def told_by(seal: Seal) -> dict[str, Any]:
    """What can ever leave a party with this seal, of one record, ready for JSON."""
    return {
        "seal": seal.spec,
        "codes": seal.codes,
        "epsilon": seal.epsilon,
        "bits": seal.bits,
        "leaked_bits": leaked_bits(seal.codes, seal.epsilon),
        "learn": seal.learn,
    }


def parse_seal(text: str) -> Seal:
    """`codes=8`, `codes=8,epsilon=4,learn=own` or `signs=8`."""
    given: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name in given or name not in ("codes", "epsilon", "learn", "signs"):
            raise SettingError(f"a seal is written codes=8[,epsilon=4][,learn=joint|own] or signs=8, not {text!r}")
        given[name] = value if name == "learn" else _number(name, value)
    if "codes" in given and "signs" in given:
        raise SettingError("a seal has codes or signs, not both")
    return Seal(**given)


def parse_seals(texts: Sequence[str], passive: Sequence[str], sensitive: Iterable[str] = ()) -> dict[str, Seal]:
    """Each passive party's seal: `SPEC` is for all of them, `PARTY:SPEC` for one."""
    seals: dict[str, Seal] = {}
    for text in (text for text in texts if ":" not in text):
        if seals:
            raise SettingError("--seal is given twice for all parties; PARTY:codes=8 seals one")
        seals = dict.fromkeys(passive, parse_seal(text))
    named: set[str] = set()
    for party, _, spec in (text.partition(":") for text in texts if ":" in text):
        if party not in passive:
            raise SettingError(f"--seal names {party!r}; the passive parties are {', '.join(passive)}")
        if party in named:
            raise SettingError(f"--seal is given twice for {party}")
        named.add(party)
        seals[party] = parse_seal(spec)
    return with_sensitive(seals, sensitive)


def with_sensitive(seals: Mapping[str, Seal], sensitive: Iterable[str]) -> dict[str, Seal]:
    """The same, each with the sensitive columns that may be its party's."""
    wanted = tuple(sensitive)
    return {name: dataclasses.replace(seal, sensitive=_own(wanted, name)) for name, seal in seals.items()}


def seal_from_options(codes: int | None, epsilon: float | None, learn: str, signs: int | None) -> Seal:
    """A seal as options give it."""
    if codes is not None and signs is not None:
        raise SettingError("a seal has codes or signs, not both")
    return Seal(codes=USUAL_CODES if codes is None else codes, epsilon=epsilon, learn=learn, signs=signs)


def _own(sensitive: Sequence[str], party: str) -> tuple[str, ...]:
    """`COLUMN` is anybody's, `PARTY:COLUMN` one party's."""
    split = [(name.partition(":") if ":" in name else ("", "", name)) for name in sensitive]
    return tuple(column for owner, _, column in split if owner in ("", party))


def _number(name: str, value: str) -> int | float:
    try:
        return float(value) if name == "epsilon" else int(value)
    except ValueError:
        raise SettingError(f"{name} of a seal must be a number, got {value!r}") from None


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise SettingError(f"{name} of a seal must be a whole number from {least} to {most}, got {value!r}")
