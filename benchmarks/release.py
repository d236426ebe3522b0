"""How long a release takes, as ratios to NumPy's argsort of the same array measured in the same run.

    python benchmarks/release.py            prints the tables and stores benchmarks/results/release.json (three minutes)

Everything is timed by turns, in time of the processor; secure draws and full validation are included everywhere. It
runs itself once more with NumPy held to AVX2: which of the two sorts faster depends on the processor. Bars, on AVX-512:
PRIVEE-U 2.4 times argsort at 10 classes, 1.7 from 1,000 on, 3.5 on saturated rows, 12 microseconds for one vector;
Ordered-DP 3.5, ranking-only 3; repeatable draws 80,000 rows a second at 10 classes; peak memory 4 times the input.
Rounding stands beside np.round of the same array. All in one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import privee

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._release.cases import cases, measured, one_vector, repeatable

RESULTS = Path(__file__).parent / "results" / "release.json"
BEYOND_AVX2 = "X86_V4 AVX512_ICL AVX512_SPR"
MOST_MEMORY = 4.0


def measure(rounds: int) -> dict[str, object]:
    versions = {"python": platform.python_version(), "numpy": np.__version__, "privee": privee.__version__}
    return {
        "versions": versions | {"simd": np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])},
        "load": os.getloadavg()[0],
        "releases": [measured(case, rounds) for case in cases()],
        "one_vector_beside_the_paper": one_vector(rounds),
        "repeatable": repeatable(max(3, rounds // 3)),
    }


def measure_with_avx2(rounds: int) -> dict[str, object]:
    """The same in a process of its own whose NumPy leaves AVX-512 alone."""
    settings = os.environ | {"NPY_DISABLE_CPU_FEATURES": BEYOND_AVX2}
    command = [sys.executable, __file__, "--part", "--rounds", str(rounds)]
    told = subprocess.run(command, env=settings, stdout=subprocess.PIPE, check=True)  # noqa: S603 (our own file)
    return dict(json.loads(told.stdout))


def show(results: dict[str, object], title: str) -> bool:
    """Print the tables; is every bar met?"""
    console = Console(width=120)
    met = [_show_releases(console, results["releases"], title)]
    table = Table("classes", "us of CPU", "x argsort", "bar, us", "paper, ms", title=f"One vector, PRIVEE-U ({title})")
    for row in results["one_vector_beside_the_paper"]:
        met.append(row["us_bar"] is None or row["us"] <= row["us_bar"])
        cells = f"{row['us']:.1f}", f"{row['ratio']:.1f}", _bar(row["us_bar"], met[-1]), f"{row['printed_ms']:g}"
        table.add_row(f"{row['classes']:,}", *cells)
    console.print(table)
    table = Table("defense", "classes", "rows/s", "bar", "plain batch, rows/s", title=f"Repeatable draws ({title})")
    for row in results["repeatable"]:
        met.append(row["bar"] is None or row["rows_per_second"] >= row["bar"])
        cells = f"{row['rows_per_second']:,.0f}", _bar(row["bar"], met[-1]), f"{row['plain_rows_per_second']:,.0f}"
        table.add_row(row["defense"], f"{row['classes']:,}", *cells)
    console.print(table)
    return all(met)


def _show_releases(console: Console, rows: list[dict[str, object]], title: str) -> bool:
    heads = ("case", "shape", "ms", "beside", "ratio", "5-95 %", "bar", "memory / input")
    table = Table(*heads, title=f"Release ({title})")
    met = []
    for row in rows:
        met.append(row["bar"] is None or row["ratio"] <= row["bar"])
        met.append(row["memory_ratio"] <= MOST_MEMORY or row["beside"] != "argsort")
        table.add_row(
            row["case"],
            " x ".join(f"{side:,}" for side in row["shape"]),
            f"{row['ms']:.3f}",
            row["beside"],
            f"{row['ratio']:.2f}",
            f"{row['ratio_low']:.2f}-{row['ratio_high']:.2f}",
            _bar(row["bar"], met[-2]),
            f"{row['memory_ratio']:.2f}",
        )
    console.print(table)
    return all(met)


def _bar(bar: float | None, met: bool) -> str:
    return "" if bar is None else f"{bar:g}" if met else f"[red]{bar:g}[/red]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31, help="how often each pair is timed")
    parser.add_argument("--part", action="store_true", help="print this process's figures as JSON, store nothing")
    parser.add_argument("--only-here", action="store_true", help="leave out AVX2, store nothing")
    chosen = parser.parse_args()
    found = measure(chosen.rounds)
    if chosen.part:
        print(json.dumps(found))
        return
    met = show(found, "as it is here")
    if not chosen.only_here:
        found["avx2"] = measure_with_avx2(chosen.rounds)
        show(found["avx2"], "AVX2")
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print("all bars met" if met else "a bar was missed")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
