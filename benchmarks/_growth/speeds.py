"""Every other speed that is stored: releases, encryption, the gateway and its ledger, from their own results."""

from __future__ import annotations

from typing import Any

from benchmarks._growth.markdown import command, figure, seconds, size, stored, table

SHOWN = 30


def releases() -> list[str]:
    found = stored("release")
    if not found:
        return []
    other = {(row["case"], tuple(row["shape"])): row for row in found["avx2"]["releases"]}
    rows = []
    for row in found["releases"]:
        beside = other[row["case"], tuple(row["shape"])]
        shape = " x ".join(f"{side:,}" for side in row["shape"])
        spread = f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
        shown = [row["case"], shape, f"{figure(row['ms'], 3)} ms", row["beside"], spread, f"{beside['ratio']:.2f}"]
        rows.append([*shown, figure(row["bar"]), f"{row['memory_ratio']:.2f}"])
    heads = ("release", "scores", "time", "beside", "times that (5 to 95 %)", "with AVX2", "bar", "peak memory / input")
    lines = ["## Releases", *command("python benchmarks/release.py", "release", f"load {found['load']:.0f}")]
    lines += ["", "Time of the processor, by turns; secure draws and validation included.", *table(heads, rows)]
    vectors = [
        [f"{row['classes']:,}", f"{figure(row['us'], 3)} us", figure(row["ratio"]), f"{row['printed_ms']:g} ms"]
        for row in found["one_vector_beside_the_paper"]
    ]
    lines += ["One vector, PRIVEE-U:", *table(("classes", "time", "times argsort", "printed in the paper"), vectors)]
    again = [
        [
            f"`{row['defense']}`",
            f"{row['classes']:,}",
            f"{row['rows_per_second']:,.0f}",
            f"{row['plain_rows_per_second']:,.0f}",
        ]
        for row in found["repeatable"]
    ]
    lines += ["Repeatable draws:", *table(("defense", "classes", "rows / s", "fresh draws, rows / s"), again)]
    return [*lines, *ordered_dp()]


def ordered_dp() -> list[str]:
    found = stored("ordered_dp")
    if not found:
        return []
    names = list(found["speed"][0]["ratios"])
    rows = [
        [f"{row['rows']:,} x {row['classes']:,}", *(f"{figure(row['milliseconds'][name])} ms" for name in names)]
        for row in found["speed"]
    ]
    lines = ["Ordered-DP in its forms:", *command("python benchmarks/ordered_dp.py speed", "ordered_dp")]
    return [*lines, *table(("scores", *names), rows)]


def encryption() -> list[str]:
    lines, ope, tops = [], stored("ope"), stored("he_top_k")
    if ope:
        rows = [
            [
                f"{row['classes']:,}",
                *(f"{figure(row[name])} us" for name in ("release_us", "decrypt_us", "fh_ope_us", "pyope_us")),
                figure(row["ratio"]),
                figure(row["bar"]),
            ]
            for row in ope["speed"]
        ]
        heads = ("classes", "a value", "decrypted", "frequency-hiding", "pyope", "pyope / ours", "bar")
        lines += ["### Order-preserving encryption", *command("python benchmarks/ope.py", "ope"), *table(heads, rows)]
    if tops:
        rows = [
            [f"{case['classes']:,}", str(case["k"]), f"{case['records_at_a_time']:,}"]
            + [seconds(case[name]["cpu"]["median"]) for name in ("encryption", "evaluation")]
            + [
                seconds(case["key_making"]["cpu"]),
                size(1e6 * case["peak_megabytes"]),
                size(case["sent_bytes_per_party"]),
            ]
            for case in tops["cases"]
        ]
        heads = (
            "classes",
            "k",
            "records at once",
            "encryption, CPU",
            "evaluation, CPU",
            "keys, CPU",
            "memory",
            "sent by a party",
        )
        more = f"load {tops['load_at_the_end']:.0f} at the end"
        lines += ["### Top-k under homomorphic encryption", *command("python benchmarks/he_top_k.py", "he_top_k", more)]
        lines += table(heads, rows)
    return lines


def gateway() -> list[str]:
    found, against = stored("gateway"), stored("gateway_against")
    lines = ["## The gateway"]
    if found:
        rows = [
            [
                f"{row['batch']:,}",
                f"{figure(row['protected_ms'])} ms",
                f"{figure(row['bare_ms'])} ms",
                f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})",
            ]
            for row in found["latency"]
        ]
        rates = [
            [str(row["clients"]), f"{row['batch']:,}", f"{row['protected']:,.0f}", f"{row['bare']:,.0f}"]
            for row in found["throughput"]
        ]
        lines += command(
            "python benchmarks/gateway.py", "gateway", "two cores that also run both parties and the clients"
        )
        lines += ["", "Protected and counted in SQLite, beside a gateway with neither:"]
        lines += table(("entities", "protected", "bare", "ratio"), rows)
        lines += table(("clients", "entities", "protected, requests / s", "bare, requests / s"), rates)
    if against:
        rows = [
            [
                row["case"],
                *(figure(row[name]) for name in ("here_ms", "there_ms", "here_cpu_ms", "there_cpu_ms")),
                f"{row['time']['ratio']:.2f}",
                f"{row['cpu']['ratio']:.2f}",
                figure(row["bar"]),
            ]
            for row in against["rows"]
        ]
        revision = against["there"].split()[0]
        line = f"python benchmarks/gateway.py --against {revision} --turns {against['turns']}"
        more = f"load {against['load_before']:.0f} before, {against['load_after']:.0f} after"
        heads = ("requests", "ms", "ms before", "CPU ms", "CPU ms before", "time ratio", "CPU ratio", "bar")
        lines += [f"Beside {revision}, by turns:", *command(line, "gateway_against", more), *table(heads, rows)]
    return lines


