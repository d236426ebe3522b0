"""What an audit found: plain records, ready for JSON, tables and the report; their numbers as people read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from privee.audit.exposure.findings import Attacker, ColumnExposure, ColumnFinding, PeopleExposure, PeopleFinding
from privee.data.columns import SourceColumn
from privee.scores import Utility

Status = Literal["ok", "failed", "skipped"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One attack (or one guess) on one release, one seed.

    Attributes:
        subject: name of the audited model and split.
        defense: spec of the defense; "" for guesses, which need no release.
        attack: spec of the attack, or "uniform guess", "mean guess", "regression guess".
        attacker: "guess", "naive" (ignores the defense) or "adaptive" (knows it).
        status: "failed" if it does worse than the column means, "skipped" if it makes no sense here (see `reason`).
        confidence_residual: mean square of model scores minus released values, the figure comparable with the paper.
        feature_mse: mean square error over records and unknown columns.
        guess_normalised: feature MSE over that of the best guess made without the release.
        column_mse: mean square error of each unknown feature.
        records: how many were attacked.
        questions: asked with own columns of the attacker's choice; 0 for attackers who ask honestly.
        after: of these, the share of the best guess's error that is left before any question, after one, and so on.
        without_end: given a sealed party's code itself, which tells as much as any number of questions.
        by_column: the attack learns each column by itself and was given many records, so its mean error is not compared
            with that of attacks on few.
        columns, people: what it tells about each original column, and about people.
        shown: the reconstructed columns of the first few records, for pictures.
    """

    subject: str
    defense: str
    attack: str
    attacker: Attacker
    seed: int
    queries: int = 1
    status: Status = "ok"
    reason: str = ""
    confidence_residual: float | None = None
    feature_mse: float | None = None
    guess_normalised: float | None = None
    seconds: float = 0.0
    column_mse: tuple[float, ...] = ()
    records: int = 0
    questions: int = 0
    after: tuple[float, ...] = ()
    without_end: bool = False
    by_column: bool = False
    columns: tuple[ColumnFinding, ...] = ()
    people: PeopleFinding | None = None
    shown: tuple[tuple[float, ...], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Handout:
    """What a defense keeps and moves, one seed: shares of records, distances, and the time it took for the rows.

    `utility` and `order_between` (see `privee.scores.utility`) are measured on many records, once.
    """

    subject: str
    defense: str
    seed: int
    ranking_kept: float
    label_kept: float
    mean_l1_moved: float
    top_score_error: float
    accuracy: float | None = None
    utility: Utility | None = None
    order_between: float | None = None
    rows: int = 0
    seconds: float = dataclasses.field(default=0.0, compare=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SealedInfo:
    """What a sealed party can ever give away of a record (`privee.theory.SealedChannel`).

    Attributes:
        party: its name.
        codes: of how many it sends one.
        epsilon: of the randomised response by which that is drawn; None for none.
        bits: log2 of the codes.
        leaked_bits: what they tell at most, with the noise.
        learn: "joint" if codes were learned with the task, "own" if from the party's columns alone.
    """

    party: str
    codes: int
    epsilon: float | None
    bits: float
    leaked_bits: float
    learn: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class SubjectInfo:
    """The audited model, what its attacker holds, and what it is worth; errors are in units of each column's range.

    Attributes:
        active, parties: who asks, and everyone who holds columns.
        held: names of the columns that the attacker holds.
        columns: the private ones, as their owners know them.
        column_records, column_auxiliary_rows: what attacks on single columns get; `records` and `auxiliary_rows` are
            for those that rebuild whole records.
        utility, own_columns, majority: what the scores are worth to whoever knows the labels, what the active party's
            own columns alone would be, and what always naming the most frequent class is.
        fingerprints: digests of the data and of the model, by what they are of.
        sealed: the parties with private columns that are sealed, and what each can ever give away.
        embedding_defenses: by party, what it does to the embedding that it sends: part of the model, known to the
            attacker, and no bound.
    """

    name: str
    model: str
    known_columns: int
    unknown_columns: int
    classes: int
    records: int
    auxiliary_rows: int
    accuracy: float | None = None
    active: str = "active"
    parties: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    columns: tuple[SourceColumn, ...] = ()
    column_records: int = 0
    column_auxiliary_rows: int = 0
    utility: Utility | None = None
    own_columns: Utility | None = None
    majority: Utility | None = None
    fingerprints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    picture: Picture | None = None
    sealed: tuple[SealedInfo, ...] = ()
    embedding_defenses: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def adversary_fraction(self) -> float:
        """Share of the columns that the attacker holds."""
        return self.known_columns / (self.known_columns + self.unknown_columns)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picture:
    """How rows become images, and the true images of the first few records.

    Attributes:
        shape: (channels, height, width).
        unknown: positions of the unknown columns in the flattened image.
        truth: flattened images.
    """

    shape: tuple[int, int, int]
    unknown: tuple[int, ...]
    truth: tuple[tuple[float, ...], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over seeds with its 95 % interval (no interval for a single seed)."""

    mean: float
    low: float | None = None
    high: float | None = None
    seeds: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Best:
    """The attack with the smallest mean error, and whose it is."""

    attack: str
    attacker: Attacker
    error: Estimate


@dataclasses.dataclass(frozen=True, kw_only=True)
class AskedAgain:
    """What is told to somebody who asks about a record several times, with own columns of its choice.

    Attributes:
        questions: how many times at most; asking once and honestly is one of the ways to use them.
        grade: that of the worst column.
        verdict: the same in plain words.
        guess_normalised: of the best guess's error, the share that the attack leaves; a mean over columns.
        after: the same before any question, after one, and so on.
        columns: what is told about each column, the worst one first.
        records: how many were asked about.
    """

    questions: int
    grade: str
    verdict: str
    guess_normalised: float
    after: tuple[float, ...]
    columns: tuple[ColumnExposure, ...]
    records: int

    @property
    def worst(self) -> ColumnExposure | None:
        """The column that is told best."""
        return self.columns[0] if self.columns else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithoutEnd:
    """What is told to somebody who may ask without end, of a model whose private columns are all sealed.

    Attributes:
        grade: that of the worst column by the code itself, or by another attack if that were worse.
        verdict: the same in plain words.
        guess_normalised: of the best guess's error, the share that the code leaves; a mean over columns.
        columns: what is told about each column, the worst one first.
        records: how many were attacked with their codes.
        proven: what the sealed parties can ever give away, and to whom that holds.
        not_covered: for whom, and for what, it does not.
    """

    grade: str
    verdict: str
    guess_normalised: float
    columns: tuple[ColumnExposure, ...]
    records: int
    proven: str
    not_covered: tuple[str, ...]

    @property
    def worst(self) -> ColumnExposure | None:
        """The column that is told best."""
        return self.columns[0] if self.columns else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Card:
    """The scorecard of one defense on one subject.

    Attributes:
        naive, adaptive: the best attack of each kind, None if none could run.
        guess: the best guess that needs no release.
        headline: smallest mean error over attacks and guesses; the attacker may choose.
        guess_normalised: headline over the best guess, a mean over columns; 1 means that the release gave nothing away.
        columns: what is told about each column, the worst one first.
        people: of how many people something is known.
        attainable_protection: share of what any order-preserving defense could protect; None if not measurable.
        failed, skipped: attacks that lost to the column means, and attacks that make no sense here with the reason.
        seconds_per_record, released_records: what releasing cost, and on how many records kept and moved were
            measured (few for slow defenses).
        grade: "open", "weak", "partial" or "guarded": that of the worst column, asked once and honestly.
        asked_again: the same for attackers who ask more often with own columns of their choice, by how often.
        without_end: the same for those who may ask without end; None unless all private columns are sealed.
        mean_grade: the word for `guess_normalised`, which may be kinder.
        utility, order_between: what the release is worth to whoever knows the labels, and how far records keep their
            order.
        verdict: the same in plain words.
    """

    subject: str
    defense: str
    guarantee: str
    not_covered: tuple[str, ...]
    naive: Best | None
    adaptive: Best | None
    guess: Best
    mean_guess: Estimate
    headline: Best
    guess_normalised: float
    attainable_protection: float | None
    ranking_kept: float
    label_kept: float
    mean_l1_moved: float
    top_score_error: float
    accuracy: float | None
    failed: tuple[str, ...]
    skipped: Mapping[str, str]
    grade: str
    verdict: str
    mean_grade: str = ""
    columns: tuple[ColumnExposure, ...] = ()
    people: PeopleExposure | None = None
    utility: Utility | None = None
    order_between: float | None = None
    seconds_per_record: float = dataclasses.field(default=0.0, compare=False)
    released_records: int = 0
    asked_again: tuple[AskedAgain, ...] = ()
    without_end: WithoutEnd | None = None

    @property
    def most_asked(self) -> AskedAgain | None:
        """For the attacker who asks most often; None if nobody asked more than honestly."""
        return self.asked_again[-1] if self.asked_again else None

    @property
    def worst(self) -> ColumnExposure | None:
        """The column that is told best; None if none could be measured."""
        return self.columns[0] if self.columns else None

    def _repr_html_(self) -> str:
        """For notebooks."""
        from privee.audit.notebook_view import card_html

        return card_html(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curve:
    """Error of the repeated-query attack by number of queries: mean with a 95 % band, and theory."""

    subject: str
    rho: float
    queries: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    theory: tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audit:
    """Everything an audit found.

    Attributes:
        about: how it was run: versions, settings, seeds, seconds, date.
    """

    about: Mapping[str, Any]
    subjects: tuple[SubjectInfo, ...]
    findings: tuple[Finding, ...]
    handouts: tuple[Handout, ...]
    cards: tuple[Card, ...]
    curves: tuple[Curve, ...] = ()

    def card(self, defense: str, subject: str | None = None) -> Card:
        """The scorecard of a defense (of the first subject, unless one is named)."""
        name = subject or self.subjects[0].name
        return next(card for card in self.cards if (card.subject, card.defense) == (name, defense))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = dataclasses.asdict(self)
        for finding in plain["findings"]:
            del finding["columns"]  # the cards have what counts; the findings file has them all
        return plain

    def _repr_html_(self) -> str:
        """For notebooks."""
        from privee.audit.notebook_view import audit_html

        return audit_html(self)


SMALLEST_SHOWN = 1e-4


def short_number(value: float) -> str:
    """Four decimals, three where that is plenty.

    Example:
        >>> [short_number(value) for value in (0.00071, 0.2873, 18.61, 3e-9, 0.0)]
        ['0.0007', '0.287', '18.6', '< 0.0001', '0']
    """
    if value == 0:
        return "0"
    if value < SMALLEST_SHOWN:
        return "< 0.0001"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def with_interval(found: Estimate) -> str:
    """The mean with its 95 % interval, if there is one."""
    if found.low is None or found.high is None:
        return short_number(found.mean)
    return f"{short_number(found.mean)} ({short_number(found.low)} to {short_number(found.high)})"
