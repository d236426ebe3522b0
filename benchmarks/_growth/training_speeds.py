"""The other half: alignment and its ten million on paper, training, federations, audits."""

from __future__ import annotations

from typing import Any

from benchmarks._growth.markdown import command, figure, seconds, size, stored, table

FAR = (1_000_000, 10_000_000)


def alignment() -> list[str]:
    steps, ratios, spu = stored("alignment"), stored("alignment_ratio"), stored("alignment_spu")
    lines = ["## Alignment"]
    if ratios:
        rows = [
            [
                f"{row['ids']:,}",
                *(seconds(row[when]["cpu_seconds"]) for when in ("before", "now")),
                f"{row['ratio']['cpu_seconds']:.2f}",
                f"{row['ratio']['seconds']:.2f}",
                size(row["now"]["message_bytes"]),
                size(1000000.0 * row["now"]["peak_mb"]),
                f"{row['load']:.0f}",
            ]
            for row in ratios["comparisons"]
        ]
        heads = ("ids per party", "CPU before", "CPU now", "CPU ratio", "time ratio", "messages", "memory", "load")
        lines += command("python benchmarks/alignment.py --against SRC --sizes 20000,100000", "alignment_ratio")
        lines += ["", "The default engine, two parties, by turns with the version before:", *table(heads, rows)]
    if spu:
        rows = [
            [
                f"{row['ids']:,}",
                seconds(row["own_cpu_seconds"] + row["worker_cpu_seconds"]),
                seconds(row["seconds"]),
                size(1000000.0 * row["own_peak_mb"]),
                size(1000000.0 * row["largest_worker_peak_mb"]),
                f"{row['load']:.0f}",
            ]
            for row in spu["alignments"]
        ]
        heads = ("ids per party", "CPU", "on the clock", "memory of a party", "of its worker", "load")
        lines += command("python benchmarks/alignment.py --engine spu --sizes 100000,1000000", "alignment_spu")
        lines += ["", "The second engine, RR22:", *table(heads, rows)]
    if steps:
        rows = [
            [
                f"{row['ids']:,}",
                str(row["parties"]),
                seconds(row["seconds"]),
                seconds(row["cpu_seconds"]),
                size(row["message_bytes"]),
            ]
            for row in steps["alignments"]
        ]
        lines += command(
            "python benchmarks/alignment.py", "alignment", "the default engine as it was before; each step is stored"
        )
        lines += table(("ids per party", "parties", "on the clock", "CPU", "messages"), rows)
    return [*lines, *on_paper(ratios, spu)]


def on_paper(ratios: Any, spu: Any) -> list[str]:
    """Nothing larger than a million was run: what the largest measured points give in proportion."""
    if not (ratios and spu):
        return []
    most = max(ratios["comparisons"], key=lambda row: row["ids"])
    least = min(ratios["comparisons"], key=lambda row: row["ids"])
    other = max(spu["alignments"], key=lambda row: row["ids"])
    each = {name: most["now"][name] / most["ids"] for name in ("cpu_seconds", "message_bytes")}
    memory = (most["now"]["peak_mb"] - least["now"]["peak_mb"]) * 1e6 / (most["ids"] - least["ids"])
    cpu = (other["own_cpu_seconds"] + other["worker_cpu_seconds"]) / other["ids"]
    peak = (other["own_peak_mb"] + other["largest_worker_peak_mb"]) * 1e6 / other["ids"]
    rows = [
        [
            f"{ids:,}",
            seconds(each["cpu_seconds"] * ids),
            size(each["message_bytes"] * ids),
            size(memory * ids),
            seconds(cpu * ids),
            size(peak * ids),
        ]
        for ids in FAR
    ]
    heads = (
        "ids per party",
        "default: CPU",
        "messages",
        "memory of both",
        "spu: CPU",
        "memory of a party and its worker",
    )
    return [
        "",
        f"**Ten million, on paper.** In proportion to {most['ids']:,} ids (default engine; its memory by the slope from"
        f" {least['ids']:,}) and to {other['ids']:,} (spu); nothing larger was run."
        " [What ends first](alignment.md#ten-million-on-paper).",
        *table(heads, rows),
    ]


