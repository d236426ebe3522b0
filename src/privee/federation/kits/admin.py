"""The admin's line to NVFlare's server: submit a job, ask how far it is, fetch its result."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from privee.atomic import read_json
from privee.errors import PriveeError, UnavailableError
from privee.federation.coordinator.controller import PROGRESS, RESULT
from privee.federation.kits.project import ADMIN, Project

EVERY, SECONDS = 0.5, 5.0
OVER, RUNNING = "FINISHED", "RUNNING"


class Admin:
    """A session with the server; NVFlare's own words to the terminal are swallowed."""

    def __init__(self, session: Any, server: str) -> None:
        self._session, self._server = session, server

    def silent(self, sites: Sequence[str]) -> list[str]:
        """Those of the sites that do not answer the server now."""
        known = {client.name for client in self._quietly(self._session.get_system_info).client_info}
        return [site for site in sites if site not in known or not self._answers(site)]

    def _answers(self, site: str) -> bool:
        """One at a time: for a site that is cut off NVFlare waits longer than a command may take, and says nothing."""
        try:
            found = self._quietly(self._session.get_client_job_status, [site])
        except Exception:  # the server answered a moment ago, so it is the site
            return False
        return any(one.get("status") != "no_reply" for one in found or [])

    def submit(self, job: Path) -> str:
        """Hand a job folder over; returns the job's id."""
        return str(self._quietly(self._session.submit_job, str(job.resolve())))

    def progress(self, job_id: str) -> dict[str, Any]:
        """How far the coordinator is; empty while nobody answers."""
        try:
            return dict(self._quietly(self._session.do_app_command, job_id, PROGRESS, {}) or {})
        except Exception:  # not running yet, or not any more; NVFlare has a class for each
            return {}

    def status(self, job_id: str) -> str:
        """NVFlare's word for it."""
        return str(self.about(job_id).get("status"))

    def runs(self, job_id: str) -> bool:
        """Is there a process for it? A server that died and came back still calls its old jobs running."""
        found = self._quietly(self._session.get_system_info).job_info
        return job_id in {str(job.job_id) for job in found}

    def missing(self, job_id: str) -> list[str]:
        """Sites that a job cannot start without and that do not answer."""
        return self.silent(self.about(job_id).get("mandatory_clients") or [])

    def about(self, job_id: str) -> dict[str, Any]:
        """What NVFlare knows of a job; a job that is not there counts as over."""
        from nvflare.fuel.flare_api.api_spec import JobNotFound

        try:
            return dict(self._quietly(self._session.get_job_meta, job_id))
        except JobNotFound:
            return {"status": f"{OVER}:NOT_THERE"}

    def abort(self, job_id: str) -> None:
        """Stop a job."""
        with contextlib.suppress(Exception):  # it may have ended by itself
            self._quietly(self._session.abort_job, job_id)

    def wait_over(self, job_id: str, seconds: float) -> bool:
        """Wait until a job has ended."""
        end = time.monotonic() + seconds
        while not self.status(job_id).startswith(OVER):
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
        from nvflare.fuel.flare_api.api_spec import NoConnection, SessionClosed

        try:
            with contextlib.redirect_stdout(io.StringIO()):
                return call(*arguments)
        except (NoConnection, SessionClosed):
            raise PriveeError(f"the server {self._server} is gone; the same command goes on when it is back") from None


@contextlib.contextmanager
def admin_of(project: Project, seconds: float, on_wait: Callable[[], None] = lambda: None) -> Iterator[Admin]:
    """A session with the project's server, which may take a while to come up; `on_wait` is told meanwhile."""
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    logging.getLogger().addHandler(logging.NullHandler())  # else warnings of NVFlare's go to the terminal
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(
                (project.server, project.port), timeout=SECONDS
            ).close()  # NVFlare's leaks if refused
            with contextlib.redirect_stdout(io.StringIO()):
                session = new_secure_session(ADMIN, str(project.kit(ADMIN).resolve()), timeout=SECONDS)
            break
        except Exception as error:  # NVFlare raises many kinds
            if time.monotonic() > end:
                why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
                raise UnavailableError(f"the server {project.server}:{project.port} cannot be reached: {why}") from None
            on_wait()
            time.sleep(EVERY)
    admin = Admin(session, f"{project.server}:{project.port}")
    try:
        yield admin
    finally:
        admin.close()
