"""An audit on disk: audit.json with everything, findings as one tidy table (Parquet and CSV), the report.

While a grid runs, findings are kept as they come, one JSON line each, so that an interrupted one goes on.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from privee.atomic import whole_file, write_json
from privee.audit.comparison import same_results
from privee.audit.exposure.findings import ColumnFinding, PeopleFinding
from privee.audit.loading import load_audit
from privee.audit.results import Audit, Finding
from privee.errors import PriveeError
from privee.given import AUDIT_FILE

LONG = ("column_mse", "columns", "people", "shown")
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


def save_audit(audit: Audit, folder: Path, *, compare: Path | None = None) -> dict[str, Path]:
    """Write all files, each whole or not at all, replacing those of an earlier run; returns them by kind.

    The report says what changed since the audit that is in the folder already, or since the one that `compare` names.
    """
    from privee.audit.report import write_report

    before = _before(audit, folder, compare)
    folder.mkdir(parents=True, exist_ok=True)
    files = {kind: folder / name for kind, name in FILES.items()}
    if before is not None:
        write_json(folder / PREVIOUS, _slim(before).as_dict())
    with whole_file(files["json"], force=True) as partial:
        partial.write_text(json.dumps(audit.as_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    records = tidy(audit)
    with whole_file(files["csv"], force=True) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    _write_parquet(files["parquet"], records)
    write_report(audit, files["report"], before=before, force=True)
    return files


def rewrite_report(folder: Path, *, compare: Path | None = None) -> Path:
    """Write the report of a saved audit again, compared with what it was compared with before unless told otherwise."""
    from privee.audit.report import write_report

    audit = load_audit(folder)
    place = folder if folder.is_dir() else folder.parent
    before = load_audit(compare) if compare is not None else _readable(place / PREVIOUS)
    write_report(audit, place / FILES["report"], before=before, force=True)
    return place / FILES["report"]


FILES = {"json": AUDIT_FILE, "csv": "findings.csv", "parquet": "findings.parquet", "report": "report.html"}
PREVIOUS = "previous.json"
"""What the report compares with, kept so that it can be written again."""


def _before(audit: Audit, folder: Path, compare: Path | None) -> Audit | None:
    """The audit to compare with; one that found exactly the same is this one, run again."""
    if compare is not None:
        return load_audit(compare)
    last = _readable(folder / FILES["json"])
    return _readable(folder / PREVIOUS) if last is not None and same_results(last, audit) else last


def _readable(path: Path) -> Audit | None:
    """An audit that nobody asked for by name: none if it cannot be read."""
    try:
        return load_audit(path)
    except PriveeError:
        return None


def _slim(audit: Audit) -> Audit:
    """Grades and what they are of, without single attacks and pictures."""
    subjects = tuple(dataclasses.replace(info, picture=None) for info in audit.subjects)
    return dataclasses.replace(audit, subjects=subjects, findings=(), handouts=(), curves=())


def _write_parquet(path: Path, records: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    with whole_file(path, force=True) as partial:
        parquet.write_table(pa.Table.from_pylist(records), partial)


class FindingsFile:
    """A file of findings by task key; a torn last line, left by a crash, is dropped. Without a path, memory alone."""

    def __init__(self, path: Path | None) -> None:
        self._found: dict[str, Finding] = {}
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._read(path)
        self._file = None if path is None else path.open("a", encoding="utf-8")

    def get(self, key: str) -> Finding | None:
        """What was found for this key."""
        return self._found.get(key)

    def add(self, key: str, finding: Finding) -> None:
        """Keep a finding; it is on disk when this returns."""
        self._found[key] = finding
        if self._file is not None:
            self._file.write(json.dumps({"key": key} | dataclasses.asdict(finding), allow_nan=False) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def _read(self, path: Path) -> None:
        """Read what is there; whatever follows the last whole line is cut off."""
        if not path.exists():
            return
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        for number, line in enumerate(whole.decode("utf-8", errors="replace").splitlines(), start=1):
            try:
                record = json.loads(line)
                key = record.pop("key")
                self._found[key] = finding_of(record)
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
                raise PriveeError(f"{path}, line {number}, is damaged; remove the file to start again") from None
        if len(whole) < len(text):
            with path.open("rb+") as file:
                file.truncate(len(whole))

    def __enter__(self) -> FindingsFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()


def finding_of(record: dict[str, Any]) -> Finding:
    """Back from `dataclasses.asdict`, also through JSON."""
    shown = tuple(tuple(row) for row in record.pop("shown"))
    columns = tuple(ColumnFinding.from_dict(column) for column in record.pop("columns", ()))
    people = record.pop("people", None)
    return Finding(
        **{**record, "column_mse": tuple(record["column_mse"]), "after": tuple(record.get("after", ()))},
        columns=columns,
        people=None if people is None else PeopleFinding(**people),
        shown=shown,
    )
