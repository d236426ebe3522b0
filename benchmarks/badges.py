"""The badges of the front page, from pyproject.toml: `python benchmarks/badges.py` writes docs/images/badge_*.svg."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FORM = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{left}: {right}">
<title>{left}: {right}</title>
<rect width="{cut}" height="20" rx="3" fill="#555"/><rect x="{cut}" width="{rest}" height="20" rx="3" fill="#2b6cb0"/>
<g fill="#fff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11" text-anchor="middle">
<text x="{middle}" y="14">{left}</text><text x="{other}" y="14">{right}</text></g></svg>
"""


def badges() -> dict[str, str]:
    """By name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [one.rpartition(" :: ")[2] for one in project["classifiers"] if one.startswith("Programming Language")]
    versions = [one for one in named if one[0].isdigit() and "." in one]
    typed = "yes" if any(one.startswith("Typing :: Typed") for one in project["classifiers"]) else "no"
    needs = ", ".join(one.partition(">")[0] for one in project["dependencies"])
    told = {"python": " | ".join(versions), "licence": project["license"], "typed": typed, "core needs": needs}
    return {f"badge_{left.replace(' ', '_')}": _drawn(left, right) for left, right in told.items()}


def _drawn(left: str, right: str) -> str:
    cut, rest = (12 + 7 * len(words) for words in (left, right))
    middle, other, width = cut / 2, cut + rest / 2, cut + rest
    return FORM.format(left=left, right=right, cut=cut, rest=rest, middle=middle, other=other, width=width)


if __name__ == "__main__":
    for name, drawn in badges().items():
        (ROOT / "docs" / "images" / f"{name}.svg").write_text(drawn, encoding="utf-8")
