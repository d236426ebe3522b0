"""NVFlare's side of the coordinator: a controller that waits for the sites and runs the job.

How far it is stands in memory for the admin's questions, and in a small file.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

from nvflare.apis.client import Client
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace

from privee.atomic import write_json
from privee.errors import PriveeError
from privee.federation.coordinator.exchange import Exchange
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteLostError
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.wire.guard import refuse_transit
from privee.federation.wire.nvflare_cells import CellPost, be_prompt, session_of
from privee.vfl.joint_model import COORDINATOR

PROGRESS = "privee.progress"
RESULT = "privee"


class CoordinatorController(Controller):  # type: ignore[misc]  # NVFlare has no types
    """Runs one job. `job` is the settings as JSON text: NVFlare would take parts of a dictionary for components."""

    def __init__(self, job: str) -> None:
        super().__init__()
        self._job = JobSettings.from_dict(json.loads(job))
        self._job_status: JobStatus | None = None

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Get ready to be asked for progress."""
        be_prompt()
        folder = _folder(fl_ctx)
        self._job_status = JobStatus(folder / f"{self._job.run}.progress.json")
        engine = fl_ctx.get_engine()
        refuse_transit(engine.get_cell().core_cell)
        engine.register_app_command(PROGRESS, self._progress)

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """The whole job; a failure becomes the job's own."""
        status = self._job_status or JobStatus(_folder(fl_ctx) / f"{self._job.run}.progress.json")
        try:
            outcome = self._run(status, abort_signal, fl_ctx)
            status.outcome(outcome)
            _hand_over(_folder(fl_ctx) / self._job.run, status, fl_ctx)
        except (PriveeError, OSError) as error:
            self._give_up(error, status, fl_ctx)
        except Exception as error:  # a bug, or a site that sends what no site would
            self.log_exception(fl_ctx, "the coordinator failed")
            self._give_up(PriveeError(f"the coordinator failed with {type(error).__name__}"), status, fl_ctx)

    def _give_up(self, error: Exception, status: JobStatus, fl_ctx: FLContext) -> None:
        status.failure(error)
        _hand_over(None, status, fl_ctx)
        self.system_panic(str(error), fl_ctx)

    def _run(self, status: JobStatus, abort_signal: Signal, fl_ctx: FLContext) -> dict[str, Any]:
        engine, job = fl_ctx.get_engine(), self._job
        clients = {client.name: client.get_fqcn() for client in engine.get_clients()}
        missing = [site for site in job.parties if site not in clients]
        if missing:
            raise PriveeError(f"site {missing[0]} does not take part in this job")
        places = {site: clients[site] for site in job.parties}
        post = CellPost(engine.get_cell().core_cell, places, fl_ctx.get_job_id(), abort_signal)
        try:
            post.wait_ready(job.start_seconds)
            exchange = Exchange(
                post, session_of(fl_ctx.get_job_id()), step_seconds=job.answer_seconds, packing=job.packing
            )

            def on_step(*place: int) -> None:
                status.step(*place)
                exchange.cost.step()

            found = coordinate(job, exchange, _folder(fl_ctx), on_phase=status.phase, on_step=on_step)
            write_json(_folder(fl_ctx) / job.run / "line.json", exchange.cost.as_dict())
            return found.as_dict()
        finally:
            post.close()

    def _progress(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:
        return self._job_status.read() if self._job_status else {}

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing is left open."""

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """There are no tasks."""


def _folder(fl_ctx: FLContext) -> Path:
    """Where the coordinator keeps runs: in the server's kit, so that the next job finds them."""
    workspace: Workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
    kit, local = Path(workspace.get_root_dir()), Path(workspace.get_site_config_dir())
    return SiteSettings.read(local, COORDINATOR, kit / RESULT).folder


def _hand_over(run: Path | None, status: JobStatus, fl_ctx: FLContext) -> None:
    """Put the coordinator's part into the job's own folder, which the admin can download."""
    workspace: Workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
    target = Path(workspace.get_run_dir(fl_ctx.get_job_id())) / RESULT
    if run is not None:
        shutil.copytree(run, target / "run", dirs_exist_ok=True)
    write_json(target / "outcome.json", status.read())


EVERY = 0.5


class JobStatus:
    """Phase, epoch and step; at the end the outcome, or why there is none."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        self._state: dict[str, Any] = {"phase": "starting", "done": 0, "size": 0}
        self._written = 0.0

    def phase(self, name: str) -> None:
        """Something else is done now."""
        self._put(phase=name)

    def step(self, epoch: int, epochs: int, step: int, steps: int) -> None:
        """A training step is done; the file follows at most twice a second."""
        self._state |= {"done": (epoch - 1) * steps + step, "size": epochs * steps, "epoch": epoch}
        if time.monotonic() - self._written > EVERY:
            self._put()

    def outcome(self, outcome: dict[str, Any]) -> None:
        """Note that the job is finished, and how."""
        self._put(phase="finished", outcome=outcome)

    def failure(self, error: Exception) -> None:
        """It failed; `lost` names a site that may come back."""
        self._put(phase="failed", error=str(error), lost=error.site if isinstance(error, SiteLostError) else None)

    def read(self) -> dict[str, Any]:
        """Everything that is known of the job so far."""
        return dict(self._state)

    def _put(self, **more: Any) -> None:
        with self._lock:
            self._state |= more
            write_json(self._file, self._state)
            self._written = time.monotonic()
