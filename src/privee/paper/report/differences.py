"""What differs from the paper in a result, read from the settings it was measured with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from privee.paper.outcomes import Outcome
from privee.vfl.training import PAPER

FULL_CIFAR = "the first 20,000 of 50,000 training images"


def differs(outcome: Outcome) -> list[str]:
    """One paragraph, or nothing where no model of the paper's is involved."""
    if outcome.size == "quick":
        return ["Differs from the paper: small data in place of the paper's."]
    settings = outcome.about["settings"]
    said = [*settings.get("differs", ())]
    if "entries" in settings:
        said += _of_attacks(settings)
    return [f"Differs from the paper: {'; '.join(said)}."] if said else []


def _of_attacks(settings: Mapping[str, Any]) -> list[str]:
    models = [entry["model"] for entry in settings["entries"]]
    return [
        *_rows_and_seeds(settings, models),
        *_splits(models),
        *_trainings(models),
        "one trained model per case, where the paper has ten runs",
    ]


def _rows_and_seeds(settings: Mapping[str, Any], models: Iterable[Mapping[str, Any]]) -> list[str]:
    effort = settings["records_and_seeds"]
    named = {model["dataset"] for model in models}
    sizes = [
        f"{records} records and {seeds} seeds{f' on {dataset}' if dataset else ''}"
        for dataset, (records, seeds) in effort.items()
        if dataset in named or (not dataset and named - set(effort))
    ]
    attacked = {model.get("attacked", "test") for model in models}
    rows = "test rows, where the paper attacks training rows" if attacked == {"test"} else ""
    few = settings.get("at_most_for_gradient_inversion")
    most = f", for gradient inversion at most {few[0]} and {few[1]}" if few else ""
    return [f"{' and '.join(sizes)}{most}, where the paper attacks all rows", *filter(None, [rows])]


def _splits(models: Iterable[Mapping[str, Any]]) -> list[str]:
    found = []
    some = list(models)
    if any(m["dataset"] == "mnist" and m["how"] is None for m in some):
        found.append("MNIST in vertical strips, where the paper takes the first share of the flattened pixels")
    if any(m["attacked_fraction"] is not None for m in some):
        names = sorted({m["dataset"] for m in some if m["attacked_fraction"] is not None})
        found.append(f"{' and '.join(names)}: trained once, the attacker then holds fewer or more columns")
    return found


def _trainings(models: Iterable[Mapping[str, Any]]) -> list[str]:
    found: dict[str, None] = {}
    for model in models:
        dataset = model["dataset"]
        if dataset.startswith("cifar"):
            found[
                f"CIFAR: Adam, where the released code has SGD with momentum; {FULL_CIFAR}; 32-bit numbers, not 16"
            ] = None
        paper = PAPER.get(dataset, {})
        if model["model"] == paper.get("model") and model["epochs"] != paper["epochs"]:
            found[f"{dataset} with {model['parties']} parties: {model['epochs']} epochs, not {paper['epochs']}"] = None
        if dataset not in PAPER:
            found[f"{dataset} is not among the paper's datasets"] = None
    return list(found)
