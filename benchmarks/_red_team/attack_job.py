"""A job that starts a process wherever a job's configuration can name a class."""

import dataclasses
from pathlib import Path

from privee.atomic import read_json, write_json
from privee.federation.kits.policy import EXECUTOR, write_job


def shell(marker: Path) -> dict:
    """A component that starts a process; its log is a path that two other callables of the package make."""
    here = {"path": "privee.processes.Path", "args": {}}
    log = {"path": "privee.federation.settings.site_file", "args": {"local": here, "site": marker.name}}
    command = ["/bin/sh", "-c", f"touch {marker}"]
    return {"id": "x", "path": "privee.processes.ChildProcess", "args": {"command": command, "log": log}}


def attack_job(folder: Path, job, at: str) -> Path:
    """An ordinary job with a process to start: at the server, or at the sites in three places of their configs."""
    write_job(folder, dataclasses.replace(job, run=f"attack-{at}"))
    server, site = (folder / f"app_{name}" / "config" for name in ("server", "site"))
    if at == "server":
        path, marker = server / "config_fed_server.json", folder.parent / "at-server"
        write_json(path, read_json(path) | {"components": [shell(marker)]})
        return folder
    config, meta = read_json(site / "config_fed_client.json"), read_json(folder / "meta.json")
    nested = {"tasks": ["x"], "executor": {"path": EXECUTOR, "args": {"job": shell(folder.parent / "at-passive-1")}}}
    filtered = [{"tasks": ["none"], "filters": [shell(folder.parent / "at-passive-2")]}]
    configs = {
        "active": config | {"components": [shell(folder.parent / "at-active")]},
        "passive-1": config | {"executors": [nested]},
        "passive-2": config | {"task_data_filters": filtered},
    }
    for name, changed in configs.items():
        write_json(folder / f"app_{name}" / "config" / "config_fed_client.json", changed)
    places = {"app_server": ["server"]} | {f"app_{name}": [name] for name in configs}
    write_json(folder / "meta.json", meta | {"deploy_map": places})
    return folder
