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
    """Holds what is known of a run's sizes, and how many rows were judged since a report.

    Args:
        width: of embeddings.
        number: what they consist of.
        codes: how many codes each sealed site has, by its name.
    """

    def __init__(self, width: int, number: torch.dtype = torch.float32, codes: Mapping[str, int] | None = None) -> None:
        self._width, self._number, self._judged = width, number, 0
        self._codes = dict(codes or {})

    def check(self, site: str, request: Message, reply: Message) -> None:
        """Complain of a reply that does not fit its request."""
        if type(reply) is not _ANSWERS.get(type(request)):
            raise SiteError(f"site {site} answered {type(request).__name__} with {type(reply).__name__}")
        if isinstance(request, WorkAndLogits) and isinstance(reply, EmbeddingAndGradient):
            self.check(site, request.work, reply.embedding)
            self.check(site, request.logits, reply.gradient)
        elif isinstance(request, Work) and isinstance(reply, Embedding):
            self._check_embedding(site, None if request.rows is None else len(request.rows), reply.values)
        elif isinstance(request, Logits) and isinstance(reply, LogitGradient):
            self._judged += len(request.rows)
            wanted = (len(request.rows), request.values.shape[1]) if request.train else None
            self._check_shape(site, "a gradient", wanted, reply.values)
        elif isinstance(reply, Report):
            self._check_report(site, reply)

    def _check_embedding(self, site: str, rows: int | None, found: Tensor | None) -> None:
        if site in self._codes:
            check_codes(site, rows, found, self._codes[site])
            return
        if found is not None and found.dtype is torch.uint8:
            raise SiteError(f"site {site} sent codes, but it is not sealed in this job")
        self._check_shape(site, "an embedding", None if rows is None else (rows, self._width), found)

    def _check_shape(self, site: str, what: str, wanted: tuple[int, int] | None, found: Tensor | None) -> None:
        check_sides(site, what, wanted, found)
        if found is not None and found.dtype is not self._number:
            raise SiteError(f"site {site} sent {what} in {found.dtype}, not in {self._number}")

    def _check_report(self, site: str, report: Report) -> None:
        judged, self._judged = self._judged, 0
        if report.rows != judged:
            raise SiteError(f"site {site} reports on {report.rows:,} rows, but was asked for {judged:,}")


def check_codes(site: str, rows: int | None, found: Tensor | None, codes: int) -> None:
    """A sealed site sends one of so many codes for each row, and never anything else."""
    if found is not None and found.dtype is not torch.uint8:
        raise SiteError(f"site {site} is sealed, but sent an embedding instead of codes")
    check_sides(site, "codes", None if rows is None else (rows,), found)
    if found is not None and len(found) and int(found.max()) >= codes:
        raise SiteError(f"site {site} sent a code that is not among the {codes} of its seal")


def check_sides(site: str, what: str, wanted: tuple[int, ...] | None, found: Tensor | None) -> None:
    """As many numbers as were asked for, and in that order."""
    shape = None if found is None else tuple(found.shape)
    if shape != wanted:
        raise SiteError(f"site {site} sent {what} of shape {shape}, not {wanted}")


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
