"""Attacks of the related work beside ours, on the same models, with the best guess as the measure.

    PRIVEE_DATA_DIR=... nice python -m benchmarks.field_attacks [equations trees questions embeddings]

equations   logistic models: from zero, from the middle, Chebyshev centre; where equations suffice and where not
trees       models without gradients: learned inversion, a shadow, candidates
questions   the zeroth-order attack of the active and of the passive party, by number of questions
embeddings  what a coordinator makes of what parties send it

Prints what is left of the best guess's error (1: nothing was told) and stores benchmarks/results/field_attacks.json.
Under ten minutes on one core. Models are kept in benchmarks/runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from privee.attacks import attack
from privee.attacks.metrics import feature_mse
from privee.audit import Subject, subject_from_arrays, subject_from_dataset
from privee.audit.subject import Sample
from privee.audit.task import simulated
from privee.data.datasets import load_dataset
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.vfl.training import TrainingSettings

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "field_attacks.json"
DEFENSES = ("none", "privee-u:rho=0.1", "ordered-dp:epsilon=4", "ranking-only")
DRIVE = TrainingSettings(epochs=8, batch_size=128, learning_rate=1e-3)
Rows = Iterator[dict[str, Any]]


def trained(dataset: str, model: str, fraction: float | None = None) -> Subject:
    """A run on a dataset; drive is large, and trained a little less."""
    folder = HERE / "runs" / f"field-{dataset}-{model}-{fraction or 0.5:.3f}"
    settings = DRIVE if dataset == "drive" else None
    how = "random" if fraction else None
    return subject_from_dataset(dataset, model, folder, fraction=fraction, how=how, seed=1, settings=settings)


def of_trees(dataset: str, kind: str, known: int) -> Subject:
    """A forest or boosted trees on joined columns, as a function that can only be called."""
    data, order = load_dataset(dataset, seed=0), None
    train, test = (x.reshape(len(x), -1).astype(float)[:3000] for x in (data.x_train, data.x_test))
    order = np.random.default_rng(1).permutation(train.shape[1])
    model = {
        "boosted": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "forest": RandomForestClassifier(60, min_samples_leaf=3, random_state=0),
    }[kind].fit(train[:, order], data.y_train[:3000])
    test = test[:, order]

    def scores(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict_proba(np.hstack([active, passive])))

    name = f"{dataset}, {kind}, {known} of {test.shape[1]} columns known"
    return subject_from_arrays(scores, test[:, :known], test[:, known:], name=name)


def measured(
    subject: Subject, attacks: Sequence[str], defenses: Sequence[str] = DEFENSES, seeds: int = 1, **size: int
) -> Rows:
    """Every attack behind every defense; naive attackers too, unless the attack asks or needs no release."""
    samples = [subject.sample(seed, *(size or {"records": 200, "rows": 500}).values()) for seed in range(seeds)]
    guesses = [_best_guess(sample, seed) for seed, sample in enumerate(samples)]
    for defense, name in itertools.product(defenses, attacks):
        needs = attack(name).needs
        for adaptive in (True,) if needs.oracle or needs.embeddings else (False, True):
            runs = [_run(sample, name, defense, adaptive, seed) for seed, sample in enumerate(samples)]
            row = {
                "subject": subject.name,
                "attack": name,
                "defense": defense,
                "attacker": "adaptive" if adaptive else "naive",
                "left": [round(found[-1] / guess, 4) for (found, _), guess in zip(runs, guesses, strict=True)],
                "auxiliary_rows": 0 if samples[0].auxiliary is None else len(samples[0].auxiliary),
                "best_guess": [round(guess, 6) for guess in guesses],
                "seconds": [round(seconds, 2) for _, seconds in runs],
            }
            if needs.oracle:
                shares = [np.array(found) / guess for (found, _), guess in zip(runs, guesses, strict=True)]
                row["after"] = np.mean(shares, axis=0).round(4).tolist()
            yield row


def _best_guess(sample: Sample, seed: int) -> float:
    """The smallest error without any release: uniform, column means, regression from own columns."""
    return min(feature_mse(guess, sample.truth) for guess in sample.guesses(seed).values())


def _run(sample: Sample, name: str, defense: str, adaptive: bool, seed: int) -> tuple[list[float], float]:
    """Errors, after each question where there are several, and CPU seconds."""
    chosen, made = attack(name), make_defense(defense)
    oracle = sample.oracle(made, seed) if chosen.needs.oracle else None
    view = sample.view(simulated(sample, made, seed, 1), made, adaptive=adaptive, oracle=oracle)
    started = time.process_time()
    found = chosen.run(view, seed=seed)
    seconds = time.process_time() - started
    return [feature_mse(one, sample.truth) for one in (*found.before, found.unknown)], seconds


def equations() -> Rows:
    attacks = ("equation-solving", "equation-solving:start=half", "chebyshev-centre", "prior-informed:iterations=200")
    for subject in (
        trained("digits", "logistic", 56 / 64),
        trained("digits", "logistic"),
        trained("breast-cancer", "logistic"),
    ):
        yield from measured(subject, attacks, seeds=2)
        # As published: nothing is known but the model, and the best guess is one half.
        yield from measured(subject, attacks[:3], seeds=2, records=200, rows=0)


def trees() -> Rows:
    for subject in (
        of_trees("digits", "boosted", 56),
        of_trees("digits", "forest", 56),
        of_trees("breast-cancer", "forest", 15),
    ):
        yield from measured(subject, ("learned-inversion",))
        yield from measured(subject, ("shadow-inversion:form=shadow,calls=0",), ("none",))
        yield from measured(subject, ("shadow-inversion:form=shadow",), ("none", "ranking-only"))
        yield from measured(subject, ("shadow-inversion",))
    for subject in (trained("digits", "mlp", 56 / 64), trained("breast-cancer", "mlp")):
        yield from measured(subject, ("prior-informed", "shadow-inversion:anyway=true"), ("none",))


def questions() -> Rows:
    for subject in (
        trained("digits", "logistic", 56 / 64),
        trained("digits", "logistic", 56 / 64).swapped(),
        trained("digits", "mlp", 56 / 64),
        trained("breast-cancer", "logistic").swapped(),
        trained("drive", "mlp", 28 / 48),
    ):
        yield from measured(subject, ("zeroth-order:questions=6,steps=80",), records=60, rows=500)


def embeddings() -> Rows:
    for subject in (
        trained("digits", "logistic"),
        trained("digits", "mlp"),
        trained("breast-cancer", "mlp"),
        trained("drive", "mlp", 28 / 48),
    ):
        forms = ("embedding-inversion:form=learned", "embedding-inversion")
        yield from measured(subject.with_coordinator(), forms, ("ranking-only",))
        yield from measured(subject, ("prior-informed",), ("none",))


CASES = {"equations": equations, "trees": trees, "questions": questions, "embeddings": embeddings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="Some of them.")
    chosen = parser.parse_args().cases or list(CASES)
    torch.set_num_threads(1)
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with threadpool_limits(1):
        for case in chosen:
            started, rows = time.process_time(), []
            try:
                for row in CASES[case]():
                    rows.append(row)
                    shares = " ".join(f"{share:.3f}" for share in row.get("after", row["left"]))
                    words = f"{row['subject']:48} {row['defense']:22} {row['attack']:40} {row['attacker']:9}"
                    print(words, shares, f"{sum(row['seconds']):.1f} s", flush=True)
            except PriveeError as error:
                print(f"{case} ends here: {error}")
            stored[case] = {"cpu_seconds": round(time.process_time() - started), "rows": rows}
            RESULTS.write_text(json.dumps({"torch": torch.__version__} | stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
