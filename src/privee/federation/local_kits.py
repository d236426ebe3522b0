"""A whole project on this machine: server and sites as processes of their own, for demos and tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from privee.federation.admin import admin_of
from privee.federation.child import Child
from privee.federation.kits import own_settings, start_kit
from privee.federation.project import Project

SERVER_SECONDS = 120.0


@contextlib.contextmanager
def local_kits(project: Project) -> Iterator[dict[str, Child]]:
    """Start the server's and all sites' kits, and stop them at the end."""
    names = (project.server, *project.job.parties)
    children: dict[str, Child] = {}
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
