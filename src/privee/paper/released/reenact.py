"""A scene played with every combination of its parts: one trained model for all combinations that do not retrain it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from privee.atomic import whole_file
from privee.paper.released.columns import Columns
from privee.paper.released.inversion import Seen, losses, starting
from privee.paper.released.kinds import Kind, kinds
from privee.paper.released.networks import Joint, Recipe, accuracy, all_logits, trained
from privee.paper.released.parts import CONJECTURES, PARTS, Chosen, written
from privee.paper.released.recipes import CIFAR, ONCE, TEN, recipe_of, records_of, steps_of
from privee.paper.released.releases import Array, released
from privee.paper.released.scenes import Scene, figures
from privee.randomness import seeded

Tell = Callable[[int, int, str], None]
HUNDRED = 100


def play(
    scene: Scene,
    *,
    seed: int,
    folder: Path,
    data_dir: Path | None,
    tell: Tell,
    only: Chosen | None = None,
    conjectures: bool = True,
) -> dict[str, Any]:
    """The loss that the attack ends with, by combination and defense; from the folder if it was played before.

    Args:
        scene: what is played.
        seed: of the trained model, of the records and of the draws.
        folder: keeps models and findings.
        data_dir: where datasets lie.
        tell: called with (done, of, what).
        only: play this one combination (its parts that the scene has) in place of all of them.
        conjectures: play combinations with parts that were not read in the code as well.
    """
    wanted = scene.combinations if only is None else [frozenset(only & set(scene.parts))]
    wanted = list(dict.fromkeys(parts - {"ten-iterations"} for parts in wanted))  # the same run, looked at earlier
    wanted = [parts for parts in wanted if conjectures or not parts & CONJECTURES]
    file = folder / "findings" / f"{_name(scene)}{_itself(scene, wanted)}-{seed}.json"
    held: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"found": {}, "accuracy": {}}
    missing = [parts for parts in wanted if not _holds(held, scene, parts)]
    missing.sort(key=lambda parts: recipe_of(scene, parts).key)
    start = time.perf_counter()
    for done, parts in enumerate(missing):
        tell(done, len(missing), f"{_name(scene)}: {written(parts)}")
        found, accuracies = _played(scene, parts, seed, folder, data_dir, tell)
        for name, by_defense in found.items():
            held["found"].setdefault(name, {}).update(by_defense)
        held["accuracy"][written(parts)] = accuracies
        held["seconds"] = round(held.get("seconds", 0.0) + time.perf_counter() - start, 1)
        start = time.perf_counter()
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file, force=True) as partial:
            partial.write_text(json.dumps(held, indent=1) + "\n")
    return held


def _name(scene: Scene) -> str:
    return f"{scene.attack}-{scene.dataset}-{scene.known}-{scene.parties}"


def _itself(scene: Scene, wanted: Sequence[Chosen]) -> str:
    """The true CIFAR-100 has a file of its own: in that of its scene, older versions kept CIFAR-10 as published."""
    true = any(recipe_of(scene, parts).dataset == "cifar100" for parts in wanted)
    return "-itself" if true else ""


def _holds(held: Mapping[str, Any], scene: Scene, parts: Chosen) -> bool:
    """Whether all of a combination is there: an older version may have handed out less."""
    found = held["found"]
    return written(parts) in held["accuracy"] and all(
        kind.label in found.get(written(parts | kind.parts), {}) for kind in kinds(scene)
    )


_LAST: dict[str, Any] = {}
"""The model and rows used last: combinations of one scene mostly share them."""


def model_of(recipe: Recipe, folder: Path, data_dir: Path | None, tell: Tell) -> tuple[Joint, Columns]:
    """The trained model of a recipe and its rows."""
    if _LAST.get("recipe") != recipe:
        columns = recipe.columns(data_dir)
        joint = trained(recipe, columns, folder / "models", lambda done, of: tell(done, of, f"training {recipe.key}"))
        _LAST.update(recipe=recipe, made=(joint, columns))
    made: tuple[Joint, Columns] = _LAST["made"]
    return made


def _played(
    scene: Scene, parts: Chosen, seed: int, folder: Path, data_dir: Path | None, tell: Tell
) -> tuple[dict[str, dict[str, float]], float]:
    if "cifar10-for-cifar100" in parts and scene.attack == "gia":  # the same model under the same attack
        held = play(_as_cifar10(scene), seed=seed, folder=folder, data_dir=data_dir, tell=tell)
        return _renamed(held, parts)
    recipe = recipe_of(scene, parts, seed)
    joint, columns = model_of(recipe, folder, data_dir, tell)
    order = np.argsort(seeded(seed, "attacked rows").words(recipe.rows or len(columns.train)), kind="stable")
    rows = columns.train[torch.from_numpy(order[: records_of(scene)].copy())]
    width = rows.shape[1]
    known = round(width * scene.known / 100) if scene.dataset in ONCE else columns.widths[0]
    values = _handed(all_logits(joint, rows), parts).numpy()
    some, steps = kinds(scene), steps_of(scene, parts, len(columns.train))
    releases = torch.from_numpy(np.stack([_release(values, kind, parts, seed) for kind in some])).float()
    if parts & {"scrambled", "scrambled-cifar"}:
        releases = releases.roll(1, dims=1)
    start = starting(len(rows), width - known, steps, seed).repeat(len(some), 1)
    own = rows[:, :known].repeat(len(some), 1)
    fitted = releases[:1].expand_as(releases).flatten(0, 1) if "unfitted" in parts else None  # the first is undefended
    left = losses(joint.given(own), _seen(parts), start, releases.flatten(0, 1), steps, fitted)
    by_kind = left.reshape(len(steps.at), len(some), len(rows)).mean(dim=2)
    found: dict[str, dict[str, float]] = {}
    for at, of_kinds in zip(steps.at, by_kind.tolist(), strict=True):
        stopped = {"ten-iterations"} if len(steps.at) > 1 and at == TEN else set()
        for kind, loss in zip(some, of_kinds, strict=True):
            name = written(parts | kind.parts | stopped)
            found.setdefault(name, {})[kind.label] = loss
    return found, accuracy(joint, columns.test, columns.test_labels)


def _as_cifar10(scene: Scene) -> Scene:
    return dataclasses.replace(scene, dataset="cifar10")


def _renamed(held: Mapping[str, Any], parts: Chosen) -> tuple[dict[str, dict[str, float]], float]:
    """What was found for CIFAR-10, with the part that puts it in CIFAR-100's place."""
    named = {frozenset(name.split(" + ")) & set(PARTS): values for name, values in held["found"].items()}
    put = {"cifar10-for-cifar100"}
    found = {written(some | put): dict(values) for some, values in named.items()}
    return found, held["accuracy"][written(parts - put)]


