"""The admin's line to NVFlare's server: submit a job, ask how far it is, fetch its result."""

from __future__ import annotations

import contextlib
import io
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privee.errors import PriveeError
from privee.federation.controller import PROGRESS, RESULT
from privee.federation.project import ADMIN, Project
from privee.vfl.runs import read_json

EVERY = 0.5


class Admin:
    """A session with the server; NVFlare's own words to the terminal are swallowed."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def sites(self) -> dict[str, float]:
        """When each site was last heard of, by the server's clock."""
        found = self._quietly(self._session.get_system_info)
        return {client.name: float(client.last_connect_time or 0) for client in found.client_info}

    def submit(self, job: Path) -> str:
        """Hand a job folder over; returns the job's id."""
        return str(self._quietly(self._session.submit_job, str(job.resolve())))

    def progress(self, job_id: str) -> dict[str, Any]:
        """The coordinator's board; empty while nobody answers."""
        try:
            return dict(self._quietly(self._session.do_app_command, job_id, PROGRESS, {}) or {})
        except Exception:  # not running yet, or not any more; NVFlare has a class for each
            return {}

    def status(self, job_id: str) -> str:
        """NVFlare's word for it."""
        return str(self._quietly(self._session.get_job_meta, job_id).get("status"))

    def abort(self, job_id: str) -> None:
        """Stop a job."""
        with contextlib.suppress(Exception):  # it may have ended by itself
            self._quietly(self._session.abort_job, job_id)

    def wait_over(self, job_id: str, seconds: float) -> bool:
        """Wait until a job has ended."""
        end = time.monotonic() + seconds
        while not self.status(job_id).startswith("FINISHED"):
            if time.monotonic() > end:
                return False
            time.sleep(EVERY)
        return True

    def fetch(self, job_id: str, folder: Path) -> tuple[dict[str, Any], Path]:
        """The coordinator's last words, and its part of the run."""
        location = self._quietly(self._session.download_job_result, job_id, str(folder))
        found = Path(location) / "workspace" / RESULT
        words = read_json(found / "outcome.json") if (found / "outcome.json").exists() else {}
        return words, found / "run"

    def shut_down(self) -> None:
        """Stop the server and all sites."""
        self._quietly(lambda: self._session.shutdown("all", wait=False))

    def close(self) -> None:
        """End the session."""
        with contextlib.suppress(Exception):  # the server may be gone
            self._quietly(self._session.close)

    def _quietly(self, call: Any, *arguments: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            return call(*arguments)


@contextlib.contextmanager
def admin_of(project: Project, seconds: float) -> Iterator[Admin]:
    """A session with the project's server, which may take a while to come up."""
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    logging.getLogger().addHandler(logging.NullHandler())  # else warnings of NVFlare's go to the terminal
    end = time.monotonic() + seconds
    while True:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                session = new_secure_session(ADMIN, str(project.kit(ADMIN).resolve()), timeout=5.0)
            break
        except Exception as error:  # NVFlare raises many kinds
            if time.monotonic() > end:
                words = f"the server {project.server}:{project.port} cannot be reached: {type(error).__name__}"
                raise PriveeError(words) from None
            time.sleep(EVERY)
    admin = Admin(session)
    try:
        yield admin
    finally:
        admin.close()
