"""A federated run on one machine in NVFlare's simulator: each site a process of its own, no certificates.

The parts of a run that lie on one machine become one run folder, the same as `privee train` writes.
"""

from __future__ import annotations

import dataclasses
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from privee.atomic import read_json
from privee.errors import PriveeError
from privee.federation.kits.policy import close_simulator, write_job
from privee.federation.settings import JobSettings, SiteSettings
from privee.processes import ChildProcess
from privee.vfl.experiment import TrainingOutcome
from privee.vfl.joint_model import COORDINATOR
from privee.vfl.messages import Report
from privee.vfl.run_format import CONFIG, METRICS
from privee.vfl.runs import RunFolder

OnState = Callable[[Mapping[str, Any]], None]
EVERY = 0.3


def simulate(
    out: Path,
    job: JobSettings,
    sites: Mapping[str, SiteSettings] | None = None,
    *,
    on_state: OnState = lambda state: None,
) -> TrainingOutcome:
    """Run a job and write its run folder; after an interruption the same call goes on.

    Args:
        out: the run folder; while it runs, parts are kept beside it in `OUT.parts`.
        job: what to do.
        sites: each site's own table; not needed for a dataset.
        on_state: told how far it is (see `privee.federation.coordinator.controller`).
    """
    refuse_taken(out)
    parts = out.resolve().with_name(out.name + ".parts")
    with tempfile.TemporaryDirectory(prefix="privee-") as name:
        workspace = Path(name)
        _prepare(workspace, job, sites or {}, parts)
        state = _followed(workspace, job, parts / COORDINATOR / f"{job.run}.progress.json", on_state)
    assemble(out, parts / COORDINATOR / job.run, {site: parts / site / job.run for site in job.parties})
    shutil.rmtree(parts)
    return outcome_of(state, out)


def outcome_of(state: Mapping[str, Any], out: Path) -> TrainingOutcome:
    """The outcome as the coordinator wrote it down."""
    found = state["outcome"]
    reports = (Report(**found[part]) for part in ("train", "test"))
    told = {name: found.get(name, {}) for name in ("seals", "embedding_defenses")}
    return TrainingOutcome(str(out), found["epochs"], *reports, **told)


def _prepare(workspace: Path, job: JobSettings, sites: Mapping[str, SiteSettings], parts: Path) -> None:
    """Job and site files; the simulator hands one `local` folder to all sites, and each reads its own file of it."""
    write_job(workspace / "job", job)
    local = workspace / "simulator" / "local"
    local.mkdir(parents=True)
    close_simulator(local)
    for role in (*job.parties, COORDINATOR):
        given = sites.get(role, SiteSettings(folder=parts / role))
        dataclasses.replace(given, folder=parts / role).write(local, role)


def _followed(workspace: Path, job: JobSettings, status_file: Path, on_state: OnState) -> Mapping[str, Any]:
    status_file.unlink(missing_ok=True)
    log = workspace / "simulator.log"
    command = [sys.executable, "-m", "nvflare.cli", "simulator", str(workspace / "job")]
    command += ["-w", str(workspace / "simulator"), "-c", ",".join(job.parties), "-t", str(len(job.parties))]
    child = ChildProcess(command, log, {"OMP_NUM_THREADS": "1"})
    try:
        while child.wait(EVERY) is None:
            if status_file.exists():
                on_state(read_json(status_file))
    finally:
        child.stop(signal.SIGINT)
    state = read_json(status_file) if status_file.exists() else {}
    if "error" in state:
        raise PriveeError(state["error"])
    if "outcome" not in state:
        raise PriveeError(f"the simulator ended before the job did: {_last_words(log)}")
    return state


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if "ERROR" in line]
    return lines[-1][-300:] if lines else "it said nothing"


_SITE_ONLY = shutil.ignore_patterns("run.json", "checkpoint")


def refuse_taken(target: Path) -> None:
    """Refuse before the long work what could not be written after it."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PriveeError(f"{target} exists already; choose another folder")


def assemble(target: Path, coordinator: Path, sites: Mapping[str, Path] | None = None) -> None:
    """Write the coordinator's part and, where they are at hand, the sites' parts, whole or not at all.

    Args:
        target: the run folder to make.
        coordinator: the coordinator's run.
        sites: each site's folder of this run; None where they stay on the sites' machines.
    """
    refuse_taken(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir()
        for name in (CONFIG, METRICS):
            shutil.copyfile(coordinator / name, partial / name)
        shutil.copytree(coordinator / COORDINATOR, partial / COORDINATOR)
        for site, folder in (sites or {}).items():
            shutil.copytree(folder, partial / "parties" / site, ignore=_SITE_ONLY)
        if sites:
            RunFolder.open(partial).check_files()
        if target.exists():
            target.rmdir()
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
