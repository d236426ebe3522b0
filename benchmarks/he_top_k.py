"""Top-5 under homomorphic encryption: time, memory and message sizes by number of classes; results go to JSON.

Run: python benchmarks/he_top_k.py [10 100 1000] (each number of classes in a process of its own; cases that are not
named keep their former results). Seconds of processor time are given beside seconds on the clock: one evaluation
uses one core, so the two are equal on an idle machine.
"""

import dataclasses
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import privee
from privee.baselines.he import Evaluator, KeyHolder, Sender, plan, read_result

RESULTS = Path(__file__).parent / "results" / "he_top_k.json"
RUNS = {2: 3, 10: 5, 100: 5, 1000: 1}
K = 5
BARS = {10: 60.0, 100: 300.0}  # seconds of processor time for one evaluation: "seconds", "minutes"
LONGEST = 3600.0


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def median(times: list[dict[str, float]]) -> dict[str, object]:
    both = {kind: [t[kind] for t in times] for kind in ("wall", "cpu")}
    return {kind: {"median": statistics.median(v), "low": min(v), "high": max(v)} for kind, v in both.items()}


def scores(classes: int, records: int, rng: np.random.Generator) -> np.ndarray:
    """Five classes stand out by at least a fiftieth, so that every record must be decided."""
    out = rng.uniform(0.0, 0.3, (records, classes))
    for row in out:
        row[rng.choice(classes, min(K, classes - 1), replace=False)] = 0.4 + 0.1 * np.arange(min(K, classes - 1))
    return out


def case(classes: int) -> dict[str, object]:
    made, planning = timed(lambda: plan(classes, K, time_limit=LONGEST))
    print(made, file=sys.stderr)
    holder, making = timed(lambda: KeyHolder(made))
    evaluator, loading = timed(lambda: Evaluator(made, holder.evaluation_keys))
    after_keys = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    sender = Sender(made, holder.encryption_key)
    rng, runs, encrypting, size, right = np.random.default_rng(classes), [], [], 0, 0
    for _ in range(RUNS[classes]):
        true = scores(classes, made.records, rng)
        messages, spent = timed(lambda true=true: [[m] for m in sender.encrypt(true)])
        encrypting.append(spent)
        size = sum(len(m) for (m,) in messages)
        result, spent = timed(lambda messages=messages: evaluator.top_k(messages))
        runs.append(spent)
        read = [read_result(row, made, 0.0) for row in holder.decrypt(result, len(true))]
        right += sum(r.ordered and r.classes == tuple(np.argsort(-t)[: r.k]) for r, t in zip(read, true, strict=True))
    return {
        "classes": classes,
        "k": made.k,
        "records_at_a_time": made.records,
        "ring_degree": made.degree,
        "modulus_bits": made.modulus_bits,
        "levels": made.levels,
        "gap": made.gap,
        "noise": made.noise,
        "leak": made.leak,
        "ciphertexts": made.chunks,
        "planning": planning,
        "key_making": making,
        "key_loading": loading,
        "encryption": median(encrypting),
        "evaluation": median(runs),
        "estimated_seconds": made.seconds,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "peak_megabytes_after_keys": after_keys,
        "key_bytes": {name: len(data) for name, data in dataclasses.asdict(holder.evaluation_keys).items()},
        "sent_bytes_per_party": size,
        "result_bytes": len(result),
        "records": RUNS[classes] * made.records,
        "records_right_and_in_order": right,
    }


def refused(classes: int) -> str:
    try:
        plan(classes, K)
    except privee.PriveeError as error:
        return str(error)
    return "not refused"


def show(results: dict[str, object]) -> bool:
    table, met = Table("classes", "records", "levels", "gap", "cpu s", "wall s", "keys MB", "sent MB", "peak MB"), True
    for row in results["cases"]:
        spent = row["evaluation"]
        met &= spent["cpu"]["median"] <= BARS.get(row["classes"], LONGEST)
        met &= row["records_right_and_in_order"] == row["records"]
        table.add_row(
            f"{row['classes']:,}",
            str(row["records_at_a_time"]),
            str(row["levels"]),
            f"1/{1 / row['gap']:.0f}",
            f"{spent['cpu']['median']:.1f}",
            f"{spent['wall']['median']:.1f} ({spent['wall']['low']:.1f}-{spent['wall']['high']:.1f})",
            f"{sum(row['key_bytes'].values()) / 1e6:.0f}",
            f"{row['sent_bytes_per_party'] / 1e6:.0f}",
            f"{row['peak_megabytes']:.0f}",
        )
    console = Console(width=120)
    console.print(table)
    console.print(results["ten_thousand_classes"])
    return met


def main(chosen: list[int]) -> bool:
    commands = {classes: [sys.executable, __file__, "--case", str(classes)] for classes in chosen}
    new = {
        classes: json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)  # noqa: S603
        for classes, command in commands.items()
    }
    former = json.loads(RESULTS.read_text())["cases"] if RESULTS.exists() else []
    cases = {row["classes"]: row for row in former} | new
    versions = {"python": platform.python_version(), "numpy": np.__version__, "privee": privee.__version__}
    results = {
        "versions": versions,
        "cores": os.cpu_count(),
        "load_at_the_end": os.getloadavg()[0],
        "cases": [cases[classes] for classes in sorted(cases)],
        "ten_thousand_classes": refused(10_000),
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return show(results)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(case(int(sys.argv[2]))))
    else:
        fine = main([int(a) for a in sys.argv[1:]] or [2, 10, 100])
        print("all bars met" if fine else "a bar was missed")
        sys.exit(0 if fine else 1)
