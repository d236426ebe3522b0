"""Registries: names are unique, and other packages add to them."""

import importlib.metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

import privee
from privee.defenses.registry import DEFENSES


def test_registry_refuses_duplicates_and_loads_entry_points(monkeypatch):
    class Impostor(privee.NoDefense):
        name = "rounding"

    with pytest.raises(privee.SettingError, match="'rounding' exists already"):
        privee.register(Impostor)
    assert privee.register(privee.Rounding) is privee.Rounding

    point = EntryPoint("shy", f"{__name__}:ShyDefense", DEFENSES.entry_points)
    monkeypatch.setattr(DEFENSES, "_known", dict(DEFENSES._known))
    monkeypatch.setattr(DEFENSES, "_discovered", False)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    assert isinstance(privee.defense("shy"), ShyDefense)


class ShyDefense(privee.NoDefense):
    """Stands for a defense of another package."""

    name = "shy"
