"""A kit's settings: the classes a job needs and no other, no code from elsewhere, and a guard at the sites.

NVFlare takes an entry of the class allow list for everything below it: a package would allow all callables in it, those
that start processes too. A class has nothing below it, so each entry here is one class.

The job folder that NVFlare takes: our controller at the server, our executor at every site, and no code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.federation.settings import JobSettings

CONTROLLER = "privee.federation.coordinator.controller.CoordinatorController"
EXECUTOR = "privee.federation.site.executor.PartyExecutor"


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


FILTER = "privee.federation.result_filter.ReleaseFilter"
AT_SERVER, AT_SITE = (CONTROLLER,), (EXECUTOR, FILTER)
GUARD = {"id": "privee_guard", "path": "privee.federation.wire.guard.SiteGuard", "args": {}}
LOG_STREAMS = ("site_log_streamer", "log_receiver")
RIGHTS = {
    **dict.fromkeys(("submit_job", "manage_job", "download_job", "view", "operate"), "any"),
    **dict.fromkeys(("clone_job", "shell_commands", "byoc", "server-predeployed-flwr"), "none"),
}
"""What the project's admin may do. By default a job could bring its own code, and a site's files could be read."""


def close_kit(kit: Path) -> None:
    """Write the settings of a server's or a site's kit over NVFlare's defaults."""
    local, server = kit / "local", (kit / "startup" / "fed_server.json").is_file()
    resources = read_json(local / "resources.json.default")
    kept = [part for part in resources["components"] if part["id"] not in LOG_STREAMS]
    resources["components"] = kept if server else [*kept, GUARD]
    write_json(local / "resources.json", resources | _policy(AT_SERVER if server else AT_SITE))
    write_json(local / "authorization.json", {"format_version": "1.0", "permissions": {"project_admin": RIGHTS}})


def refuse_open(kit: Path) -> None:
    """Refuse a kit of an earlier version, which allowed whole packages and had no guard."""
    server, resources = (kit / "startup" / "fed_server.json").is_file(), read_json(kit / "local" / "resources.json")
    guarded = server or GUARD["path"] in [part.get("path") for part in resources["components"]]
    if not guarded or "privee.federation." in resources["class_allow_list"]:
        raise PriveeError(f"{kit} is a kit of an earlier version, which lets others in; make the project anew")


def close_simulator(local: Path) -> None:
    """The same for the simulator, which has one folder for all roles and no admin."""
    write_json(local / "resources.json", {"format_version": 2} | _policy((*AT_SERVER, *AT_SITE)))


def _policy(classes: Sequence[str]) -> dict[str, Any]:
    return {
        "class_allow_list": list(classes),
        "class_list_enforcement_mode": "enforce",
        "allow_log_streaming": False,  # else a site's error log is sent to the server
    }
