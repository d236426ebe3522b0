"""What grows, as tables: from benchmarks/results/growth.json, with what was measured to explain each bend."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._growth.markdown import command, figure, loads, seconds, size, stored, table

Cells = dict[str, dict[str, Any]]
GROWTH, MOST = "python benchmarks/growth.py --only", 10_000_000


def by(cells: Cells, start: str, name: str) -> list[dict[str, Any]]:
    """The cells whose key begins so, by a growing figure."""
    return sorted((cell for key, cell in cells.items() if key.startswith(f"{start}, ")), key=lambda cell: cell[name])


def databases(cells: Cells, start: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind in ("SQLite", "PostgreSQL"):
        if found := by(cells, f"{start}, {kind}", "entities"):
            yield kind, found


def ledger(cells: Cells) -> list[str]:
    names = ("charge", "charge_1024", "price", "price_1024", "near_limit")
    heads = ("entities", "one charge", "1,024 at once", "one price", "1,024 prices", "ten near their limit", "on disk")
    lines = [
        "### Ledgers with more and more entities",
        *command(
            f"{GROWTH} ledger", "growth", loads(cell for _, found in databases(cells, "ledger") for cell in found)
        ),
        "",
        "Milliseconds of processors, the server's included. The tables are the real ones, filled by the database itself"
        " in the order of hashes, not by charges: each entity has one question, and there is a request for every ten. A"
        " charge is of entities that were not charged before in the run, as far as there are enough.",
    ]
    for kind, found in databases(cells, "ledger"):
        rows = [
            [f"{cell['entities']:,}"] + [figure(cell[name]["cpu_ms"]) for name in names] + [size(cell["bytes"]["all"])]
            for cell in found
        ]
        lines += ["", f"**{kind}**", *table(heads, rows)]
    return [*lines, *ledger_bends(cells)]


def ledger_bends(cells: Cells) -> list[str]:
    short = [kind for kind, found in databases(cells, "ledger") if found[-1]["entities"] < MOST]
    lines = [f"- **{MOST:,} entities** are not measured yet on {' and '.join(short)}."] if short else []
    for kind, found in databases(cells, "ledger"):
        first, last = found[0], found[-1]
        waits = [cell["charge"]["ms_5"] / cell["charge"]["bare_ms_5"] for cell in found]
        lines.append(
            f"- **{kind}, one charge** is a wait for the disk: {figure(min(waits))} to"
            f" {figure(max(waits))} times a bare"
            f" transaction of one row by the driver, measured by turns. From {first['entities']:,} to"
            f" {last['entities']:,} entities its processor time goes from {figure(first['charge']['cpu_ms'])} to"
            f" {figure(last['charge']['cpu_ms'])} ms."
        )
    for kind, found in databases(cells, "written"):
        told = ", ".join(f"{size(cell['written_bytes'])} at {cell['entities']:,}" for cell in found)
        lines.append(
            f"- **{kind}, 1,024 at once** writes {told} entities: hashes lie anywhere, so the more"
            " pages there are, the"
            " fewer of the entities share one, until each has a page of its own."
        )
    for kind, (grown, *_) in databases(cells, "ledger in any order"):
        packed = cells[f"ledger, {kind}, {grown['entities']:,} entities"]
        lines.append(
            f"- **{kind}, on disk**: filled in any order, as charges do, {grown['entities']:,} entities take"
            f" {size(grown['bytes']['all'])}, {figure(grown['bytes']['all'] / packed['bytes']['all'])} times what they"
            " take in the order of hashes."
        )
    return lines


def near_limit(cells: Cells) -> list[str]:
    found = {key: cell for key, cell in cells.items() if key.startswith("index")}
    if not found:
        return []
    lines = [
        "### The index for entities near their limit",
        *command(f"{GROWTH} ledger", "growth", f"cells that begin with `index`; {loads(found.values())}"),
        "",
        "Two ledgers, one with the indexes and one without, by turns. *As it was*: the question"
        " before there was an index,"
        " one pass over the table. PostgreSQL's ledger has the indexes; SQLite's has none, and got"
        " them here by hand to"
        " show why. Median ms on the clock / ms of processors; at this load the latter are what to compare,"
        " though they lack the processes that PostgreSQL shares a pass over a table with.",
    ]
    rows, costs = [], []
    for key, cell in found.items():
        about = _index_words(key)
        asked = cell["near_limit"]
        shown = [
            f"{figure(asked[name]['ms'])} / {figure(asked[name]['cpu_ms'])}" for name in ("before", "without", "with")
        ]
        rows.append([about, f"{cell['entities']:,}", *shown, seconds(cell["making_seconds"])])
        for charge in cell["charges"]:
            cpu = [charge[name]["cpu_ms"] for name in ("without", "with")]
            log = [charge[name]["logged"] for name in ("without", "with")]
            logged = " to ".join(map(size, log)) if all(log) else "-"
            ratios = f"{cpu[1] / cpu[0]:.2f}", f"{charge['ratio']:.2f}"
            costs.append([about, f"{charge['entities']:,}", *ratios, logged])
    heads = ("ledger", "entities", "as it was", "asked by counter, no index", "with the indexes", "making them")
    more = ("ledger", "entities in the charge", "CPU, with / without", "on the clock", "written ahead")
    return [*lines, *table(heads, rows), "What they cost a charge:", *table(more, costs), INDEX_WORDS]


INDEX_WORDS = (
    "PostgreSQL changes a row without touching any index as long as no indexed column changes. A"
    " charge changes the counters,"
    " so with these indexes the new row of each entity goes into all of them. One charge does not"
    " feel that behind its wait"
    " for the disk; a batch does. In SQLite such an index holds every hash once more, in another"
    " order, so that a batch"
    " writes several times the pages: there the listing reads the table."
)


def _index_words(key: str) -> str:
    what, kind, _ = key.split(", ", 2)
    return f"{kind}, defense without epsilon" if "without" in what else kind


def releases(cells: Cells) -> list[str]:
    names = ("PRIVEE-U", "PRIVEE-U+", "Ordered-DP", "ranking-only")
    found = {name: by(cells, f"releases, {name}", "classes") for name in names}
    if not all(found.values()):
        return []
    every = [cell for one in found.values() for cell in one]
    rows = []
    for same in zip(*found.values(), strict=True):
        cells_of = [f"{figure(c['ns_per_value'])} ({c['ratio']:.2f}; {c['memory_ratio']:.1f})" for c in same]
        rows.append(
            [f"{same[0]['rows']:,} x {same[0]['classes']:,}", figure(same[0]["argsort_ns_per_value"]), *cells_of]
        )
    return [
        "### Releases with more and more classes",
        *command(f"{GROWTH} releases", "growth", loads(every)),
        "",
        "Nanoseconds of the processor per score, a million scores at a time; in brackets times"
        " `np.argsort` of the same array,"
        " by turns, and peak memory over the input's.",
        *table(("records x classes", "`np.argsort`", *(f"{name}" for name in names)), rows),
        *sort_bends(by(cells, "releases, np.argsort", "classes")),
        f"- **Memory** stays near the input's own while a block of records is small beside all of them; one record of"
        f" {every[-1]['classes']:,} classes is one block, and takes"
        f" {figure(found['PRIVEE-U'][-1]['memory_ratio'])} times its size.",
    ]


def sort_bends(found: list[dict[str, Any]]) -> list[str]:
    """Why the line bends, from NumPy's own sorts."""
    if len(found) < 6:
        return []
    steps = [(b["argsort_ns"] / a["argsort_ns"], a, b) for a, b in itertools.pairwise(found)]
    _, short, longer = max(steps, key=lambda step: step[0])
    last = found[-1]
    middle = next(cell for cell in found if cell["classes"] >= 4096)
    return [
        "- **Between 100 and 1,000 classes** the line bends because argsort does:"
        f" {figure(short['argsort_ns'])} ns at"
        f" {short['classes']:,}, {figure(longer['argsort_ns'])} at {longer['classes']:,} classes. Up"
        " to 256 values NumPy's"
        " AVX-512 code sorts in one network of registers; longer rows it divides first.",
        f"- **Above**, finding places costs more than sorting: from {middle['classes']:,} to"
        f" {last['classes']:,} classes"
        f" `np.sort` goes from {figure(middle['sort_ns'])} to {figure(last['sort_ns'])} ns, `np.argsort` from"
        f" {figure(middle['argsort_ns'])} to {figure(last['argsort_ns'])}: it reads scores by their"
        " places, all over a row"
        " that has outgrown the caches. Our releases carry the place in the score's own bits and sort those, so they"
        " come down to one argsort and below.",
    ]


