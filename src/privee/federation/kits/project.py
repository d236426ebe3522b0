"""A project: start-up kits with certificates for the server, every site and an admin, and the job they will run.

    PROJECT/project.json       who takes part, and the job's settings
    PROJECT/kits/HOST/         the server's (coordinator's) kit, to be copied to that machine alone
    PROJECT/kits/SITE/         each site's kit, likewise
    PROJECT/kits/ADMIN/        for the person who runs jobs

NVFlare's own provisioner makes keys and certificates; connections need a certificate on both ends (mutual TLS). The key
that signed them, and the copy of all keys that the provisioner writes down, are not kept: nobody can add a site later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.federation.kits.policy import close_kit
from privee.federation.settings import JobSettings, SiteSettings
from privee.net import is_loopback

ADMIN = "admin@privee.local"
FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Project:
    """A project on disk."""

    folder: Path
    server: str
    port: int
    job: JobSettings

    def kit(self, name: str) -> Path:
        """The kit of the server, a site or the admin."""
        return self.folder / "kits" / name

    @classmethod
    def open(cls, folder: Path) -> Project:
        """A project that `create_project` made."""
        if not (folder / "project.json").is_file():
            raise PriveeError(f"{folder} is not a project; make one with `privee federation init`")
        saved = read_json(folder / "project.json")
        if saved.get("format") != FORMAT:
            raise PriveeError(f"{folder} was made by another version of privee")
        return cls(folder, saved["server"], saved["port"], JobSettings.from_dict(saved["job"]))


def create_project(
    folder: Path,
    job: JobSettings,
    *,
    server: str = "localhost",
    port: int = 8002,
    direct_port: int | None = None,
    sites: Mapping[str, SiteSettings] | None = None,
) -> Project:
    """Provision a project.

    Args:
        folder: where; must not exist yet.
        job: what will be run; `privee federation run` gives it its name.
        server: host name of the coordinator's machine, as the sites reach it; loopback names listen on loopback alone.
        port: the one port that the server listens on.
        direct_port: a second port of the server's, by which a job's processes talk without the server process between
            them, also with certificates on both ends; where it cannot be reached they go the usual way.
        sites: each site's own settings, where they are known here.
    """
    if folder.exists() and any(folder.iterdir()):
        raise PriveeError(f"{folder} exists already; choose another folder")
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", server) or server in job.parties:
        raise PriveeError(f"{server!r} cannot be the server: give the host name that the sites reach it by")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    _provision(folder, job, server, port)
    for kit in (folder / "kits").iterdir():
        kit.chmod(0o700)
        if (kit / "local" / "resources.json.default").exists() and kit.name != ADMIN:
            close_kit(kit)
            if direct_port is not None:
                write_json(kit / "local" / "comm_config.json", _direct(server, direct_port))
    for site, own in (sites or {}).items():
        kit = (folder / "kits" / site).resolve()
        dataclasses.replace(own, folder=kit / "privee").write(kit / "local", site)
    write_json(folder / "project.json", {"format": FORMAT, "server": server, "port": port, "job": job.as_dict()})
    return Project(folder, server, port, job)


def _provision(folder: Path, job: JobSettings, server: str, port: int) -> None:
    """Let NVFlare's provisioner write the kits, then put them where one looks for them."""
    from nvflare.lighter.prov_utils import prepare_builders, prepare_packager
    from nvflare.lighter.provision import prepare_project
    from nvflare.lighter.provisioner import Provisioner

    wanted = _wanted(job, server, port)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".provision-") as name:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            provisioner = Provisioner(name, prepare_builders(wanted), prepare_packager(wanted))
            context = provisioner.provision(prepare_project(wanted))
        made = Path(context.get_result_location())
        if not (made / ADMIN / "startup" / "client.key").is_file():
            raise PriveeError("NVFlare's provisioner made no kits; see its words: " + said.getvalue()[-300:])
        shutil.move(made, folder / "kits")


def _direct(server: str, port: int) -> dict[str, Any]:
    """NVFlare's ad-hoc connections are plaintext unless the scheme is `stcp`: TLS with certificates on both ends."""
    resources = {"host": server, "listen_host": server if is_loopback(server) else "0.0.0.0", "port": port}  # noqa: S104
    return {"allow_adhoc_conns": True, "adhoc": {"scheme": "stcp", "resources": resources}}


def _wanted(job: JobSettings, server: str, port: int) -> dict[str, Any]:
    """What NVFlare calls a project file."""
    people = [{"name": server, "type": "server", "org": "privee", "fed_learn_port": port}]
    people += [{"name": site, "type": "client", "org": "privee"} for site in job.parties]
    people += [{"name": ADMIN, "type": "admin", "org": "privee", "role": "project_admin"}]
    impl = "nvflare.lighter.impl"
    builders = [
        {"path": f"{impl}.workspace.WorkspaceBuilder", "args": {"template_file": ["master_template.yml"]}},
        {"path": f"{impl}.static_file.StaticFileBuilder", "args": {"config_folder": "config", "scheme": "tcp"}},
        {"path": f"{impl}.cert.CertBuilder"},
        {"path": f"{impl}.signature.SignatureBuilder"},
    ]
    about = {"api_version": 3, "name": "privee", "description": "vertical federated learning"}
    return {**about, "participants": people, "builders": builders}
