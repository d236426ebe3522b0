"""What the gateway does when it is killed, overrun, or left alone by a party: counts, not times.

    python benchmarks/gateway_faults.py            prints the tables and stores benchmarks/results/gateway_faults.json
    python benchmarks/gateway_faults.py --quick    a few of each, nothing is stored

Two parties and the gateways are separate processes on loopback, with TLS between them. Eight clients ask all the time.
Bars: after kill -9 at 50 random moments (SQLite; 20 on PostgreSQL) the ledger holds every release that a client has
read to the end; an entity with limit 50 gives exactly 50; a party that hangs is named within the deadline (1 s) and
nothing is charged; a gateway that is told to stop cuts off no request.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._shared.gateway_load import Crash, Crowd, counted, crashes, received
from benchmarks._shared.postgres_server import running_postgres
from privee.gateway.demo import PARTIES, World, make_world
from privee.gateway.ledger.ledger import Ledger
from privee.processes import ServerProcess

RESULTS = Path(__file__).parent / "results" / "gateway_faults.json"
DEFENSE = ("--defense", "privee-u:rho=0.1")
PATIENT = (*DEFENSE, "--releases", "1000000000", "--deadline", "20")
LIMIT, DEADLINE = 50, 1.0
console = Console()


class Bench:
    """Two parties that run all the time, and gateways as they are needed."""

    def __init__(self, world: World, addresses: dict[str, str], databases: dict[str, str]) -> None:
        self.world, self.addresses, self.databases = world, addresses, databases
        self.key = world.ledger_key.read_bytes()
        self.api_keys = {name: world.api_key("consumer", url=url) for name, url in databases.items()}

    def gateway(self, database: str, options: tuple[str, ...], name: str = "gateway") -> ServerProcess:
        return self.world.gateway(self.addresses, options, name=name, url=self.databases[database])

    def killed(self, database: str, count: int) -> dict[str, Any]:
        """Kill -9 at random moments."""
        url, api_key = self.databases[database], self.api_keys[database]
        found: list[Crash] = []
        for crash in crashes(lambda: self.gateway(database, PATIENT), url, self.key, api_key, count):
            found.append(crash)
            console.print(f"{database}: kill {len(found)} of {count}: {crash}", highlight=False)
        return {
            "database": database,
            "kills": len(found),
            "kills_with_requests_in_flight": sum(crash.in_flight > 0 for crash in found),
            "requests_in_flight": sum(crash.in_flight for crash in found),
            "requests": sum(crash.requests for crash in found),
            "releases_received": sum(crash.received for crash in found),
            "received_and_not_counted": max(crash.short for crash in found),
            "counted_and_not_received": found[-1].over,
            "in_answers_that_broke_off": found[-1].most_over,
            "each": [dataclasses.asdict(crash) for crash in found],
        }

    def limited(self, database: str, gateways: int, rounds: int) -> dict[str, Any]:
        """Eight clients hammer one entity after another."""
        options = (*DEFENSE, "--releases", str(LIMIT), "--deadline", "20")
        started = [self.gateway(database, options, f"limited-{number}") for number in range(gateways)]
        urls = [gateway.wait_ready().ready["url"] for gateway in started]
        released, refused = [], Counter[float]()
        for entity in (str(1000 + 100 * gateways + number) for number in range(rounds)):
            with Crowd(urls, self.api_keys[database], lambda _, one=entity: [one], most=12) as crowd:  # type: ignore[misc]
                crowd.join()
            statuses = Counter(one.status for one in crowd.seen)
            if set(statuses) != {200, 429}:
                raise RuntimeError(f"unexpected answers: {statuses}")
            (held,) = counted(self.databases[database], self.key, [entity]).values()
            released.append((statuses[200], held))
            refused.update(one.answer["refused"]["spent"]["releases"] for one in crowd.seen if one.status == 429)
        for gateway in started:
            gateway.stop()
        return {
            "database": database,
            "gateways": gateways,
            "entities": rounds,
            "limit": LIMIT,
            "exactly_the_limit": sum(pair == (LIMIT, LIMIT) for pair in released),
            "refusals": refused.total(),
            "spent_in_refusals": sorted(refused),
        }

    def hung(self, parties: dict[str, ServerProcess], rounds: int) -> dict[str, Any]:
        """A party is stopped, asked, continued."""
        gateway = self.gateway("SQLite", (*DEFENSE, "--releases", "1000000000", "--deadline", str(DEADLINE)))
        entities = [str(number) for number in range(1700, 1710)]
        url, seconds, codes = gateway.wait_ready().ready["url"], [], Counter[str]()
        for _ in range(rounds):
            _wait_until_served(url, self.api_keys["SQLite"])
            parties["passive-1"].send(signal.SIGSTOP)
            with Crowd([url], self.api_keys["SQLite"], lambda draw: [draw.choice(entities)], most=2) as crowd:
                crowd.join()
            parties["passive-1"].send(signal.SIGCONT)
            seconds += [one.seconds for one in crowd.seen]
            codes.update(one.answer["code"] if one.answer else "cut off" for one in crowd.seen)
        gateway.stop()
        charged = sum(counted(self.databases["SQLite"], self.key, entities).values())
        return {
            "deadline_seconds": DEADLINE,
            "requests": len(seconds),
            "codes": dict(codes),
            "median_seconds": statistics.median(seconds),
            "longest_seconds": max(seconds),
            "charged": charged,
        }

    def stopped(self, rounds: int) -> dict[str, Any]:
        """SIGTERM under load."""
        entities = [str(number) for number in range(1720, 1730)]
        answered = cut_off = 0
        codes, given = Counter[int](), Counter[str]()
        for number in range(rounds):
            gateway = self.gateway("SQLite", PATIENT).wait_ready()
            batch = Crowd(
                [gateway.ready["url"]], self.api_keys["SQLite"], lambda draw: [draw.choice(entities)], seed=number
            )
            with batch as crowd:
                crowd.wait_for(40 + 7 * number)
                gateway.send(signal.SIGTERM)
                codes[gateway.wait(30)] += 1
            given += received(crowd.seen)
            answered += sum(one.status == 200 for one in crowd.seen)
            cut_off += sum(one.status is None and one.sent is not None for one in crowd.seen)
        held = counted(self.databases["SQLite"], self.key, entities)
        return {
            "stops": rounds,
            "exit_codes": {str(code): count for code, count in codes.items()},
            "requests_answered": answered,
            "requests_cut_off": cut_off,
            "counted_and_received_differ_by": sum(held.values()) - given.total(),
        }


def _wait_until_served(url: str, api_key: str) -> None:
    for _ in range(200):
        with Crowd([url], api_key, lambda _: ["0"], clients=1, most=1) as crowd:
            crowd.join()
        if crowd.seen[0].status == 200:
            return
        time.sleep(0.1)
    raise RuntimeError("the gateway does not answer")


def measure(few: bool) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running_postgres())
        world = make_world(folder, epochs=3)
        shared = server.new_database()
        Ledger.create(shared, world.ledger_key.read_bytes())
        parties = {name: world.party(name) for name in PARTIES}
        for party in parties.values():
            stack.callback(party.stop)
        addresses = {name: party.wait_ready().ready["address"] for name, party in parties.items()}
        bench = Bench(world, addresses, {"SQLite": world.ledger_url, "PostgreSQL": shared})
        places = (("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2))
        return {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "clients": 8,
            "limit": [bench.limited(database, gateways, 3 if few else 10) for database, gateways in places],
            "hung_party": bench.hung(parties, 1 if few else 5),
            "stopped": bench.stopped(2 if few else 10),
            "killed": [bench.killed("SQLite", 3 if few else 50), bench.killed("PostgreSQL", 2 if few else 20)],
        }


def show(found: dict[str, Any]) -> None:
    _table(found["killed"], skip={"each"})
    _table(found["limit"])
    _table([found["hung_party"]])
    _table([found["stopped"]])


def _table(rows: list[dict[str, Any]], skip: Collection[str] = ()) -> None:
    table = Table("", *("" for _ in rows), show_header=False)
    for name in (name for name in rows[0] if name not in skip):
        table.add_row(name.replace("_", " "), *(_written(row[name]) for row in rows))
    console.print(table)


def _written(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def check(found: dict[str, Any]) -> list[str]:
    """The bars that are not met."""
    bars = {
        "a release was received and not counted": all(k["received_and_not_counted"] == 0 for k in found["killed"]),
        "some kills hit no request": all(k["kills_with_requests_in_flight"] == k["kills"] for k in found["killed"]),
        "the limit was not kept exactly": all(
            row["exactly_the_limit"] == row["entities"] and row["spent_in_refusals"] == [LIMIT]
            for row in found["limit"]
        ),
        "a failed request was charged": found["hung_party"]["charged"] == 0,
        "a request was cut off": found["stopped"]["requests_cut_off"] == 0,
        "a stop did not end with 0": set(found["stopped"]["exit_codes"]) == {"0"},
    }
    return [words for words, met in bars.items() if not met]


def main() -> None:
    quick = "--quick" in sys.argv
    found = measure(quick)
    show(found)
    wrong = check(found)
    console.print(f"bars: {'; '.join(wrong) or 'all met'}")
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
