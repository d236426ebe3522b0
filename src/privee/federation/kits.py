"""Start what a kit is for: the server or a site, by NVFlare's own start-up script, in this Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from privee.data.tables import read_party_table
from privee.errors import PriveeError
from privee.federation.allowing import refuse_open
from privee.federation.child import Child
from privee.federation.settings import SiteSettings
from privee.vfl.runs import read_json, write_json


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


def name_table(kit: Path, table: Path, id_column: str, label: str | None, folder: Path | None) -> Path:
    """Write a site's own settings into its kit, after a look at the table."""
    if prepare_kit(kit) != "site":
        raise PriveeError(f"{kit} is the server's kit; the coordinator has no table")
    read_party_table(table, id_column=id_column, label_column=label)
    where = (folder or kit / "privee").resolve()
    own = SiteSettings(folder=where, data=table.resolve(), id_column=id_column, label=label)
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


def start_kit(kit: Path, log: Path) -> Child:
    """A server or a site in a process of its own."""
    prepare_kit(kit)
    command, env = start_command(kit)
    return Child(command, log, env | {"OMP_NUM_THREADS": "1"})


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
