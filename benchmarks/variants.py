"""What pinning the question adds to a gateway's answer.

    python benchmarks/variants.py                         by turns: `--variants 1` against `--variants none`
    python benchmarks/variants.py --before FOLDER         also against the privee in FOLDER, one without variants,
                                                          such as `git archive df94af7 | tar -x -C FOLDER`

Gateways on the same two parties, each with a ledger of its own, all separate processes on loopback with TLS between
gateway and parties; PRIVEE-U, a network of two fully connected parts on digits. One request at a time, by turns: a
busy neighbour slows all alike. Digests are kept whatever the limit is, so what they cost shows against the version
before. Bar: one entity takes at most 5 % longer than before, on SQLite. With --before the figures are stored.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._shared.postgres_server import running_postgres
from benchmarks.gateway import PROTECTED, Asker, latencies
from privee.gateway.demo import PARTIES, World, make_world

RESULTS = Path(__file__).parent / "results" / "variants.json"
BAR = 1.05
BLOCKS, ROUNDS = 20, 30
NOW = {"variants 1": ("--variants", "1"), "variants none": ("--variants", "none")}
BEFORE = "before"


class SameAgain(Asker):
    """Asks the same question every time."""

    def ask(self) -> None:
        self._next = 0
        super().ask()


CASES = {
    "one entity, asked first": (Asker, 1),
    "one entity, asked again": (SameAgain, 1),
    "32 entities, asked again": (SameAgain, 32),
    "1024 entities, asked again": (SameAgain, 1024),
}


@contextlib.contextmanager
def version(folder: Path | None) -> Iterator[None]:
    """Processes that are started inside are those of the privee in this folder."""
    kept = os.environ.get("PYTHONPATH")
    source = Path(__file__).parents[1] if folder is None else folder
    os.environ["PYTHONPATH"] = str(source.resolve() / "src")
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH") if kept is None else os.environ.update(PYTHONPATH=kept)


def privee(*arguments: str) -> str:
    command = [sys.executable, "-m", "privee", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def new_key(url: str, world: World) -> str:
    """Of a ledger that is made for it."""
    place = ("--url", url, "--key", str(world.ledger_key))
    privee("ledger", "init", *place)
    given = ("--scope", "*", "--rate", "100000000/minute", "--quota-releases", "none")
    return privee("keys", "create", "benchmark", "--role", "consumer", *given, *place)


def measure_case(places: Sequence[tuple[str, str]], kind: type[Asker], batch: int, rounds: int) -> dict[str, object]:
    """Medians, and ratios to the last place with the lowest and highest of short blocks."""
    askers = [kind(url, key, batch) for url, key in places]
    latencies(askers, 20)
    blocks = [latencies(askers, rounds) for _ in range(BLOCKS)]
    for asker in askers:
        asker.close()
    medians = [[statistics.median(times) for times in block] for block in blocks]
    found = [1e3 * statistics.median(chain.from_iterable(block[k] for block in blocks)) for k in range(len(askers))]
    ratios = [sorted(block[k] / block[-1] for block in medians) for k in range(len(askers))]
    return {
        "ms": found,
        "ratio": [one / found[-1] for one in found],
        "ratio_of_blocks": [statistics.median(one) for one in ratios],
        "ratio_low": [one[len(one) // 4] for one in ratios],
        "ratio_high": [one[-1 - len(one) // 4] for one in ratios],
    }


def measure(world: World, urls: dict[str, str], before: Path | None, rounds: int) -> list[dict[str, object]]:
    folders = {name: before if name == BEFORE else None for name in urls}
    with contextlib.ExitStack() as stack:
        parties = {name: stack.enter_context(world.party(name)) for name in PARTIES}
        addresses = {name: party.wait_ready().ready["address"] for name, party in parties.items()}
        places = []
        for name, url in urls.items():
            with version(folders[name]):
                key = new_key(url, world)
                options = (*PROTECTED, *NOW.get(name, ()))
                gateway = stack.enter_context(world.gateway(addresses, options, name=name.replace(" ", "-"), url=url))
                places.append((gateway.wait_ready().address, key))
        return [
            {"case": case, "gateways": list(urls)}
            | measure_case(places, kind, batch, rounds if batch < 1024 else max(rounds // 5, 1))
            for case, (kind, batch) in CASES.items()
        ]


def show(database: str, rows: Sequence[dict[str, object]]) -> None:
    names = rows[0]["gateways"]
    table = Table("", *(f"{name}, ms" for name in names), f"1 to {names[-1]} (middle half of blocks)", title=database)
    for row in rows:
        spread = f"{row['ratio_of_blocks'][0]:.3f} ({row['ratio_low'][0]:.3f} to {row['ratio_high'][0]:.3f})"
        table.add_row(row["case"], *(f"{one:.2f}" for one in row["ms"]), spread)
    Console(width=130).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="folder of a privee without variants")
    parser.add_argument("--quick", action="store_true", help="few rounds; nothing is stored")
    given = parser.parse_args()
    names = [*NOW, *([BEFORE] if given.before else [])]
    found: dict[str, object] = {"python": platform.python_version(), "machine": platform.machine()}
    with tempfile.TemporaryDirectory() as folder, running_postgres(durable=True) as server:
        world = make_world(Path(folder), model="mlp")
        databases = {
            "SQLite": {name: f"sqlite:///{folder}/{name.replace(' ', '-')}.db" for name in names},
            "PostgreSQL": {name: server.new_database() for name in names},
        }
        for database, urls in databases.items():
            rows = measure(world, urls, given.before, 3 if given.quick else ROUNDS)
            show(database, rows)
            found[database] = rows
    found["load"] = os.getloadavg()[0]
    if given.before and not given.quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    worst = max(row["ratio_of_blocks"][0] for row in found["SQLite"][:2])  # type: ignore[index]
    print(f"bar: {BAR:.2f} for one entity on SQLite; measured {worst:.3f}: {'met' if worst <= BAR else 'NOT met'}")


if __name__ == "__main__":
    main()