def protect(cells: Cells) -> list[str]:
    found = by(cells, "protect, parquet", "rows") + by(cells, "protect, csv", "rows")
    if not found:
        return []
    rows = []
    for kind in ("parquet", "csv"):
        for cell in by(cells, f"protect, {kind}", "rows"):
            rate = cell.get("rows_per_cpu_second")
            shown = [
                kind,
                f"{cell['rows']:,}",
                size(1e6 * cell["megabytes_in"]),
                seconds(cell["cpu"]),
                seconds(cell["wall"]),
            ]
            rows.append([*shown, figure(rate / 1e6) if rate else "-", f"{cell['peak_mb']:.0f} MB"])
    flat = [by(cells, f"protect, {kind}", "rows") for kind in ("parquet", "csv")]
    grows = " and ".join(
        f"{max(c['peak_mb'] for c in one):.0f} MB ({kind})" for kind, one in zip(("Parquet", "CSV"), flat, strict=True)
    )
    start = min(cell["start_cpu"] for cell in found)
    return [
        "### `privee protect` with more and more rows",
        *command(f"{GROWTH} protect", "growth", loads(found)),
        "",
        f"{found[0]['classes']} classes in float32 and an id, `{found[0]['defense']}`, secure draws,"
        " a process of its own.",
        *table(("file", "rows", "size", "CPU", "on the clock", "million rows per CPU second", "peak memory"), rows),
        f"- Memory is flat from a million rows on: at most {grows}, since a file is read, released"
        " and written in blocks.",
        f"- Below a million rows the start is what takes time: Python and its imports are {seconds(start)} of CPU.",
    ]


