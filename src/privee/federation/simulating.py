"""A federated run on one machine in NVFlare's simulator: each site a process of its own, no certificates."""

from __future__ import annotations

import dataclasses
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from privee.errors import PriveeError
from privee.federation.allowing import close_simulator
from privee.federation.assembling import assemble, refuse_taken
from privee.federation.child import Child
from privee.federation.job import write_job
from privee.federation.settings import JobSettings, SiteSettings
from privee.vfl.experiment import Outcome
from privee.vfl.federation import COORDINATOR
from privee.vfl.messages import Report
from privee.vfl.runs import read_json

OnState = Callable[[Mapping[str, Any]], None]
EVERY = 0.3


def simulate(
    out: Path,
    job: JobSettings,
    sites: Mapping[str, SiteSettings] | None = None,
    *,
    on_state: OnState = lambda state: None,
) -> Outcome:
    """Run a job and write its run folder; after an interruption the same call goes on.

    Args:
        out: the run folder; while it runs, parts are kept beside it in `OUT.parts`.
        job: what to do.
        sites: each site's own table; not needed for a dataset.
        on_state: told how far it is (see `privee.federation.board`).
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


def outcome_of(state: Mapping[str, Any], out: Path) -> Outcome:
    """The outcome as the coordinator put it on its board."""
    found = state["outcome"]
    return Outcome(str(out), found["epochs"], Report(**found["train"]), Report(**found["test"]))


def _prepare(workspace: Path, job: JobSettings, sites: Mapping[str, SiteSettings], parts: Path) -> None:
    """Job and site files; the simulator hands one `local` folder to all sites, and each reads its own file of it."""
    write_job(workspace / "job", job)
    local = workspace / "simulator" / "local"
    local.mkdir(parents=True)
    close_simulator(local)
    for role in (*job.parties, COORDINATOR):
        given = sites.get(role, SiteSettings(folder=parts / role))
        dataclasses.replace(given, folder=parts / role).write(local, role)


def _followed(workspace: Path, job: JobSettings, board: Path, on_state: OnState) -> Mapping[str, Any]:
    board.unlink(missing_ok=True)
    log = workspace / "simulator.log"
    command = [sys.executable, "-m", "nvflare.cli", "simulator", str(workspace / "job")]
    command += ["-w", str(workspace / "simulator"), "-c", ",".join(job.parties), "-t", str(len(job.parties))]
    child = Child(command, log, {"OMP_NUM_THREADS": "1"})
    try:
        while child.wait(EVERY) is None:
            if board.exists():
                on_state(read_json(board))
    finally:
        child.stop(signal.SIGINT)
    state = read_json(board) if board.exists() else {}
    if "error" in state:
        raise PriveeError(state["error"])
    if "outcome" not in state:
        raise PriveeError(f"the simulator ended before the job did: {_last_words(log)}")
    return state


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if "ERROR" in line]
    return lines[-1][-300:] if lines else "it said nothing"
