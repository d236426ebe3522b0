"""An audit on disk: audit.json with everything, findings as one tidy table (Parquet and CSV), the report."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

from privee.atomic import whole_file
from privee.audit.results import Audit, Finding

LONG = ("column_mse", "shown")
"""Fields that are lists; the tidy table does without them."""


def tidy(audit: Audit) -> list[dict[str, Any]]:
    """One flat record per finding, with what is known of its subject and its release."""
    subjects = {subject.name: subject for subject in audit.subjects}
    handouts = {(h.subject, h.defense, h.seed): h for h in audit.handouts}
    records = []
    for finding in audit.findings:
        subject, handout = subjects[finding.subject], handouts.get((finding.subject, finding.defense, finding.seed))
        records.append(
            {
                **{f.name: getattr(finding, f.name) for f in dataclasses.fields(Finding) if f.name not in LONG},
                "model": subject.model,
                "known_columns": subject.known_columns,
                "unknown_columns": subject.unknown_columns,
                "adversary_fraction": subject.adversary_fraction,
                "classes": subject.classes,
                "records": subject.records,
                "mean_l1_moved": None if handout is None else handout.mean_l1_moved,
                "ranking_kept": None if handout is None else handout.ranking_kept,
                "label_kept": None if handout is None else handout.label_kept,
            }
        )
    return records


def save_audit(audit: Audit, folder: Path) -> dict[str, Path]:
    """Write all files, each whole or not at all, replacing those of an earlier run; returns them by kind."""
    from privee.audit.report import write_report

    folder.mkdir(parents=True, exist_ok=True)
    files = {kind: folder / name for kind, name in FILES.items()}
    with whole_file(files["json"], force=True) as partial:
        partial.write_text(json.dumps(audit.as_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    records = tidy(audit)
    with whole_file(files["csv"], force=True) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    _write_parquet(files["parquet"], records)
    write_report(audit, files["report"], force=True)
    return files


FILES = {"json": "audit.json", "csv": "findings.csv", "parquet": "findings.parquet", "report": "report.html"}


def _write_parquet(path: Path, records: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    with whole_file(path, force=True) as partial:
        parquet.write_table(pa.Table.from_pylist(records), partial)
