"""The demo in four acts: scores undone, a defense undone, an exact ranking undone by chosen questions, and a seal.

Two joint models on bundled digits, and one of them sealed; nothing is downloaded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from privee.audit import Audit, Grid, Subject, run_grid, subject_from_dataset
from privee.audit.sources import subject_from_run
from privee.vfl.run_format import is_finished_run
from privee.vfl.seal import Seal
from privee.vfl.seal.sealing import seal_run

DEFENSES = ("none", "privee-u:rho=0.1", "privee-u+:rho_low=0.1,rho_high=0.9", "ordered-dp:epsilon=4", "ranking-only")
ATTACKS = ("equation-solving", "gradient-inversion", "learned-inversion", "prior-informed", "boosted-trees")
MODELS = ("logistic", "mlp")
QUESTIONS = (5,)
SEAL = Seal(codes=8)
SEALED_ATTACKS = ("boosted-trees", "sealed-code")
KNOWN = 56 / 64
SEED = 1
"""Deals out the columns: 8 pixels across the picture are the passive party's."""


def run_demo(
    folder: Path,
    *,
    seeds: int = 3,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> Audit:
    """Train, attack, sum up; what the folder holds already is not done again."""
    subjects = [
        subject_from_dataset(
            "digits",
            model,
            folder / "models" / model,
            fraction=KNOWN,
            how="random",
            seed=SEED,
            on_step=lambda epoch, of, step, steps, m=model: progress(f"training {m}", epoch, of),  # type: ignore[misc]
        )
        for model in MODELS
    ]
    grid = Grid(defenses=DEFENSES, attacks=ATTACKS, seeds=tuple(range(seeds)), questions=QUESTIONS)
    found = run_grid(
        subjects, grid, jobs=jobs, folder=folder, progress=lambda done, of: progress("attacking", done, of)
    )
    sealed = _sealed(folder / "models" / MODELS[-1], progress)
    last = Grid(defenses=DEFENSES[:1], attacks=SEALED_ATTACKS, seeds=(0,), questions=QUESTIONS, curves=False)
    fourth = run_grid(
        [sealed],
        last,
        jobs=jobs,
        folder=folder / "sealed",
        progress=lambda done, of: progress("attacking the sealed model", done, of),
    )
    parts = ("subjects", "findings", "handouts", "cards")
    return dataclasses.replace(found, **{name: getattr(found, name) + getattr(fourth, name) for name in parts})


def _sealed(run: Path, progress: Callable[[str, int, int], None]) -> Subject:
    """The last model with its passive party sealed."""
    target = run.with_name(f"{run.name}-sealed")
    if not is_finished_run(target):
        seal_run(run, target, SEAL, on_step=lambda epoch, of, step, steps: progress("sealing", epoch, of))
    found = subject_from_run(target)
    return dataclasses.replace(found, name=f"{found.name}, sealed")


def acts(found: Audit) -> tuple[str, ...]:
    """The story in four sentences, with what was measured on the first model, and on the sealed one."""
    none, hidden, ranking = (found.card(spec) for spec in ("none", "privee-u:rho=0.1", "ranking-only"))
    first = f"The scores as they are leave {none.guess_normalised:.1%} of a guess's error: {none.grade}."
    off = hidden.naive.error.mean / hidden.guess.error.mean if hidden.naive is not None else 1.0
    second = (
        f"PRIVEE-U keeps the ranking and moves every score. Who ignores it is off by {off:.0f} times a guess's error; "
        f"who knows it leaves {hidden.guess_normalised:.1%}: {hidden.grade}."
    )
    again = ranking.most_asked
    if again is None:
        return first, second
    third = (
        f"The ranking alone, whatever the numbers, is {ranking.grade} if asked once and honestly. Asked "
        f"{again.questions} times about the same record, with own columns of the attacker's choice, it leaves "
        f"{again.guess_normalised:.1%}: {again.grade}. So the gateway answers one such question about a record."
    )
    return first, second, third, *_fourth(found)


def _fourth(found: Audit) -> tuple[str, ...]:
    """What a seal makes of it: scores as they are, asked for without end."""
    sealed = [card for card in found.cards if card.without_end is not None]
    plain = [info for info in found.subjects if not info.sealed]
    if not sealed or sealed[0].without_end is None:
        return ()
    card, end = sealed[0], sealed[0].without_end
    before = plain[-1].utility if plain else None
    worth = (
        f" Accuracy: {card.utility.accuracy:.1%}, {before.accuracy:.1%} without the seal."
        if card.utility is not None and before is not None
        else ""
    )
    return (
        f"Sealed, the passive party sends one of {SEAL.codes} codes per record, ever. Its scores as they are, asked "
        f"for without end and with chosen columns, leave {end.guess_normalised:.0%}: {end.grade}. The code itself "
        f"tells no less: {SEAL.bits:.0f} bits are all that can leave.{worth}",
    )
