"""The job folder that NVFlare takes: our controller at the server, our executor at every site, and no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privee.federation.settings import JobSettings
from privee.vfl.runs import write_json

CONTROLLER = "privee.federation.controller.CoordinatorController"
EXECUTOR = "privee.federation.executor.PartyExecutor"


def write_job(folder: Path, job: JobSettings) -> Path:
    """Write a job for these settings, replacing the one that is there."""
    workflow = {"id": "coordinator", "path": CONTROLLER, "args": {"job": json.dumps(job.as_dict())}}
    server: dict[str, Any] = {"format_version": 2, "workflows": [workflow], "components": []}
    party = {"tasks": ["none"], "executor": {"path": EXECUTOR, "args": {}}}
    client: dict[str, Any] = {"format_version": 2, "executors": [party], "components": []}
    meta = {
        "name": job.run,
        "resource_spec": {},
        "min_clients": len(job.parties),
        "mandatory_clients": list(job.parties),
        "deploy_map": {"app_server": ["server"], "app_site": list(job.parties)},
    }
    write_json(folder / "app_server" / "config" / "config_fed_server.json", server)
    write_json(folder / "app_site" / "config" / "config_fed_client.json", client)
    write_json(folder / "meta.json", meta)
    return folder
