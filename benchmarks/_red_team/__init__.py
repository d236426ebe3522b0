"""Attacks on running services, one to a file: each starts what it needs, tries, and says whether it was held off."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from benchmarks._red_team.base import Outcome, Scene

ATTACKS = (
    "oracle",
    "variants",
    "membership",
    "lost_files",
    "burning",
    "party_door",
    "floods",
    "company",
    "key_files",
    "timing",
    "kits",
)


def replay(name: str, scene: Scene) -> Sequence[Outcome]:
    """Play one attack."""
    outcomes: Sequence[Outcome] = import_module(f"benchmarks._red_team.{name}").attack(scene)
    return outcomes


__all__ = ["ATTACKS", "Outcome", "Scene", "replay"]
