"""The Python reference: one page for each public module, of the names that tests/public_names.json pins."""

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType

INTRODUCTION = """# Python reference

The names that a version number [promises](../contributing.md#versions): those in `__all__` of public modules. What is
not here is not for users. Signatures and words are those of the source.

"""


def python_pages(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The pages by file name, the index first."""
    pages = {f"reference/{module}.md": _page(module, exported) for module, exported in names.items()}
    lines = [f"- [`{module}`]({module}.md): {_listed(exported)}" for module, exported in names.items()]
    return {"reference/python.md": INTRODUCTION + "\n".join(lines) + "\n"} | pages


def _listed(exported: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in exported[:8])
    return shown if len(exported) <= 8 else f"{shown} and {len(exported) - 8} more"


def _page(module: str, exported: Sequence[str]) -> str:
    """Names that are loaded when they are asked for, or are called as their file is, are shown from their homes."""
    loaded = importlib.import_module(module)
    lazy = [name for name in exported if name not in vars(loaded) or _called_as_its_file(loaded, name)]
    members = "".join(f"        - {name}\n" for name in exported if name not in lazy)
    homes = "".join(
        f"\n::: {getattr(loaded, name).__module__}.{name}\n    options:\n"
        "      show_root_heading: true\n      show_root_full_path: false\n      show_root_toc_entry: true\n"
        for name in lazy
    )
    return f"# `{module}`\n\n::: {module}\n    options:\n      members:\n{members}{homes}"


def _called_as_its_file(module: ModuleType, name: str) -> bool:
    return getattr(vars(module)[name], "__module__", None) == f"{module.__name__}.{name}"