def federation(cells: Cells) -> list[str]:
    local, apart = by(cells, "one process, mlp", "parties"), by(cells, "simulated, logistic", "parties")
    if not local:
        return []
    rows = [
        [
            f"{c['parties']}",
            figure(c["step_cpu_ms"]),
            figure(c["step_cpu_ms"] / c["parties"]),
            figure(c["ratio"], 3),
            figure(c["prediction_cpu_ms"]),
            figure(c["prediction_cpu_ms"] / c["parties"]),
        ]
        for c in local
    ]
    heads = ("parties", "step, CPU ms", "per party", "times plain PyTorch", "1,024 predictions, CPU ms", "per party")
    lines = [
        "### Training and predicting with more and more parties",
        *command(f"{GROWTH} federation", "growth", loads([*local, *apart])),
        "",
        f"All roles in one process, an mlp on 784 columns shared among the parties, batches of {local[0]['batch']}:",
        *table(heads, rows),
        "- It grows with parties, less than in proportion: each has fewer columns then, and what a"
        " party adds is its own layers"
        " and messages.",
    ]
    if not apart:
        return lines
    rows = [
        [
            f"{c['parties']}",
            figure(1000.0 * c["step"]),
            figure(1000.0 * c["transport"]),
            size(c["sent"] + c["received"]),
            figure((c["sent"] + c["received"]) / c["parties"] / 1000.0) + " KB",
            seconds(c["job_seconds"]),
            f"{c['accuracy']:.1%}",
        ]
        for c in apart
    ]
    heads = ("parties", "step, ms", "of it transport", "sent and received", "per party", "whole job", "accuracy")
    return [
        *lines,
        "",
        "A process for each party, NVFlare's simulator, logistic on digits, batches of 128, two epochs, on the clock:",
        *table(heads, rows),
        "- Messages grow in proportion to parties. Times on the clock are of more processes than"
        " cores, at a load where one"
        " figure can be far off; on machines of their own the parties work at once, and most of a"
        " job here is the start of"
        " its processes.",
    ]


PARTS: tuple[Callable[[Cells], list[str]], ...] = (ledger, near_limit, releases, protect, federation)


def growth() -> list[str]:
    found = stored("growth")
    return [line for part in PARTS for line in ["", *part(found["cells"])]] if found else []
