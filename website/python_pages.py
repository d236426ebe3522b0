"""The Python reference: one page for each public module, of the names that tests/public_names.json pins."""

from collections.abc import Mapping, Sequence

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
    members = "".join(f"        - {name}\n" for name in exported)
    return f"# `{module}`\n\n::: {module}\n    options:\n      members:\n{members}"
