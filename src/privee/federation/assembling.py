"""Put the parts of a run that lie on one machine into one run folder, the same as `privee train` writes."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from privee.errors import PriveeError
from privee.vfl.federation import COORDINATOR
from privee.vfl.runs import RunFolder

_SITE_ONLY = shutil.ignore_patterns("run.json", "checkpoint")


def refuse_taken(target: Path) -> None:
    """Refuse before the long work what could not be written after it."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PriveeError(f"{target} exists already; choose another folder")


def assemble(target: Path, coordinator: Path, sites: Mapping[str, Path] | None = None) -> None:
    """Write the coordinator's part and, where they are at hand, the sites' parts, whole or not at all.

    Args:
        target: the run folder to make.
        coordinator: the coordinator's run.
        sites: each site's folder of this run; None where they stay on the sites' machines.
    """
    refuse_taken(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir()
        for name in ("config.json", "metrics.jsonl"):
            shutil.copyfile(coordinator / name, partial / name)
        shutil.copytree(coordinator / COORDINATOR, partial / COORDINATOR)
        for site, folder in (sites or {}).items():
            shutil.copytree(folder, partial / "parties" / site, ignore=_SITE_ONLY)
        if sites:
            RunFolder.open(partial).check_files()
        if target.exists():
            target.rmdir()
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
