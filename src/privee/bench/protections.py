"""Protections that are part of the model: sealed parties, and defenses of the embedding that a party sends.

Each is written KIND:SPEC, such as `seal:codes=8`, and is trained beside the model without it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from privee.errors import SettingError
from privee.vfl.experiment import open_run, train_run, trained_data
from privee.vfl.runs import RunFolder
from privee.vfl.seal import parse_seal
from privee.vfl.seal.sealing import seal_run
from privee.vfl.training import TrainingSettings

SEALS = ("codes=8", "codes=8,epsilon=4", "signs=3")
EMBEDDINGS = "privee.vfl.embedding_defenses"
"""A package of its own: what is registered there is benched as it is."""


class Proof(NamedTuple):
    """What is proven of a protection; `epsilon` is None where no differential privacy is."""

    epsilon: float | None
    proven: str


class Kind(NamedTuple):
    """How to check a spec, what is proven of it, which there are, and how to train with it beside a finished run."""

    proof: Callable[[str], Proof]
    specs: Callable[[], tuple[str, ...]]
    train: Callable[[str, Path, Path, Path | None], None]


def known_protections() -> tuple[str, ...]:
    """Every one that is benched, as KIND:SPEC."""
    return tuple(f"{name}:{spec}" for name, kind in KINDS.items() for spec in kind.specs())


def proof_of(protection: str) -> Proof:
    """What is proven of it; refuses what is no protection."""
    kind, spec = _split(protection)
    return kind.proof(spec)


def train_protected(protection: str, run: Path, target: Path, data_dir: Path | None) -> None:
    """Train the model of a finished run once more, with a protection, into a folder of its own."""
    kind, spec = _split(protection)
    kind.train(spec, run, target, data_dir)


def _split(protection: str) -> tuple[Kind, str]:
    name, colon, spec = protection.partition(":")
    if name not in KINDS or not colon or not spec:
        raise SettingError(f"a protection is written {' or '.join(f'{k}:SPEC' for k in KINDS)}, not {protection!r}")
    return KINDS[name], spec


def _seal_proof(spec: str) -> Proof:
    seal = parse_seal(spec)
    return Proof(seal.epsilon, f"at most {seal.bits:g} bits of a record ever leave")


def _seal(spec: str, run: Path, target: Path, data_dir: Path | None) -> None:
    seal_run(run, target, parse_seal(spec), data_dir=data_dir)


def _embeddings() -> Any:
    """The package of embedding defenses; refuses if this version has none."""
    if importlib.util.find_spec(EMBEDDINGS) is None:
        raise SettingError("this version has no embedding defenses; protections are seals, such as seal:codes=8")
    return importlib.import_module(EMBEDDINGS)


def _embedding_specs() -> tuple[str, ...]:
    if importlib.util.find_spec(EMBEDDINGS) is None:
        return ()
    return tuple(_specs_of(_embeddings().known_embedding_defenses()))


def _specs_of(known: dict[str, Any]) -> Iterator[str]:
    for name, cls in known.items():
        yield from getattr(cls, "benched", ()) or (getattr(cls, "example", "") or name,)


def _embedding_proof(spec: str) -> Proof:
    guarantee = _embeddings().embedding_defense(spec).guarantee()
    return Proof(guarantee.epsilon, guarantee.proven)


def _embedding(spec: str, run: Path, target: Path, data_dir: Path | None) -> None:
    config = RunFolder.open(run).config
    _, new = open_run(run, data_dir=data_dir)
    parties = list(config["parties"])[1:]
    given: dict[str, Any] = {"embedding_defenses": _embeddings().parse_embedding_defenses([spec], parties)}
    train_run(target, trained_data(run, new), config["model"], TrainingSettings(**config["training"]), **given)


KINDS = {
    "seal": Kind(_seal_proof, lambda: SEALS, _seal),
    "embedding": Kind(_embedding_proof, _embedding_specs, _embedding),
}
