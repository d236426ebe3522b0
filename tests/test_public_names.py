"""What users may rely on: the names in `__all__` of public modules, pinned. A change here is a change for them.

After a deliberate one: `python -m tests.test_public_names`, a line in CHANGELOG.md, and the version that
CONTRIBUTING.md asks for.
"""

import importlib
import json
import pkgutil
from pathlib import Path

import pytest

import privee

PINNED = Path(__file__).with_name("public_names.json")
PROGRAMS = ("privee.cli", "privee.gateway", "privee.party", "privee.pki", "privee.federation")
"""Used through commands, HTTP and files; their modules are no one's to import, with one exception."""
FILTER = "privee.federation.result_filter"  # named in the jobs of others


def modules() -> list[str]:
    """All but Alembic's steps and underscored ones."""
    names = (module.name for module in pkgutil.walk_packages(privee.__path__, "privee."))
    return ["privee", *(name for name in names if "migrations" not in name and "._" not in name)]


def public_names() -> dict[str, list[str]]:
    """`__all__` of every public module: of those that have one and are no program's."""
    found = {}
    for name in modules():
        if name == FILTER or not f"{name}.".startswith(tuple(f"{program}." for program in PROGRAMS)):
            exported = getattr(importlib.import_module(name), "__all__", None)
            if exported is not None:
                found[name] = sorted(exported)
    return found


def test_public_names_are_the_pinned_ones():
    pytest.importorskip("nvflare")
    assert public_names() == json.loads(PINNED.read_text(encoding="utf-8"))


def test_every_public_name_exists_and_none_is_private():
    pytest.importorskip("nvflare")
    for module, names in json.loads(PINNED.read_text(encoding="utf-8")).items():
        loaded = importlib.import_module(module)
        for name in names:
            assert hasattr(loaded, name), f"{module}.{name}"
            assert not name.startswith("_") or name == "__version__"


if __name__ == "__main__":
    PINNED.write_text(json.dumps(public_names(), indent=1) + "\n", encoding="utf-8")
