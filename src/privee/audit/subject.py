"""What is audited: a joint model with records to attack, whatever it came from."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.attacks import AttackerView, Auxiliary, WhiteBox
from privee.attacks.metrics import column_guesses, mean_guess, regression_guess, uniform_guess
from privee.attacks.view import Oracle
from privee.audit.results import Picture, SubjectInfo
from privee.audit.sealed_words import sealed_parties
from privee.audit.simulated_oracle import SimulatedOracle
from privee.data.columns import SourceColumn, check_private, columns_of_names
from privee.defenses import Defense
from privee.errors import SettingError
from privee.randomness import seeded
from privee.scores import Utility, majority_of, utility_of
from privee.vfl.own_columns_alone import own_columns_utility

Rows = NDArray[np.int64]
SHOWN = 6
"""Records whose reconstructions are kept for pictures."""


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """A joint model and rows it was made for.

    Attributes:
        name: for tables and reports.
        model_name: what kind of model it is.
        model: the white box.
        columns: all columns scaled to [0, 1], the attacker's first, (n, columns).
        targets: rows that may be attacked.
        auxiliary: rows that the attacker may know in full.
        labels: true classes, if known; -1 for records whose class is not.
        image: shape of the pictures that rows are, and each column's place in the flattened picture.
        described: every original column, with its party and its features in a row.
        active: the name of the party that asks.
        codes: what the sealed parties sent for each row, once and for all, (n, sealed parties); None if none is sealed.
        coordinator: whether the coordinator helps the attacker, who then sees what the parties send.
        noise: what parties with a noisy embedding drew for each row, once and for all; it is in the scores that are
            released, and no attacker gets it.
        embedding_defenses: of the parties that have one, its spec.
    """

    name: str
    model_name: str
    model: WhiteBox
    columns: NDArray[Any]
    targets: Rows
    auxiliary: Rows
    labels: Rows | None = None
    image: tuple[tuple[int, int, int], tuple[int, ...]] | None = None
    described: tuple[SourceColumn, ...] = ()
    active: str = "active"
    codes: NDArray[np.uint8] | None = None
    coordinator: bool = False
    noise: NDArray[np.float64] | None = None
    embedding_defenses: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def private_columns(self) -> tuple[SourceColumn, ...]:
        """What the attacker does not hold, as their owners know it; places are those among the unknown features."""
        described = self.described or columns_of_names([f"column {k + 1}" for k in range(self.columns.shape[1])], "all")
        seen = (column.within(self.model.own_columns) for column in described)
        return tuple(column for column in seen if column is not None)

    def marked(self, sensitive: Iterable[str]) -> Subject:
        """The same with these columns marked sensitive, by name or as PARTY:NAME."""
        wanted = set(sensitive)
        check_private(wanted, self.private_columns)
        described = tuple(
            dataclasses.replace(column, sensitive=bool(wanted & column.called)) for column in self.described
        )
        return dataclasses.replace(self, described=described)

    def at_fraction(self, fraction: float) -> Subject:
        """The same model with an attacker who holds this share of the columns."""
        width = self.columns.shape[1]
        if not 0 < fraction < 1:
            raise SettingError(f"the adversary fraction must lie between 0 and 1, both excluded; got {fraction}")
        known = min(max(1, round(fraction * width)), width - 1)
        return dataclasses.replace(
            self, name=f"{self.name}, {known} of {width} columns known", model=self.model.regrouped(known)
        )

    def swapped(self) -> Subject:
        """The same model with a passive attacker: the parties that held the private columns ask about the others.

        Noise in their embeddings is their own, so it hides nothing from them: it is left out.
        """
        known, width = self.model.own_columns, self.columns.shape[1]
        others = [column.party for column in self.described if column.within(known) is not None]
        return dataclasses.replace(
            self._rearranged([*range(known, width), *range(known)], width - known),
            name=f"{self.name}, asked by the passive side",
            active=" and ".join(dict.fromkeys(others)) or "passive",
            noise=None,
        )

    def with_coordinator(self) -> Subject:
        """The same model with the coordinator on the attacker's side: it sees the embeddings that parties send."""
        if not self.model.senders and not self.model.sealed:
            raise SettingError("what a coordinator sees is not known of a model without parts; attack a run of privee")
        return dataclasses.replace(
            self,
            name=f"{self.name}, with the coordinator",
            active=f"{self.active} and the coordinator",
            coordinator=True,
        )

    def against(self, party: str) -> Subject:
        """The same model with all parties but one on the attacker's side: they put their columns and codes together."""
        private = [place for column in self.described if column.party == party for place in column.places]
        if not private or len(private) == self.columns.shape[1]:
            raise SettingError(f"there is no party {party!r} that others could ask about")
        hidden = set(private)
        known = [place for place in range(self.columns.shape[1]) if place not in hidden]
        others = dict.fromkeys(column.party for column in self.described if column.party != party)
        return dataclasses.replace(
            self._rearranged([*known, *sorted(hidden)], len(known)),
            name=f"{self.name.removesuffix(known_words(self.model))}: all others against {party}",
            active=" and ".join(others),
        )

    def _rearranged(self, order: list[int], known: int) -> Subject:
        """The same with columns in another order, of which the attacker holds the first."""
        place_of = {place: k for k, place in enumerate(order)}
        described = [
            dataclasses.replace(column, places=tuple(place_of[place] for place in column.places))
            for column in self.described
        ]
        return dataclasses.replace(
            self,
            model=self.model.rearranged(order, known),
            columns=self.columns[:, order],
            described=tuple(sorted(described, key=lambda column: column.places)),
            image=None if self.image is None else (self.image[0], tuple(self.image[1][place] for place in order)),
        )

    def sample(self, seed: int, records: int | None, auxiliary_rows: int) -> Sample:
        """Records to attack (all of them, in order, if None) and rows the attacker knows, by a seed."""
        target = self.targets if records is None else self._targets(seed, records)
        # What is attacked is not known in advance.
        other = _some(np.setdiff1d(self.auxiliary, target), auxiliary_rows, seed, "auxiliary")
        own, truth = self._cut(target)
        rows = self._known(other, seed) if len(other) > 1 else None
        labels = None if self.labels is None else self.labels[target]
        codes = None if self.codes is None else torch.from_numpy(self.codes[target])
        noise = None if self.noise is None else torch.from_numpy(self.noise[target])
        with torch.no_grad():
            sent = self.model.embeddings(own, truth, noise) if self.coordinator else None
        return Sample(self.model, own, truth, rows, labels, self.private_columns, target, codes, sent, noise)

    def _known(self, rows: Rows, seed: int) -> Auxiliary:
        """Rows that the attacker knows in full; codes and noise for them it draws itself."""
        own, unknown = self._cut(rows)
        codes = self.model.simulated_codes(own, unknown, seeded(seed, "auxiliary codes"))
        draws = seeded(seed, "auxiliary noise")
        noise = None if self.noise is None else self.model.simulated_noise(len(own), draws)
        return Auxiliary(own, unknown, codes, noise)

    def _targets(self, seed: int, records: int) -> Rows:
        one_pool = np.array_equal(self.targets, self.auxiliary)
        return _some(self.targets, min(records, len(self.targets) // 2) if one_pool else records, seed, "targets")

    def info(self, sample: Sample, many: Sample, *, own_columns: bool = True) -> SubjectInfo:
        """For tables and reports; what the model is worth is measured on many records."""
        labels = many.labels
        return SubjectInfo(
            name=self.name,
            model=self.model_name,
            known_columns=self.model.own_columns,
            unknown_columns=self.model.unknown_columns,
            classes=self.model.n_classes,
            records=len(sample.own),
            auxiliary_rows=0 if sample.auxiliary is None else len(sample.auxiliary),
            accuracy=sample.accuracy(sample.scores),
            active=self.active,
            parties=tuple(dict.fromkeys(column.party for column in self.described)),
            columns=self.private_columns,
            held=tuple(column.name for column in self.described if column.within(self.model.own_columns) is None),
            column_records=len(many.own),
            column_auxiliary_rows=0 if many.auxiliary is None else len(many.auxiliary),
            utility=many.utility(many.scores),
            own_columns=self._own_columns(many) if own_columns else None,
            majority=None if labels is None else majority_of(labels[labels >= 0], self.model.n_classes),
            fingerprints={"data": _digest(self.columns), "model (its scores)": _digest(many.scores)},
            picture=self._picture(sample),
            sealed=sealed_parties(self.model),
            embedding_defenses=dict(self.embedding_defenses),
        )

    def _own_columns(self, many: Sample) -> Utility | None:
        """What the attacker's own columns alone would be worth for the task, on the same records."""
        if self.labels is None or many.rows is None:
            return None
        test = many.rows[self.labels[many.rows] >= 0]
        others = np.setdiff1d(self.auxiliary, many.rows)
        train = others[self.labels[others] >= 0]
        if len(test) == 0 or len(np.unique(self.labels[train])) < 2:
            return None
        own = self.columns[:, : self.model.own_columns]
        return own_columns_utility(own, self.labels, train=train, test=test, n_classes=self.model.n_classes)

    def _cut(self, rows: Rows) -> tuple[Tensor, Tensor]:
        columns = torch.from_numpy(self.columns[rows].astype(np.float64))
        return columns[:, : self.model.own_columns].contiguous(), columns[:, self.model.own_columns :].contiguous()

    def _picture(self, sample: Sample) -> Picture | None:
        if self.image is None:
            return None
        shape, places = self.image
        flat = torch.cat([sample.own[:SHOWN], sample.truth[:SHOWN]], dim=1)
        truth = torch.empty_like(flat)
        truth[:, list(places)] = flat
        return Picture(
            shape=shape,
            unknown=tuple(places[self.model.own_columns :]),
            truth=tuple(map(tuple, truth.round(decimals=4).tolist())),
        )


def known_words(model: WhiteBox) -> str:
    """How much the attacker holds, for the end of a name."""
    return f", {model.own_columns} of {model.own_columns + model.unknown_columns} columns known"


def mark_each(subjects: Iterable[Subject], sensitive: Iterable[str]) -> list[Subject]:
    """Subjects with these columns marked sensitive, each where it is private; what is private nowhere is refused."""
    some, wanted = list(subjects), list(sensitive)
    check_private(wanted, [column for subject in some for column in subject.private_columns])
    private = [{name for column in subject.private_columns for name in column.called} for subject in some]
    return [subject.marked(set(wanted) & known) for subject, known in zip(some, private, strict=True)]


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Records under attack with the truth, and what the attacker knows besides; small enough to send to a worker."""

    model: WhiteBox
    own: Tensor
    truth: Tensor
    auxiliary: Auxiliary | None
    labels: Rows | None = None
    columns: tuple[SourceColumn, ...] = ()
    rows: Rows | None = None
    codes: Tensor | None = None
    embeddings: Tensor | None = None
    noise: Tensor | None = None

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """The model's scores of these records, with the codes that sealed parties sent and the noise of others."""
        with torch.no_grad():
            return self.model.scores(self.own, self.truth, self.codes, self.noise).numpy()

    def releases(self, defense: Defense, seed: int, queries: int) -> NDArray[np.float64]:
        """What is handed out for these records, (queries, n, classes); the same seed gives the same draws."""
        scores = self.scores
        draws = seeded(seed, "release", defense.spec)
        return np.stack([defense.release(scores, draws=draws) for _ in range(queries)])

    def oracle(self, defense: Defense, seed: int) -> SimulatedOracle:
        """Answers about these records with whatever own columns are asked; a slow defense's public copy answers.

        The codes of sealed parties, and the noise of others, are the same in every answer.
        """

        def scores(own: Tensor) -> NDArray[np.float64]:
            with torch.no_grad():
                codes = self.model.asked_codes(own, self.truth, self.codes)
                return self.model.scores(own, self.truth, codes, self.noise).numpy()

        return SimulatedOracle(scores, defense.public_copy() if defense.slow else defense, seed, defense.spec)

    def view(
        self, releases: NDArray[np.float64], defense: Defense, *, adaptive: bool, oracle: Oracle | None = None
    ) -> AttackerView:
        """All that an attacker gets."""
        seen = torch.from_numpy(releases)
        known = self.auxiliary, self.columns, oracle, self.codes, self.embeddings
        return AttackerView(self.own, self.model, seen, defense, adaptive, *known)

    def guesses(self, seed: int, *, by_column: bool = False) -> dict[str, Tensor]:
        """What can be said without any release; by column also what the learners of such attacks can say."""
        from privee.defenses import NoDefense

        nothing = np.zeros((1, len(self.own), self.model.n_classes))
        view = self.view(nothing, NoDefense(), adaptive=False)
        found = {"uniform guess": uniform_guess(view, seed), "mean guess": mean_guess(view)}
        if self.auxiliary is not None:
            found["regression guess"] = regression_guess(view)
            if by_column:
                found |= column_guesses(view)
        return found

    def accuracy(self, release: NDArray[np.float64]) -> float | None:
        """How often the leading class is the true one."""
        if self.labels is None:
            return None
        labels = self.labels[: len(release)]
        known = labels >= 0
        return float((release.argmax(axis=1) == labels)[known].mean()) if known.any() else None

    def utility(self, release: NDArray[np.float64]) -> Utility | None:
        """What a release is worth to whoever knows the classes; None where they are not known."""
        if self.labels is None or not (self.labels >= 0).any():
            return None
        known = self.labels >= 0
        return utility_of(release[known], self.labels[known])

    def fingerprint(self) -> str:
        """Same fingerprint, same model on the same records."""
        parts = [self.own, self.truth, torch.from_numpy(self.scores)]
        if self.auxiliary is not None:
            parts += [self.auxiliary.own, self.auxiliary.unknown]
        parts += [part for part in (self.codes, self.embeddings) if part is not None]
        found = hashlib.sha256()
        for part in parts:
            found.update(str(tuple(part.shape)).encode())
            found.update(part.contiguous().numpy().tobytes())
        return found.hexdigest()


def _digest(values: NDArray[Any]) -> str:
    found = hashlib.sha256(str((values.shape, str(values.dtype))).encode())
    found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def _some(rows: Rows, count: int, seed: int, what: str) -> Rows:
    """That many of the rows (or all there are), drawn by a seed."""
    order = np.argsort(seeded(seed, what).words(len(rows)), kind="stable")
    return rows[order[:count]]
