"""The models of a leaderboard, trained side by side as they are needed; one that fails does not stop the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from privee.audit.engine import Engine, spread
from privee.bench.cases import Case, train_case
from privee.errors import PriveeError, TakenError
from privee.vfl.run_format import is_finished_run


@dataclasses.dataclass(kw_only=True)
class Models:
    """Where models are kept.

    Attributes:
        folder: a run for each.
        jobs, engine, data_dir: as of a `Bench`.
        plain: those without protection, in the order in which they are needed.
        failed: what could not be trained now, and why. It is not kept: a file that is away may come back.
    """

    folder: Path
    jobs: int | None
    engine: Engine
    data_dir: Path | None
    plain: Sequence[Case]
    failed: dict[Case, str] = dataclasses.field(default_factory=dict)

    def train(self, cases: Iterable[Case], tell: Callable[[str], None]) -> None:
        """Those that are missing, and beside a single one some that will be needed next; each is tried once."""
        missing = self._missing(cases)
        if not missing:
            return
        words = f"training models, {missing[0].name} first"
        tell(words)
        # No two may train the same, so what others protect comes first.
        self._train(self._missing(case.plain for case in missing if case.protection), words, tell)
        self.failed |= {case: self.failed[case.plain] for case in missing if case.plain in self.failed}
        left = self._missing(missing)
        self._train(left if len(left) != 1 else [*left, *self._next_after(left[0])], words, tell)

    def _train(self, cases: Sequence[Case], words: str, tell: Callable[[str], None]) -> None:
        train = partial(_why_not_trained, models=self.folder, data_dir=self.data_dir)
        for case, reason in spread(train, cases, jobs=self.jobs, engine=self.engine) if cases else ():
            self.failed |= {case: reason} if reason else {}
            tell(words)

    def _next_after(self, case: Case) -> list[Case]:
        """As many as there are jobs beside it, of models without protection."""
        later = self.plain[self.plain.index(case) + 1 :] if case in self.plain else []
        return self._missing(later)[: (self.jobs or 2) - 1]

    def _missing(self, cases: Iterable[Case]) -> list[Case]:
        open_ones = (case for case in dict.fromkeys(cases) if case not in self.failed)
        return [case for case in open_ones if not is_finished_run(self.folder / case.key)]


def _why_not_trained(case: Case, models: Path, data_dir: Path | None) -> str:
    """Train a model; empty if that is done. What cannot be trained has its reason, and the others go on.

    That another process is training it, or was until a moment ago, says nothing of the model.
    """
    try:
        train_case(case, models, data_dir)
    except TakenError:
        raise
    except PriveeError as error:
        return "" if is_finished_run(models / case.key) else str(error)
    return ""
