"""Run a project's job: submit it, follow it, go on after a site was lost, and write the run folder.

Which job was submitted last is noted: a command that was stopped hard finds it again, for the job went on.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.federation.kits.admin import EVERY, OVER, RUNNING, Admin, admin_of
from privee.federation.kits.policy import write_job
from privee.federation.kits.project import Project
from privee.federation.kits.simulator import assemble, outcome_of, refuse_taken
from privee.federation.settings import JobSettings
from privee.vfl.experiment import TrainingOutcome
from privee.vfl.joint_model import COORDINATOR

OnState = Callable[[Mapping[str, Any]], None]
OVER_SECONDS = 90.0
SILENT_SECONDS = 300.0
"""A job's process at the server that says nothing for so long is lost, though NVFlare may call it running for ever."""
SILENT = "the job's process at the server does not answer any more; see log.txt in the server's kit"


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobTimeouts:
    """How long to wait.

    Attributes:
        sites: seconds for all sites to be connected, at first and again after one was lost.
        attempts: how often a job is submitted when a site is lost on the way.
    """

    sites: float = 300.0
    attempts: int = 5


def run_project(
    project: Project,
    out: Path,
    *,
    timeouts: JobTimeouts | None = None,
    parts: Mapping[str, Path] | None = None,
    on_state: OnState = lambda state: None,
) -> TrainingOutcome:
    """Run the project's job and write its run folder.

    The name of `out` is the run's name at every site: after a failure the same call goes on from the last checkpoint,
    and with a job that still runs.

    Args:
        project: its admin kit is used.
        out: the run folder: the coordinator's part, and the sites' parts if they are at hand.
        timeouts: how long to wait for sites.
        parts: where each site keeps its runs, if that is this machine.
        on_state: told how far it is.
    """
    refuse_taken(out)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", out.name):
        raise PriveeError(f"the run's name {out.name!r} may have letters, digits, '-' and '_' only")
    job = dataclasses.replace(project.job, run=out.name)
    write_job(project.folder / "job", job)
    timeouts = timeouts or JobTimeouts()

    def waiting() -> None:
        on_state({"phase": "waiting for the server"})

    with admin_of(project, timeouts.sites, waiting) as admin, tempfile.TemporaryDirectory(prefix="privee-") as name:
        state, found = _attempts(admin, project, job, timeouts, Path(name), on_state)
        sites = None if parts is None else {site: parts[site] / job.run for site in job.parties}
        assemble(out, found, sites)
    return outcome_of(state, out)


def _attempts(
    admin: Admin, project: Project, job: JobSettings, timeouts: JobTimeouts, folder: Path, on_state: OnState
) -> tuple[Mapping[str, Any], Path]:
    submitted = Submitted(project.folder, job)
    job_id = submitted.open_job(admin)
    for attempt in range(timeouts.attempts):
        if job_id is None:
            wait_for_sites(admin, job.parties, timeouts.sites, on_state)
            job_id = submitted.note(admin.submit(project.folder / "job"))
        state, found = follow_job(admin, job_id, folder / str(attempt), on_state)
        if "outcome" in state:
            return state, found
        if state.get("lost") is None:
            break
        job_id = None
    raise PriveeError(state.get("error") or "the job ended without a result; see log.txt in the server's kit")


def wait_for_sites(admin: Admin, sites: Sequence[str], seconds: float, on_state: OnState = lambda state: None) -> None:
    """Wait until every site answers the server.

    Args:
        admin: a session with the server.
        sites: their names.
        seconds: how long.
        on_state: told whom it waits for.
    """
    end = time.monotonic() + seconds
    while True:
        waiting = admin.silent(sites)
        if not waiting:
            return
        if time.monotonic() > end:
            raise PriveeError(f"site {waiting[0]} was not there in {seconds:g} s; the same command goes on later")
        on_state({"phase": f"waiting for {waiting[0]}"})
        time.sleep(EVERY)


def run_job(
    admin: Admin, job: Path, folder: Path, on_state: OnState = lambda state: None
) -> tuple[Mapping[str, Any], Path]:
    """Submit a job folder and stay with the job until its end (see `follow_job`)."""
    return follow_job(admin, admin.submit(job), folder, on_state)


def follow_job(
    admin: Admin, job_id: str, folder: Path, on_state: OnState = lambda state: None
) -> tuple[Mapping[str, Any], Path]:
    """Stay with a submitted job until its end.

    Args:
        admin: a session with the server.
        job_id: which.
        folder: where to put what the server has of it.
        on_state: told how far it is.

    Returns:
        The coordinator's last words, with an `outcome` if it finished, and where its part of the run is then.
    """
    state: Mapping[str, Any] = {"phase": "submitted"}
    heard = time.monotonic()
    try:
        while not (status := admin.status(job_id)).startswith(OVER):
            before, state = state, _looked(admin, job_id, status, state)
            heard = heard if state is before and status == RUNNING else time.monotonic()
            silent = time.monotonic() - heard > SILENT_SECONDS
            if silent and "outcome" not in state:
                state = {"phase": "failed", "error": SILENT, "lost": COORDINATOR}
            on_state(state)
            if silent or "error" in state:  # the coordinator gave up, or is gone; do not wait for a site that hangs
                admin.abort(job_id)
                break
            time.sleep(EVERY)
    except KeyboardInterrupt:
        admin.abort(job_id)
        raise
    if admin.wait_over(job_id, OVER_SECONDS):
        words, found = admin.fetch(job_id, folder)
        return words or state, found
    return state, folder


def _looked(admin: Admin, job_id: str, status: str, state: Mapping[str, Any]) -> Mapping[str, Any]:
    """How far a job is."""
    if status == RUNNING:
        # with an outcome it is merely winding up, and answers no more
        return state if "outcome" in state else admin.progress(job_id) or state
    missing = admin.missing(job_id)  # NVFlare would look for them at ever longer intervals, and say nothing
    if missing:
        return {"phase": "failed", "error": f"site {missing[0]} left before the job started", "lost": missing[0]}
    return state


class Submitted:
    """A small file in the project: the last job of one run."""

    def __init__(self, project: Path, job: JobSettings) -> None:
        self._file, self._fingerprint = project / "submitted" / f"{job.run}.json", job.fingerprint

    def note(self, job_id: str) -> str:
        """Write a job down."""
        write_json(self._file, {"job": job_id, "fingerprint": self._fingerprint})
        return job_id

    def open_job(self, admin: Admin) -> str | None:
        """The job, if it had the same settings and runs still, or has finished and can be fetched."""
        if not self._file.exists():
            return None
        noted = read_json(self._file)
        if noted["fingerprint"] != self._fingerprint:
            return None
        job_id = str(noted["job"])
        status = admin.status(job_id)
        failed = status.startswith(OVER) and status != f"{OVER}:COMPLETED"
        if failed or (status == RUNNING and not admin.runs(job_id)):
            return None
        return job_id
