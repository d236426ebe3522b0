"""Shadow inversion: of a model whose scores can be asked for but not differentiated, a network learns to do the same.

Then the most likely columns are found by descent through that network. How far it misses the model is measured on
rows that it was not fitted to, and is part of what is believed. What the model said of the rows that the network was
fitted to can also be used as it is (`candidates.py`), which suits models that jump.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from privee.attacks.base import Attack, Needs
from privee.attacks.candidates import Candidates, asked_candidates, weighed
from privee.attacks.descent import Shuffled
from privee.attacks.log_scores import centred
from privee.attacks.most_likely import Problem, Through, steps_in_all, trust_in_release
from privee.attacks.registry import register
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox
from privee.defenses.base import check_positive, check_whole
from privee.errors import PriveeError, SettingError

SMALLEST = 1e-3
"""Scores below this are taken for this much: what trees say of hopeless classes is no smooth function."""
FORMS = ("best", "shadow", "candidates")
BATCH, RATE, HIDDEN = 128, 3e-3, 128
KEPT_OUT = 5
"""Every fifth row, where a shadow is fitted to auxiliary rows alone."""
FEWEST, FEWEST_ALONE = 2, 40
"""Auxiliary rows without which there is no other to be made up from; and without which, where a shadow is fitted to
them alone, those kept out are too few to say how far to trust it."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class ShadowInversion(Attack):
    """For boosted trees, forests and whatever else has no gradients; not worse than its guess but for chance.

    Args:
        form: "shadow" descends through the network; "candidates" weighs the rows that the model was asked about;
            "best" takes what does better on auxiliary rows that are treated like records.
        calls: how many made-up rows the model is asked about: own columns of records and of some auxiliary rows, each
            with what may be expected of the others. 0 fits the shadow to auxiliary rows alone, as Jiang et al. do; of
            these there must be 40.
        epochs: of fitting the shadow.
        iterations: of the descent through it.
        learning_rate: of the descent.
        anyway: also where the model has gradients, as an attacker would who has its scores alone.
    """

    name: ClassVar[str] = "shadow-inversion"
    place: ClassVar[int] = 48
    summary: ClassVar[str] = "descends through a network fitted to a model that has no gradients"
    needs: ClassVar[Needs] = Needs(auxiliary=True)
    audited: ClassVar[tuple[str, ...]] = ("shadow-inversion",)
    quick: ClassVar[bool] = True
    adapts: ClassVar[str] = "undoes what is public of the defense, and measures on its own copy how far to trust that"
    published: ClassVar[str] = (
        'Jiang, Zhou and Grossklags, "Comprehensive analysis of privacy leakage in vertical federated learning during '
        "prediction\", PoPETs 2022 (calls=0; made-up rows, prior and trust are this project's)"
    )

    form: Literal["best", "shadow", "candidates"] = "best"
    calls: int = 24_000
    epochs: int = 8
    iterations: int = 200
    learning_rate: float = 0.02
    anyway: bool = False

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise SettingError(f"form must be one of {', '.join(FORMS)}; got {self.form!r}")
        check_whole(0, 10_000_000, calls=self.calls)
        check_whole(1, 100_000, epochs=self.epochs, iterations=self.iterations)
        check_positive(learning_rate=self.learning_rate)
        if self.form == "candidates" and not self.calls:
            raise SettingError("form=candidates needs calls of 1 or more")

    def why_not(self, view: AttackerView) -> str | None:
        """Also where rows are too few, and where there is a better way."""
        general = super().why_not(view)
        if general is not None:
            return general
        fewest = FEWEST if self.calls else FEWEST_ALONE
        if view.auxiliary is not None and len(view.auxiliary) < fewest:
            return f"needs {fewest} auxiliary rows or more" + ("" if self.calls else " where calls=0")
        if not all(view.model.held):
            return "no gradient passes a sealed code, and no shadow of it tells more than the code"
        return "the model has gradients itself" if not self.anyway and view.model.differentiable else None

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("shadow inversion needs auxiliary rows")
        asked = self._asked(view, rows, watch)
        weights = None
        if asked.candidates is not None and self.form != "shadow":
            weights = weighed(view, rows, asked.candidates)
        if asked.through is None:
            assert weights is not None  # noqa: S101 (one of the two forms is there)
            return weights.unknown
        problem = Problem(view, rows, self.iterations, self.learning_rate, watch, asked.through)
        trust = trust_in_release(view, problem)
        if weights is not None and weights.error < trust.error:
            return weights.unknown
        return problem.solve("columns", view.own, problem.guess(view.own), view.target, trust.share)

    def _asked(self, view: AttackerView, rows: Auxiliary, watch: Watch) -> _Asked:
        """What the model said, and the shadow; of the same records behind another defense the same, and kept."""
        with torch.no_grad():
            scores = rows.scores(view.model)
        parts = (view.own, rows.own, rows.unknown, scores)
        digests = [hashlib.blake2b(part.numpy().tobytes()).digest() for part in parts]
        settings = f"{self.form} {self.calls} {self.epochs} {torch.initial_seed()}"
        key = hashlib.blake2b(b"".join([*digests, settings.encode()])).digest()
        if key not in _last_asked:
            _last_asked.clear()
            _last_asked[key] = self._newly_asked(view, rows, scores, watch)
        return _last_asked[key]

    def _newly_asked(self, view: AttackerView, rows: Auxiliary, scores: Tensor, watch: Watch) -> _Asked:
        every = torch.arange(len(rows))
        if not self.calls:
            kept = every % KEPT_OUT == 0
            self._expect(view, int((~kept).sum()), int(kept.sum()), watch)
            net = fitted(view.model, rows.chosen(~kept), scores[~kept], self.epochs, watch)
            return _Asked(Through(net, SMALLEST, every[kept]), None)
        candidates = asked_candidates(view, rows, self.calls)
        if self.form == "candidates":
            return _Asked(None, candidates)
        self._expect(view, len(candidates.rows()), len(rows), watch)
        net = fitted(view.model, candidates.rows(), candidates.scores.flatten(0, 1), self.epochs, watch)
        return _Asked(Through(net, SMALLEST, every), candidates)

    def _expect(self, view: AttackerView, fitted_to: int, tested: int, watch: Watch) -> None:
        """All steps there are, at most: where candidates win the last ones are not needed."""
        watch.expect(steps_to_fit(fitted_to, self.epochs) + steps_in_all(view, tested, self.iterations))


