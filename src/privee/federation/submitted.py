"""Which job of a run was submitted last, so that a command that was stopped hard finds it again: the job went on."""

from __future__ import annotations

from pathlib import Path

from privee.federation.admin import OVER, RUNNING, Admin
from privee.federation.settings import JobSettings
from privee.vfl.runs import read_json, write_json


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
