"""The steps: tables matched, a joint model trained, sealed if wished, attacked, a release recommended, a service."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.audit import Grid, Subject, run_grid, save_audit, subject_from_run
from privee.audit.recommend import Effort, Wishes, recommend
from privee.data.columns import check_private
from privee.defenses import defense as make_defense
from privee.errors import SettingError
from privee.progress import Progress
from privee.quickstart.done_steps import DoneSteps
from privee.quickstart.outcome import Outcome, State
from privee.quickstart.plan import Plan
from privee.quickstart.plan_values import in_plan_words
from privee.quickstart.service_folder import PartyCodes, write_service
from privee.version import __version__
from privee.vfl.defaults import filled_settings
from privee.vfl.experiment import train_run
from privee.vfl.joint_data import JointData
from privee.vfl.matched_tables import Tell
from privee.vfl.own_tables import from_tables
from privee.vfl.run_format import is_finished_run, is_run, read_config
from privee.vfl.seal import Seal
from privee.vfl.seal.sealing import seal_run
from privee.vfl.tables_report import TablesReport

SEALED = ("sealed-code",)
"""With a seal, as well: the attack that has the code itself."""
ATTACKS = ("equation-solving", "learned-inversion", "network-inversion", "logistic-regression", "boosted-trees")
"""Those that take seconds, for a first look; `privee audit` has all of them."""
COLUMN_LIMIT = 3000
"""Records that attacks by column learn from and are tried on: as many as minutes allow, where an audit takes 10,000."""
FEWEST = 30
"""Records to learn from and to test with: of fewer, nothing that is said of the model or its columns means anything."""
Watch = Callable[[str], AbstractContextManager[Progress]]


class Quickstart:
    """One plan, and how far it is.

    Args:
        plan: what to do.
        show: takes how the tables were read and matched, before training.
        watch: gives a progress for a piece of work by its name.
        tell: takes a line for people.
    """

    def __init__(self, plan: Plan, *, show: Callable[[TablesReport], None], watch: Watch, tell: Tell) -> None:
        self._plan, self._show, self._watch, self._tell = plan, show, watch, tell
        self._run, self._audit, self._service = (plan.out / name for name in (plan.name, "audit", "service"))
        self._sealed = plan.out / f"{plan.name}-sealed"
        self._served = self._run if plan.seal is None else self._sealed
        self._advice = plan.out / "recommendation.json"
        plan.out.mkdir(parents=True, exist_ok=True)
        self._steps = DoneSteps(plan.out)
        self._state: dict[str, State] = {}
        self._seconds: dict[str, float] = {}

    def look(self) -> TablesReport:
        """Read and match the tables, and train nothing; the alignment is kept."""
        return _report(self._tables())

    def work(self) -> Outcome:
        """Do what is not done yet."""
        tables = {name: self._steps.digest_of_file(path) for name, path in self._plan.files.items()}
        plan = self._plan
        columns = {name: dataclasses.replace(party, file=Path()) for name, party in plan.parties.items()}  # or moved
        how = [plan.model, plan.training.as_dict(), plan.left_open]
        about = [__version__, tables, columns, plan.labels, plan.test_share, *how]
        trained = self._steps.digest(about)
        self._step("train", trained, self._train, is_finished_run(self._run))
        if plan.seal is not None:
            trained = self._steps.digest([trained, plan.seal.as_dict(), plan.sensitive])
            self._step("seal", trained, self._seal, is_finished_run(self._sealed))
        report = self._audit / "report.html"
        self._step("audit", self._steps.digest([trained, plan.sensitive]), self._attack, report.is_file())
        wishes = self._steps.digest([trained, plan.keep, plan.most_releases])
        if plan.defense is None:
            self._step("recommend", wishes, self._recommend, self._advice.is_file())
        advice: dict[str, Any] = {"met": True, "defense": plan.defense}
        advice = read_json(self._advice) if plan.defense is None else advice
        for line in advice.get("notes", ()):  # such as what the release costs the task
            self._tell(in_plan_words(line))
        sealed = () if plan.seal is None else (plan.lifetime_codes,)
        served = self._steps.digest([trained, advice["defense"], plan.most_releases, plan.port, plan.name, *sealed])
        self._step("service", served, lambda: self._serve(advice["defense"]), (self._service / "start.sh").is_file())
        return Outcome(
            run=self._served,
            report=report,
            recommendation=self._advice if plan.defense is None else None,
            defense=advice["defense"],
            met=advice["met"],
            service=self._service,
            steps=self._state,
            seconds=self._seconds,
        )

    def _step(self, name: str, digest: str, work: Callable[[], None], there: bool) -> None:
        if there and self._steps.is_done(name, digest):
            self._state[name] = "unchanged"
            self._tell(f"{name}: done before, with the same inputs")
            return
        started = time.monotonic()
        self._tell(f"{name} ...")
        if name in (runs := {"train": self._run, "seal": self._sealed}):
            self._set_aside(runs[name], "begin" if name == "train" else f"begin {name}", digest)
        work()
        self._steps.note(name, digest)
        self._state[name] = "done"
        self._seconds[name] = round(time.monotonic() - started, 1)

    def _tables(self) -> JointData:
        plan = self._plan
        with self._watch("aligning") as progress:
            data = from_tables(
                plan.files,
                active=plan.active,
                id_columns={name: party.id for name, party in plan.parties.items()},
                label=str(plan.parties[plan.active].label),
                test_share=plan.test_share,
                seed=plan.training.seed,
                choices=plan.choices,
                folders={name: plan.out / "alignment" / name for name in plan.parties},
                progress=progress,
                tell=self._tell,
            )
        _check(data, plan)
        return data

    def _set_aside(self, run: Path, begun: str, digest: str) -> None:
        """A run with other inputs, or a finished one that is no longer the right one, stays under another name."""
        if is_run(run) and (is_finished_run(run) or not self._steps.is_done(begun, digest)):
            names = (run.with_name(f"{run.name}.{k}") for k in range(1, 10_000))
            old = next(name for name in names if not name.exists())
            run.rename(old)
            self._tell(f"the run that was there before is now {old}")
        self._steps.note(begun, digest)

    def _train(self) -> None:
        data = self._tables()
        report = _report(data)
        self._show(report)
        write_json(self._plan.out / "tables.json", report.as_dict())
        plan, rows, classes = self._plan, len(data.train), len(data.class_names)
        settings = filled_settings(plan.training, plan.left_open, model=plan.model, rows=rows, n_classes=classes)
        with self._watch("training") as bar:
            train_run(
                self._run,
                data,
                plan.model,
                settings,
                on_step=lambda epoch, of, step, steps: bar((epoch - 1) * steps + step, of * steps),
            )

    def _seal(self) -> None:
        """What `privee seal` does with the run."""
        assert self._plan.seal is not None  # noqa: S101 (there is no such step without)
        with self._watch("aligning") as aligning, self._watch("sealing") as bar:
            seal_run(
                self._run,
                self._sealed,
                self._plan.seal,
                sensitive=self._plan.sensitive,
                files=self._plan.files,
                on_step=lambda epoch, of, step, steps: bar((epoch - 1) * steps + step, of * steps),
                aligning=aligning,
                tell=self._tell,
            )

    @cached_property
    def _subject(self) -> Subject:
        with self._watch("aligning") as progress:
            found = subject_from_run(self._served, self._plan.files, progress=progress, tell=self._tell)
        return found.marked(self._plan.sensitive)

    def _attack(self) -> None:
        attacks = ATTACKS if self._plan.seal is None else (*ATTACKS, *SEALED)
        grid = Grid(attacks=attacks, attackers=("adaptive",), seeds=(0,), column_limit=COLUMN_LIMIT)
        with self._watch("attacking") as progress:
            found = run_grid([self._subject], grid, folder=self._audit, progress=progress)
        save_audit(found, self._audit)

    def _recommend(self) -> None:
        wishes = Wishes(keep=self._plan.keep, queries=self._plan.most_releases or 1)
        with self._watch("choosing a release") as progress:
            found = recommend(wishes, subject=self._subject, effort=Effort(attacks=ATTACKS), progress=progress)
        write_json(self._advice, found.as_dict() | {"defense": found.chosen.defense})

    def _serve(self, defense: str) -> None:
        write_service(
            self._service,
            run=self._served,
            audit=self._audit,
            files=self._plan.files,
            name=self._plan.name,
            defense=make_defense(defense),
            n_classes=len(read_config(self._served)["classes"]),
            releases=self._plan.most_releases,
            port=self._plan.port,
            codes={party: PartyCodes(seal, self._plan.lifetime_codes) for party, seal in self._seals.items()},
        )

    @property
    def _seals(self) -> dict[str, Seal]:
        seal, passive = self._plan.seal, list(self._plan.parties)[1:]
        return {} if seal is None else dict.fromkeys(passive, seal)


def _check(data: JointData, plan: Plan) -> None:
    """What is plain once the tables are read, and would else be refused after the training."""
    labelled = len(data.train) + len(data.test)
    if labelled < FEWEST:
        raise SettingError(
            f"only {labelled:,} records with a label are held by all parties, and {FEWEST} is the least to learn from; "
            "are the ids written alike in all files?"
        )
    if plan.seal is not None and len(data.train) < plan.seal.codes:
        raise SettingError(f"a seal of {plan.seal.codes} codes needs more than {len(data.train)} records to learn from")
    check_private(plan.sensitive, [column for column in data.described if column.party != plan.active])


def _report(data: JointData) -> TablesReport:
    assert data.report is not None  # noqa: S101 (of tables there is one)
    return data.report