class _Asked(NamedTuple):
    through: Through | None
    candidates: Candidates | None


_last_asked: dict[bytes, _Asked] = {}
"""What was asked last in this process."""


def fitted(model: WhiteBox, rows: Auxiliary, scores: Tensor, epochs: int, watch: Watch) -> WhiteBox:
    """A network that gives the log-scores of these rows, as a white box."""
    columns = torch.cat([rows.own, rows.unknown], dim=1)
    net = _Shadow(columns, model.n_classes)
    wanted = centred(scores.clamp_min(SMALLEST).log()).float()
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE, fused=True)
    batches = Shuffled(len(columns), BATCH)
    total = steps_to_fit(len(columns), epochs)
    for step in watch.steps("shadow", total, {"order": batches.order} | net.state_dict(), optimizer):
        part = batches.at(step)
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / total)
        optimizer.zero_grad()
        loss = (net(columns[part]) - wanted[part]).square().mean()
        loss.backward()
        optimizer.step()
    net.eval().requires_grad_(requires_grad=False)
    return WhiteBox(
        net.logits,
        own_columns=model.own_columns,
        unknown_columns=model.unknown_columns,
        n_classes=model.n_classes,
    )


def steps_to_fit(rows: int, epochs: int) -> int:
    """How many mini-batches it takes."""
    return epochs * -(-rows // BATCH)


class _Shadow(nn.Module):
    """Two hidden layers on standardised columns, in single precision."""

    def __init__(self, columns: Tensor, n_classes: int) -> None:
        super().__init__()
        spread = columns.std(dim=0)
        self._middle, self._spread = columns.mean(dim=0), torch.where(spread > 1e-6, spread, 1.0)
        self._layers = nn.Sequential(
            nn.Linear(columns.shape[1], HIDDEN),
            nn.SiLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.SiLU(),
            nn.Linear(HIDDEN, n_classes),
        )

    def forward(self, columns: Tensor) -> Tensor:
        """Centred log-scores."""
        found: Tensor = self._layers(((columns - self._middle) / self._spread).float())
        return centred(found)

    def logits(self, own: Tensor, unknown: Tensor) -> Tensor:
        """The same in double precision, of own and unknown columns."""
        return self(torch.cat([own, unknown], dim=1)).double()
