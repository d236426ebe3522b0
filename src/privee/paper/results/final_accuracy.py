"""The "Final Acc." columns of the tables by clients and by rho: what models of many parties are worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from privee.audit.engine import spread
from privee.paper.base import Result, register
from privee.paper.measure.bench import Bench
from privee.paper.outcomes import Account, Row, Size, Value, mean_interval
from privee.paper.printed import printed, printed_tables
from privee.paper.released.networks import accuracy
from privee.paper.released.recipes import recipe_of
from privee.paper.released.reenact import model_of
from privee.paper.released.scenes import CLIENTS, GRNA_CLIENTS, GRNA_RHO, Scene

SIX = frozenset({"six-epochs"})
NEAR = 1.0
"""Points of accuracy."""
QUICK_CLIENTS = (2, 4)
DIFFERS = (
    "6 epochs, as the released code has it, where the settings say 60",
    "one softmax in the loss, where the released code takes two; it counts training rows, the table does not say which",
)
MODELS: dict[Size, int] = {"quick": 2, "full": 10}
"""Trained models for each number of parties; the paper's runs are ten."""


@register
class FinalAccuracy(Result):
    """Test accuracy of MNIST models by number of parties, trained for as long as the released code trains them."""

    name: ClassVar[str] = "final-accuracy"
    place: ClassVar[int] = 12
    title: ClassVar[str] = "Accuracy of MNIST models by number of parties, percent"
    source: ClassVar[str] = 'columns "Final Acc." of the tables of GRNA on MNIST by clients and by rho'
    band: ClassVar[str] = "mean and 95 % interval over trained models; printed by rho: smallest to largest of six"

    def settings(self, size: Size) -> dict[str, Any]:
        return {"models": MODELS[size], "differs": DIFFERS}

    def rows(self, bench: Bench) -> list[Row]:
        scenes = _scenes(bench.size)
        models = [(scene, seed) for seed in range(MODELS[bench.size]) for scene in scenes]
        call = partial(_accuracies, folder=bench.folder / "released", data_dir=bench.data_dir)
        found: dict[Scene, list[dict[str, float]]] = {scene: [] for scene in scenes}
        bench.progress(0, len(models), "training models")
        for done, ((scene, _), accuracies) in enumerate(spread(call, models, jobs=bench.jobs, engine=bench.engine), 1):
            found[scene].append(accuracies)
            bench.progress(done, len(models), "training models")
        return [_row(scene, some) for scene, some in found.items()]

    def account(self, rows: Sequence[Row]) -> Account:
        gaps = [row.measured["test_accuracy"].value - value.value for row in rows for value in row.printed.values()]
        if not gaps:
            return Account(agrees=None, printed="nothing", measured=f"{len(rows)} rows")
        close = sum(abs(gap) <= NEAR for gap in gaps)
        return Account(
            agrees=close == len(gaps),
            printed=f"{len(gaps)} accuracies, the six by rho as one",
            measured=(
                f"{close} of {len(gaps)} within a point of ours after six epochs; gaps {min(gaps):+.2f} to "
                f"{max(gaps):+.2f} points"
            ),
            reason="" if close == len(gaps) else "Another start, or other batches, of six short epochs.",
        )


def _scenes(size: Size) -> list[Scene]:
    dataset, counts = ("mnist", CLIENTS) if size == "full" else ("digits", QUICK_CLIENTS)
    return [Scene(dataset=dataset, attack="grna", parties=parties) for parties in counts]


def _row(scene: Scene, found: Sequence[dict[str, float]]) -> Row:
    return Row(
        where={"dataset": scene.dataset, "parties": scene.parties, "epochs": recipe_of(scene, SIX).epochs},
        measured={f"{part}_accuracy": mean_interval([one[part] for one in found]) for part in ("train", "test")},
        printed=_printed(scene.parties) if scene.dataset == "mnist" else {},
    )


def _accuracies(model: tuple[Scene, int], folder: Path, data_dir: Path | None) -> dict[str, float]:
    scene, seed = model
    joint, columns = model_of(recipe_of(scene, SIX, seed), folder, data_dir, lambda done, of, what: None)
    return {
        "train": 100.0 * accuracy(joint, columns.train, columns.train_labels),
        "test": 100.0 * accuracy(joint, columns.test, columns.test_labels),
    }


def _printed(parties: int) -> dict[str, Value]:
    by_clients = printed(GRNA_CLIENTS, str(parties), "final_accuracy")
    found = {} if by_clients is None else {"test_accuracy": by_clients}
    if parties == CLIENTS[-1]:
        every = [row["final_accuracy"] for row in printed_tables()[GRNA_RHO].values()]
        found["test_accuracy_by_rho"] = Value(value=sum(every) / len(every), low=min(every), high=max(every))
    return found
