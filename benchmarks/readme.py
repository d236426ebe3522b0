"""What README.md shows, made by the commands that it names.

    python benchmarks/readme.py             runs them and writes the figures into README.md (five minutes)
    python benchmarks/readme.py --check     runs them and compares; 1 if README.md says something else
    python benchmarks/readme.py --speed     writes the block of speeds alone, and runs nothing

Each marked block of the page comes from one place: `audit` from `privee train digits ...` and `privee audit
runs/digits`, as they stand on the page; `speed` from benchmarks/results/release.json, which `make bench` writes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from privee.audit.exposure.findings import LEVEL

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SPEED = ROOT / "benchmarks" / "results" / "release.json"
SHOWN = ("PRIVEE-U", "PRIVEE-U, saturated", "Ordered-DP", "ranking-only")
"""Cases of the benchmark that the page shows."""
BLOCK = r"(<!-- {name}:[^\n]*-->\n)(.*?)(<!-- end -->)"
CLOSE = 6
"""Percentage points, or hundredths, that figures of one run may differ by on another machine."""


def block(text: str, name: str) -> str:
    """What stands in a marked block."""
    found = re.search(BLOCK.format(name=name), text, flags=re.DOTALL)
    if found is None:
        raise SystemExit(f"README.md has no block {name}")
    return found[2]


def with_block(text: str, name: str, made: str) -> str:
    """The page with another content of a block."""
    return re.sub(BLOCK.format(name=name), lambda found: found[1] + made + found[3], text, flags=re.DOTALL)


def commands(text: str) -> list[str]:
    """The train and audit commands of the page, as they stand there."""
    lines = [
        re.search(rf"^privee {words}(?![\w-])[^#\n]*", text, flags=re.MULTILINE)
        for words in ("train digits", "audit runs/digits")
    ]
    if None in lines:
        raise SystemExit("README.md trains and audits digits no more")
    return [line[0].strip() for line in lines if line is not None]


def run_audit(text: str, folder: Path) -> list[dict[str, Any]]:
    """The scorecards of the page's own audit."""
    train, audit = commands(text)
    _printed(train, folder)
    cards: list[dict[str, Any]] = json.loads(_printed(f"{audit} --json", folder))["cards"]
    return cards


def _printed(command: str, folder: Path) -> str:
    words = [sys.executable, "-m", *command.split()]
    return subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 (ours)


def audit_table(cards: list[dict[str, Any]]) -> str:
    """As the page shows it: the column that is told best, asked in two ways, and what is left of the task."""
    most = cards[0]["asked_again"][-1]["questions"]
    heads = ("release", "once, honestly", "left", f"{most} times, chosen columns", "left", "mean over columns")
    lines = [f"| {' | '.join((*heads, 'accuracy', 'order between records'))} |", "|---|---|---|---|---|---|---|---|"]
    for card in cards:
        again = card["asked_again"][-1]
        graded = " | ".join(f"{one['grade']} | {_left(one['columns'][0])}" for one in (card, again))
        means = f"{100 * card['guess_normalised']:.0f} %"
        accuracy = f"{100 * card['utility']['accuracy']:.0f} %"
        lines.append(f"| `{card['defense']}` | {graded} | {means} | {accuracy} | {card['order_between']:.2f} |")
    return "\n".join(lines) + "\n"


def _left(worst: dict[str, Any]) -> str:
    return f"{100 * worst['remaining']:.0f} %" if worst["p_value"] < LEVEL else "nothing told"


def speed_table() -> str:
    """The release's times from the stored benchmark."""
    stored = json.loads(SPEED.read_text(encoding="utf-8"))
    lines = ["| release | scores | time | times argsort | peak memory / input |", "|---|---|---|---|---|"]
    for row in stored["releases"]:
        if row["case"] not in SHOWN:
            continue
        size = " x ".join(f"{n:,}" for n in row["shape"])
        lines.append(
            f"| {row['case']} | {size} | {row['ms']:.2g} ms | {row['ratio']:.1f} | {row['memory_ratio']:.1f} |"
        )
    beside = ", ".join(
        f"{row['ms']:.2g} ms at {row['classes']:,} classes (printed {row['printed_ms']:g})"
        for row in stored["one_vector_beside_the_paper"]
    )
    return "\n".join(lines) + f"\n\nBeside the paper's table, one vector at a time: {beside}.\n"


def differences(shown: str, made: str) -> list[str]:
    """Rows that say something else: another name or grade, or a figure further off than machines differ."""
    found = []
    for ours, theirs in zip(_rows(shown), _rows(made), strict=False):
        cells = list(zip(ours, theirs, strict=False))
        if ours[0] != theirs[0] or any(_differs(place, cells) for place in range(1, len(cells))):
            found.append(f"README.md says {' | '.join(ours)}, measured {' | '.join(theirs)}")
    if len(_rows(shown)) != len(_rows(made)):
        found.append(f"README.md has {len(_rows(shown))} rows, there are {len(_rows(made))}")
    return found


def _differs(place: int, cells: list[tuple[str, str]]) -> bool:
    """Whether two cells do; a grade may, where the figure beside it is at its border."""
    (shown, made), grades = cells[place], (1, 3)
    ours, theirs = _number(shown), _number(made)
    if place in grades:
        beside = _number(cells[place + 1][1])
        border = any(abs((beside or 0) - limit) <= CLOSE for limit in (10, 50, 90))
        return shown != made and not border
    return shown != made if ours is None or theirs is None else abs(ours - theirs) > CLOSE


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]


def _number(cell: str) -> float | None:
    """In percentage points; what is given as a share of one too."""
    found = re.fullmatch(r"(-?[\d.]+)( %)?", cell)
    return None if found is None else float(found[1]) * (1 if found[2] else 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--speed", action="store_true")
    chosen = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    if chosen.speed:
        README.write_text(with_block(text, "speed", speed_table()), encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        made = audit_table(run_audit(text, Path(folder)))
    if chosen.check:
        found = differences(block(text, "audit"), made)
        found += [] if block(text, "speed") == speed_table() else ["the speed table is not that of release.json"]
        print("\n".join(found) or "README.md is true to its commands")
        sys.exit(1 if found else 0)
    README.write_text(with_block(with_block(text, "audit", made), "speed", speed_table()), encoding="utf-8")


if __name__ == "__main__":
    main()