def in_bytes() -> list[str]:
    found = stored("gateway_binary")
    if not found:
        return []
    rows = [
        [
            row["case"],
            *(
                f"{ratio['ratio']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
                for ratio in (row[kind]["time"] for kind in ("binary", "grpc"))
            ),
            ", ".join(figure(row[kind]["cpu_ms"]) for kind in ("json", "binary", "grpc")),
        ]
        for row in found["rows"]
        if "grpc" in row
    ]
    more = f"tritonclient {found['tritonclient']}, load {found['load_before']:.0f}"
    heads = ("1,024 entities", "bytes over HTTP, of JSON's time", "gRPC, of JSON's time", "CPU ms: JSON, bytes, gRPC")
    line = f"python benchmarks/gateway_binary.py --turns {found['turns']}"
    lines = ["### In bytes", *command(line, "gateway_binary", more)]
    return [*lines, *table(heads, rows)]


def pinned_questions() -> list[str]:
    found = stored("variants")
    if not found:
        return []
    rows = []
    for kind in ("SQLite", "PostgreSQL"):
        for row in found[kind]:
            both = zip(row["gateways"], row["ms"], row["ratio"], strict=True)
            rows.append(
                [kind, row["case"], "; ".join(f"{name}: {figure(ms)} ms, {ratio:.2f}" for name, ms, ratio in both)]
            )
    lines = [
        "### Pinned questions",
        *command("python benchmarks/variants.py --before FOLDER", "variants", f"load {found['load']:.0f}"),
    ]
    return [*lines, *table(("ledger", "request", "time, and ratio to the version before"), rows)]


def sealed() -> list[str]:
    found, cpu = stored("sealed_codes"), stored("sealed_processor")
    lines = []
    if found:
        names = list(found["gateways"][0]["rates"])
        rows = [
            [
                f"{row['batch']:,}",
                "yes" if row["columns"] else "no",
                *(f"{row['rates'].get(name, 0):,.0f}" for name in names),
            ]
            for row in found["gateways"]
        ]
        lines += [
            "### Sealed parties, asked and gone home",
            *command("python benchmarks/sealed_codes.py", "sealed_codes"),
        ]
        lines += ["", "Predictions a second:", *table(("entities", "columns sent", *names), rows)]
    if cpu:
        rows = [
            [name, *(figure(times[who]) for who in ("gateway", "parties"))]
            for name, times in cpu["processor_ms"].items()
        ]
        lines += command("python benchmarks/sealed_processor.py", "sealed_processor", f"load {cpu['load']:.0f}")
        lines += table((f"{cpu['batch']:,} entities", "gateway, CPU ms", "parties, CPU ms"), rows)
    return lines


def ledger() -> list[str]:
    charges, views = stored("ledger"), stored("ledger_views")
    lines = []
    if charges:
        rows = [
            [
                row["database"],
                str(row["together"]),
                f"{row['entities']:,}",
                figure(row["ms"]),
                figure(row["ms_5"]),
                f"{row['entities_per_second']:,.0f}",
                figure(row["bare_ms"]),
                figure(row["bare_ms_5"]),
            ]
            for row in charges["charges"]
        ]
        heads = (
            "ledger",
            "asks together",
            "entities each",
            "ms",
            "least ms",
            "entities / s",
            "bare ms",
            "least bare ms",
        )
        more = f"{charges['known_entities']:,} entities; load {charges['machine']['load']:.0f}"
        lines += ["### Durable charges", *command("python benchmarks/ledger.py", "ledger", more), *table(heads, rows)]
    if views:
        times: dict[str, dict[str, float]] = {}
        for row in views["questions"]:
            times.setdefault(row["what"], {})[row["database"]] = row["ms"]
        rows = [[what, *(figure(ms.get(kind)) for kind in ("SQLite", "PostgreSQL"))] for what, ms in times.items()]
        more = f"{views['requests']:,} requests, {views['entities']:,} entities; load {views['machine']['load']:.0f}"
        lines += ["### What auditors wait for", *command("python benchmarks/ledger_views.py", "ledger_views", more)]
        lines += table(("question", "SQLite, ms", "PostgreSQL, ms"), rows)
    return lines


def all_speeds() -> list[Any]:
    parts = (releases, encryption, gateway, in_bytes, pinned_questions, sealed, ledger)
    return [line for part in parts for line in ["", *part()]]