def training() -> list[str]:
    steps, seals, lines = stored("vfl_step"), stored("sealed_step"), ["## Training"]
    if steps:
        rows = [
            [row["model"], str(row["parties"]), str(row["columns"]), f"{row['batch']:,}"]
            + [f"{figure(row['ms'][name])} ms" for name in ("joint", "plain")]
            + [f"{row[name]:.2f}" for name in ("ratio", "ratio_fused")]
            for row in steps["steps"]
        ]
        heads = ("model", "parties", "columns", "batch", "joint step", "plain PyTorch", "ratio", "ratio to fused Adam")
        lines += [*command("python benchmarks/vfl_step.py", "vfl_step"), *table(heads, rows)]
    if seals:
        rows = [[row["model"], str(row["columns"]), f"`{row['seal']}`", f"{row['ratio']:.2f}"] for row in seals["rows"]]
        lines += ["### A sealed party's step", *command("python benchmarks/sealed_step.py", "sealed_step")]
        lines += table(("model", "columns", "seal", "times the step without"), rows)
    return [*lines, *whole_trainings()]


def whole_trainings() -> list[str]:
    tables, paper, lines = stored("tabular_models"), stored("vfl_accuracy"), []
    if tables:
        rows = [[row["dataset"], row["model"], seconds(row["seconds"]), f"{row['auc']:.3f}"] for row in tables["means"]]
        busy = [
            [str(row[name]) for name in ("threads", "busy_processes", "seconds", "load")] for row in tables["threads"]
        ]
        lines += ["### Whole trainings", *command("python -m benchmarks.tabular_models", "tabular_models")]
        lines += table(("dataset", "model", "mean time", "AUC"), rows)
        lines += [*command("python -m benchmarks.tabular_models --beside", "tabular_models")]
        lines += table(("threads", "busy processes beside", "seconds", "load"), busy)
    if paper:
        rows = [
            [
                name,
                row["settings"]["model"],
                f"{row['train_rows']:,}",
                str(row["settings"]["epochs"]),
                seconds(row["seconds"]),
            ]
            for name, row in paper.items()
        ]
        lines += ["At the paper's settings, on one thread:"]
        lines += command("python benchmarks/vfl_accuracy.py mnist drive adult cifar10 cifar100", "vfl_accuracy")
        lines += table(("dataset", "model", "records", "epochs", "time"), rows)
    return lines


def federation() -> list[str]:
    found = stored("federation")
    if not found:
        return []
    rows = []
    for row in found["steps"]:
        line = "direct" if row["direct"] else "relayed"
        shown = [str(row["parties"]), f"{row['batch']:,}", line, row["packing"], "yes" if row.get("pipeline") else ""]
        shown += [figure(1e3 * row[name]) for name in ("step", "local", "transport")]
        rows.append([*shown, size(row["sent"] + row["received"]), f"{row['load']:.0f}"])
    heads = (
        "parties",
        "batch",
        "line",
        "packing",
        "pipelined",
        "step, ms",
        "local, ms",
        "transport, ms",
        "messages",
        "load",
    )
    lines = ["### Across processes, with mutual TLS", *command("python benchmarks/federation.py", "federation")]
    return [*lines, "", "The mlp on MNIST's 784 columns, every role a process of its own:", *table(heads, rows)]


def audits() -> list[str]:
    found = stored("audit_time")
    if not found:
        return []
    names = sorted(
        {name for when in found.values() for name in when["seconds"]},
        key=lambda name: (-_took(found, "before", name), name),
    )
    rows = [
        [f"`{name}`", *(figure(found[when]["seconds"].get(name)) for when in ("before", "after"))] for name in names
    ]
    both = [sum(found[when]["seconds"].values()) for when in ("before", "after")]
    rows.append(["all", *map(figure, both)])
    pace = "task by task" if found["after"].get("in_step") else "each at its own pace, on a busy machine"
    line = "python benchmarks/audit_time.py --before OTHER/src"
    lines = ["## Audits", *command(line, "audit_time", f"with the version before in OTHER; both at once, {pace}")]
    told = [f"The default audit of digits, CPU seconds: {both[1] / both[0]:.2f} of what it took."]
    if some := stored("audit_time_part"):
        part = [sum(some[when]["seconds"].values()) for when in ("before", "after")]
        share = f"{part[1] / part[0]:.2f} with `--one-in {some['after']['one_in']}`"
        told.append(f"Of fewer tasks, both versions task by task: {share}, `benchmarks/results/audit_time_part.json`.")
    return [*lines, "", " ".join(told), *table(("part", "before", "after"), rows)]


def _took(found: Any, when: str, name: str) -> float:
    return float(found[when]["seconds"].get(name, 0))


def all_speeds() -> list[str]:
    return [line for part in (alignment, training, federation, audits) for line in ["", *part()]]
