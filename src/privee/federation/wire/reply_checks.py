"""Does a site's answer fit the question? A coordinator trusts no site to send the right kind, shape or number.

Every complaint names the site. What only the site can know (is this really its embedding, its loss?) is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from privee.federation.errors import SiteError
from privee.federation.wire.frames import Note
from privee.vfl.messages import (
    Embedding,
    EmbeddingAndGradient,
    LogitGradient,
    Logits,
    Message,
    Report,
    ReportRequest,
    Work,
    WorkAndLogits,
)
from privee.vfl.run_format import PART_FILES, PARTY, WEIGHTS

MAX_ROWS, MAX_CLASSES, MAX_NAME = 100_000_000, 10_000, 200
_ANSWERS: dict[type, type] = {
    Work: Embedding,
    Logits: LogitGradient,
    WorkAndLogits: EmbeddingAndGradient,
    ReportRequest: Report,
}


class ReplyChecks:
    """Holds what is known of a run's sizes: how wide embeddings are, and how many rows were judged since a report."""

    def __init__(self, width: int, number: torch.dtype = torch.float32) -> None:
        self._width, self._number, self._judged = width, number, 0

    def check(self, site: str, request: Message, reply: Message) -> None:
        """Complain of a reply that does not fit its request."""
        if type(reply) is not _ANSWERS.get(type(request)):
            raise SiteError(f"site {site} answered {type(request).__name__} with {type(reply).__name__}")
        if isinstance(request, WorkAndLogits) and isinstance(reply, EmbeddingAndGradient):
            self.check(site, request.work, reply.embedding)
            self.check(site, request.logits, reply.gradient)
        elif isinstance(request, Work) and isinstance(reply, Embedding):
            wanted = None if request.rows is None else (len(request.rows), self._width)
            self._check_shape(site, "an embedding", wanted, reply.values)
        elif isinstance(request, Logits) and isinstance(reply, LogitGradient):
            self._judged += len(request.rows)
            wanted = (len(request.rows), request.values.shape[1]) if request.train else None
            self._check_shape(site, "a gradient", wanted, reply.values)
        elif isinstance(reply, Report):
            self._check_report(site, reply)

    def _check_shape(self, site: str, what: str, wanted: tuple[int, int] | None, found: Tensor | None) -> None:
        shape = None if found is None else tuple(found.shape)
        if shape != wanted:
            raise SiteError(f"site {site} sent {what} of shape {shape}, not {wanted}")
        if found is not None and found.dtype is not self._number:
            raise SiteError(f"site {site} sent {what} in {found.dtype}, not in {self._number}")

    def _check_report(self, site: str, report: Report) -> None:
        judged, self._judged = self._judged, 0
        if report.rows != judged:
            raise SiteError(f"site {site} reports on {report.rows:,} rows, but was asked for {judged:,}")


def counts_of(replies: Mapping[str, Note], active: str) -> tuple[int, int]:
    """Rows, and training rows among them, in which all sites agree."""
    found = {site: (reply.values.get("rows"), reply.values.get("train")) for site, reply in replies.items()}
    for site, (rows, training) in found.items():
        if type(rows) is not int or type(training) is not int or not 0 < training <= rows <= MAX_ROWS:
            raise SiteError(f"site {site} gave no sensible number of records; there may be up to {MAX_ROWS:,}")
    for site, counts in found.items():
        if counts != found[active]:
            raise SiteError(
                f"the sites do not hold the same records: {site} has other numbers of them than {active}; "
                "are they on the same version of the data?"
            )
    return replies[active].values["rows"], replies[active].values["train"]


def classes_of(reply: Note, site: str) -> list[str]:
    """Names of the classes."""
    classes = reply.values.get("classes")
    if not isinstance(classes, list) or not all(isinstance(name, str) and len(name) <= MAX_NAME for name in classes):
        raise SiteError(f"site {site} named no classes")
    if not 2 <= len(set(classes)) == len(classes) <= MAX_CLASSES:
        raise SiteError(f"site {site} must name 2 to {MAX_CLASSES:,} different classes, not {len(classes):,}")
    return classes


def column_of(reply: Note, key: str, site: str) -> str | None:
    """The name of a column, or None."""
    name = reply.values.get(key)
    if name is not None and not (isinstance(name, str) and len(name) <= MAX_NAME):
        raise SiteError(f"site {site} named no column as its {key.replace('_', ' ')}")
    return name


def files_of(reply: Note, site: str) -> dict[str, str]:
    """Checksums of a part's files by their names, which become parts of paths."""
    files: Any = reply.values.get("files")
    if not isinstance(files, dict) or not {WEIGHTS, PARTY} <= set(files) <= PART_FILES:
        raise SiteError(f"site {site} did not say which files its part consists of")
    if not all(isinstance(sha, str) and re.fullmatch("[0-9a-f]{64}", sha) for sha in files.values()):
        raise SiteError(f"site {site} sent something else than checksums of its files")
    return files
