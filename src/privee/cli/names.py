"""Names of things, found without loading PyTorch: for completion, and to say at once that one is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from pathlib import Path

import privee
from privee.errors import SettingError
from privee.registry import modules_of, unknown

_NAME = re.compile(r'^@register\n(?:@.*\n)*class \w+.*\n(?:.*\n)*?    name: ClassVar\[str\] = "(.+)"$', re.MULTILINE)


def defense_names() -> list[str]:
    """Of all defenses."""
    from privee.defenses import known_defenses

    return list(known_defenses())


def dataset_names() -> list[str]:
    """Of all datasets."""
    from privee.data.datasets import known_datasets

    return list(known_datasets())


def model_names() -> list[str]:
    """Of all models: their files are called as they are."""
    return [module.rpartition(".")[2].replace("_", "-") for module in modules_of("privee.vfl.models")]


def attack_names() -> list[str]:
    """Of all attacks of this package, read from their files; those of other packages by their entry points."""
    files = sorted(Path(privee.__path__[0], "attacks").rglob("*.py"))
    own = [name for file in files for name in _NAME.findall(file.read_text(encoding="utf-8"))]
    return [*own, *(point.name for point in entry_points(group="privee.attacks"))]


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What an option's `autocompletion` is: the names that begin like what was typed."""

    def beginning(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return beginning


DEFENSE, ATTACK, DATASET, MODEL = map(completing, (defense_names, attack_names, dataset_names, model_names))


def check_model(name: str) -> None:
    """Refuse a model that there is not."""
    if name not in model_names():
        raise unknown("model", name, model_names())


def check_attack(spec: str) -> None:
    """Refuse an attack that there is not; another package may call its attack otherwise than its entry point."""
    name = spec.partition(":")[0]
    if name not in attack_names() and not entry_points(group="privee.attacks"):
        raise unknown("attack", name, attack_names())


def check_dataset(name: str) -> None:
    """Refuse a dataset that there is not."""
    from privee.data.datasets import dataset_info

    dataset_info(name)


def check_defense(spec: str) -> None:
    """Refuse a defense that there is not, or that cannot have these settings."""
    from privee.defenses import defense

    defense(spec)


def check_preset(preset: str | None) -> None:
    """Refuse a preset that there is not."""
    if preset not in (None, "paper"):
        raise SettingError(f"no preset is called {preset!r}; there is `paper`")