def _release(values: Array, kind: Kind, parts: Chosen, seed: int) -> Array:
    return released(values, kind.defense, kind.parts | parts, rho=kind.rho, seed=seed)


def _handed(logits: Tensor, parts: Chosen) -> Tensor:
    """What the coordinator gives to the defense."""
    if "logits-as-confidences" in parts:
        return logits
    return _padded(torch.softmax(logits, dim=1), parts)


def _padded(scores: Tensor, parts: Chosen) -> Tensor:
    """A model of 100 outputs trained on ten classes: the other 90 are never right, so their scores are taken as 0."""
    more = HUNDRED - scores.shape[1] if "hundred-outputs" in parts else 0
    return torch.nn.functional.pad(scores, (0, more)) if more else scores


def _seen(parts: Chosen) -> Seen:
    """What the attack matches with the release."""
    if parts & {"logits-as-confidences", "logits-matched"}:
        return lambda logits: logits
    if "softmax-again" in parts:
        return lambda logits: torch.softmax(torch.softmax(logits, dim=1), dim=1)
    return lambda logits: _padded(torch.softmax(logits, dim=1), parts)


def scenes() -> Sequence[Scene]:
    """Those that figures are printed of, cheap ones first."""
    return sorted(
        dict.fromkeys(f.scene for f in figures()),
        key=lambda scene: (scene.dataset in CIFAR, scene.parties > 2, scene.dataset == "drive"),
    )


Played = Mapping[Scene, Sequence[Mapping[str, Any]]]
"""What was found in each scene, one record for each trained model."""
