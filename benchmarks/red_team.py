"""A red team's attacks, replayed against gateways and parties that this starts: what held?

    python benchmarks/red_team.py                    all of them; prints a table, stores results/red_team.json
    python benchmarks/red_team.py oracle timing      only these; nothing is stored
    python benchmarks/red_team.py --size 0.1         a tenth of the tries (a small version of it runs in CI)

Bounded, on loopback alone, with processes, certificates, keys and ledgers of its own in a temporary folder. Each attack
is a file in benchmarks/_red_team; docs/threats.md says what each of them was after. Ends with 1 if one did not hold.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._red_team import ATTACKS, Outcome, Scene, replay

RESULTS = Path(__file__).parent / "results" / "red_team.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", help=f"of {', '.join(ATTACKS)}; default: all")
    parser.add_argument("--size", type=float, default=1.0, help="share of the tries")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    strange = [name for name in given.attacks if name not in ATTACKS]
    if strange or not 0 < given.size <= 10:
        parser.error(f"no attack is called {strange[0]}" if strange else "--size must be above 0 and at most 10")
    outcomes, started = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="privee-red-") as folder, Scene(Path(folder), given.size) as scene:
        for name in given.attacks or ATTACKS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            outcomes += replay(name, scene)
    found = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "size": given.size,
        "seconds": round(time.monotonic() - started),
        "attacks": [dataclasses.asdict(outcome) for outcome in outcomes],
    }
    if not given.attacks:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1)) if given.json else show(outcomes)
    return 0 if all(outcome.held for outcome in outcomes) else 1


def show(outcomes: list[Outcome]) -> None:
    table = Table("attack", "held", "measured")
    for outcome in outcomes:
        table.add_row(outcome.attack, "yes" if outcome.held else "[bold red]NO[/bold red]", outcome.words)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
