"""What differs from the paper in a result, read from the settings it was measured with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from privee.paper.measure.sittings import INVERSION, effort_of
from privee.paper.outcomes import Outcome, listed
from privee.vfl.training import PAPER

FULL_CIFAR = "the first 20,000 of 50,000 training images"
_OPTIMIZERS = {
    "adam": "Adam, where the released code has SGD with momentum",
    "sgd": "SGD with momentum, as in the released code, without its weight decay and its falling rate",
}
GIA_SAYS = "where the paper does not say and the released code attacks training rows"
PAPER_SAYS = {"grna": "where the paper attacks training rows", INVERSION: GIA_SAYS}
"""Of the rows under attack, by attack; of attacks that it leaves out it says nothing."""
HALF_KNOWN = ("grna-mnist-clients", "grna-mnist-rho", "cifar10-rho", "drive-clients")
"""Tables and figures of GRNA that do not say what share of the columns the attacker holds."""
ONE_MODEL = "one trained model per case, where the paper has ten runs"


def differs(outcome: Outcome) -> list[str]:
    """One paragraph; every result has one, and says so if it has nothing to say."""
    if outcome.size == "quick":
        return ["Differs from the paper: small data in place of the paper's."]
    settings = outcome.about["settings"]
    said = [*settings.get("differs", ())]
    if settings.get("models") == 1:
        said.append("one trained model, where there are ten runs")
    if "entries" in settings:
        said += [*_of_attacks(settings), *_assumed(outcome)]
    if "cases" in settings:
        said += [*_of_models(settings["cases"]), ONE_MODEL]
    return [f"Differs from the paper: {'; '.join(said)}."] if said else []


def _of_attacks(settings: Mapping[str, Any]) -> list[str]:
    entries = settings["entries"]
    models = [entry["model"] for entry in entries]
    return [
        f"{_efforts(entries, settings)}{_of_all(entries)}",
        *_rows_attacked(entries),
        *_averaged(entries),
        *_precision(entries),
        *_of_models(models),
        *_trained_once(entries),
    ]


def _of_all(entries: Sequence[Mapping[str, Any]]) -> str:
    """The paper names no number of records; of attacks that it leaves out there is nothing to say."""
    named = any(entry["attack"].startswith(name) for entry in entries for name in PAPER_SAYS)
    batch = " (a batch of CIFAR's under GIA)" if _precision(entries) else ""
    return f", where the paper names no number and the released code attacks every row{batch}" if named else ""


def _assumed(outcome: Outcome) -> list[str]:
    """What a table needs and the paper does not print."""
    names = {str(row.where["defense"]).partition(":")[0] for row in outcome.rows}
    by_strength = any("known" in row.where for row in outcome.rows)
    assumed = {
        "PRIVEE-U with rho = 0.1, which these tables do not print": by_strength and "privee-u" in names,
        "PRIVEE-U+ with rho from 0.1 to 0.9, its schedule is not printed": "privee-u+" in names,
        "half of the columns known, a share that is not printed": outcome.name in HALF_KNOWN,
    }
    return [said for said, holds in assumed.items() if holds]


def _rows_attacked(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where test rows are attacked, and what the paper says of it: its settings name training rows for GRNA alone."""
    by_attack = {name: [e["model"] for e in entries if e["attack"].startswith(name)] for name in PAPER_SAYS}
    said = []
    for name, models in by_attack.items():
        tested = [model for model in models if model.get("attacked", "test") == "test"]
        under = f" under {INVERSION}" if name == INVERSION and len(models) < len(entries) else ""
        said += [f"test rows{_of_which(tested, models)}{under}, {PAPER_SAYS[name]}"] if tested else []
    return said


def _averaged(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Adam is nearly blind to the scale of a loss; its small constant is not, where slopes are tiny."""
    some = [e["model"] for e in entries if e["attack"].startswith("grna") and "step_per_batch" not in e["attack"]]
    if not some:
        return []
    where = f" on {_names(some)}" if len(some) < len(entries) else ""
    return [f"GRNA's loss{where} is a mean over the records under attack, in the paper over a whole epoch"]


def _precision(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings name 16-bit numbers for gradient inversion on CIFAR alone."""
    attacks = [e["attack"] for e in entries if e["model"]["dataset"].startswith("cifar")]
    return ["32-bit numbers, not 16, on CIFAR"] if any(a.startswith(INVERSION) for a in attacks) else []


def _trained_once(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which models were trained once for all seeds."""
    models, once = ([e["model"] for e in some] for some in (entries, [e for e in entries if "trained_models" not in e]))
    return [ONE_MODEL.replace("per case", f"per case{_of_which(once, models)}")] if once else []


def _efforts(entries: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """Records and seeds, by dataset where they are not the same for all, by attack where they depend on it."""
    of: dict[str, dict[tuple[int, int], list[str]]] = {}
    for entry in entries:
        efforts = of.setdefault(entry["model"]["dataset"], {})
        efforts.setdefault(effort_of(entry, settings), []).append(entry["attack"].split(":")[0])
    groups: dict[tuple[tuple[int, int], str], list[str]] = {}
    for dataset, efforts in of.items():
        for effort, attacks in efforts.items():
            under = "" if len(efforts) == 1 else f" under {listed(dict.fromkeys(attacks))}"
            groups.setdefault((effort, under), []).append(dataset)
    return ", ".join(
        f"{records} records and {seeds} seeds{'' if len(groups) == 1 else f' on {listed(names)}'}{under}"
        for ((records, seeds), under), names in groups.items()
    )


def _of_models(models: Sequence[Mapping[str, Any]]) -> list[str]:
    return [*_splits(models), *_trainings(models)]


def _splits(models: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    if any(m["dataset"] == "mnist" and m["how"] is None for m in models):
        found.append("MNIST in vertical strips, where the paper takes the first share of the flattened pixels")
    fewer = [m for m in models if m["attacked_fraction"] is not None]
    if fewer:
        found.append(f"{_names(fewer)}: trained once, the attacker then holds fewer or more columns")
    return found


def _trainings(models: Sequence[Mapping[str, Any]]) -> list[str]:
    found: dict[str, None] = {}
    for model in models:
        dataset = model["dataset"]
        if dataset.startswith("cifar"):
            split = "each party a strip of every picture, a split that is not printed"
            found[f"CIFAR: {_OPTIMIZERS[model.get('optimizer', 'adam')]}; {FULL_CIFAR}; {split}"] = None
        if model["model"] == "logistic":
            rate = f"{model['epochs']} epochs at a rate of {model['learning_rate']:g}"
            found[f"logistic models: {rate}, none are printed for them"] = None
        if dataset not in PAPER:
            found[f"{dataset} is not among the paper's datasets"] = None
    return [*_shorter(models), *found]


def _shorter(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Trainings of other lengths than the paper's, by number of parties."""
    found: dict[str, dict[str, None]] = {}
    for model in models:
        paper = PAPER.get(model["dataset"], {})
        if model["model"] == paper.get("model") and model["epochs"] != paper["epochs"]:
            said = f"{model['epochs']} epochs, not {paper['epochs']}, on {model['dataset']}"
            found.setdefault(said, {})[str(model["parties"])] = None
    return [f"{said} with {listed(parties)} parties" for said, parties in found.items()]


def _of_which(some: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> str:
    """Which datasets, unless all."""
    return "" if len(some) == len(every) else f" on {_names(some)}"


def _names(models: Iterable[Mapping[str, Any]]) -> str:
    return listed(dict.fromkeys(model["dataset"] for model in models))
