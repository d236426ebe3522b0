"""Start what a kit is for, the server or a site, by NVFlare's own start-up script; or a whole project on this machine.

NVFlare's processes do not end by Ctrl-C: they print a trace and stay. And a site's process that ends leaves those of
its jobs behind. So the kit's process is a child of ours, and it is ended with all it has started.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from privee.atomic import read_json, write_json
from privee.data.tables import read_party_table
from privee.errors import PriveeError
from privee.federation.kits.admin import admin_of
from privee.federation.kits.policy import refuse_open
from privee.federation.kits.project import Project
from privee.federation.settings import SiteSettings
from privee.processes import ChildProcess


def prepare_kit(kit: Path) -> str:
    """Check a kit and, at the server, keep NVFlare's job store inside it; returns `server` or `site`."""
    if (kit / "startup" / "fed_server.json").is_file():
        refuse_open(kit)
        _own_stores(kit)
        return "server"
    if (kit / "startup" / "fed_client.json").is_file():
        refuse_open(kit)
        return "site"
    raise PriveeError(f"{kit} is not the kit of a server or a site")


def name_table(
    kit: Path,
    table: Path,
    id_column: str,
    label: str | None,
    folder: Path | None,
    seal: str | None = None,
    **most: float | None,
) -> Path:
    """Write a site's own settings into its kit, after a look at the table; what it insists on stays unless given."""
    if prepare_kit(kit) != "site":
        raise PriveeError(f"{kit} is the server's kit; the coordinator has no table")
    read_party_table(table, id_column=id_column, label_column=label)
    where = (folder or kit / "privee").resolve()
    given = {"seal": seal} | {name: None if value is None else repr(value) for name, value in most.items()}
    before = own_settings(kit)
    insists: dict[str, Any] = {key: getattr(before, key) if one is None else one for key, one in given.items()}
    own = SiteSettings(folder=where, data=table.resolve(), id_column=id_column, label=label, **insists)
    return own.write(kit / "local", site_name(kit))


def site_name(kit: Path) -> str:
    """Who a site's kit is for, whatever the folder is called."""
    return str(read_json(kit / "startup" / "fed_client.json")["client"]["fqsn"])


def own_settings(kit: Path) -> SiteSettings:
    """What a site's kit says for itself."""
    return SiteSettings.read(kit / "local", site_name(kit), kit / "privee")


def start_command(kit: Path) -> tuple[list[str], dict[str, str]]:
    """Command and environment; the script takes `python3` from the path, so ours must come first."""
    script = kit.resolve() / "startup" / "sub_start.sh"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return ["/bin/bash", str(script), "--once"], {"PATH": path}


def start_kit(kit: Path, log: Path) -> ChildProcess:
    """A server or a site in a process of its own."""
    prepare_kit(kit)
    command, env = start_command(kit)
    return ChildProcess(command, log, env | {"OMP_NUM_THREADS": "1"})


def _own_stores(kit: Path) -> None:
    """By default all servers of a machine share one folder for temporary files; jobs belong into the kit."""
    path = kit / "local" / "resources.json"
    resources = read_json(path)
    base = kit.resolve() / "store"
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(base / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(base / "jobs")
    write_json(path, resources)


STOP_SECONDS = 5.0


def serve_kit(kit: Path) -> int:
    """Run the server or a site until it ends, or until Ctrl-C, SIGTERM or a closed terminal; returns the exit code."""
    if prepare_kit(kit) == "site":
        own_settings(kit)  # a mistake in them is better said here than in a job
    command, env = start_command(kit)
    lock = _locked(kit)
    for which in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, _interrupt)
    process = ChildProcess(command, None, env, pass_fds=[lock.fileno()])
    try:
        return process.wait() or 0
    except KeyboardInterrupt:
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(which, signal.SIG_IGN)  # the second Ctrl-C comes too late to matter
        process.end_tree(STOP_SECONDS)
        return 0


def _locked(kit: Path) -> IO[bytes]:
    """Two processes of one kit would take turns at being the site. The child holds the lock too: we may be killed."""
    file = (kit / "running.lock").open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise PriveeError(f"{kit} runs already on this machine; stop that first") from None
    return file


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


SERVER_SECONDS = 120.0


@contextlib.contextmanager
def local_kits(project: Project) -> Iterator[dict[str, ChildProcess]]:
    """Start the server's and all sites' kits, and stop them at the end."""
    names = (project.server, *project.job.parties)
    children: dict[str, ChildProcess] = {}
    try:
        for name in names:
            children[name] = start_kit(project.kit(name), project.kit(name) / "process.log")
        yield children
    finally:
        with contextlib.suppress(Exception), admin_of(project, 1.0) as admin:
            admin.shut_down()
        for child in children.values():
            if child.wait(15.0) is None:
                child.kill()


def parts_of(project: Project) -> dict[str, Path]:
    """Where each site keeps its runs."""
    return {site: own_settings(project.kit(site)).folder for site in project.job.parties}
