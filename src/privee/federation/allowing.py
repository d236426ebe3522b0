"""A kit's settings: only classes that it allows, no code from elsewhere, no look at its files, and logs stay there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privee.vfl.runs import read_json, write_json

OURS = "privee.federation."
LOG_STREAMS = ("site_log_streamer", "log_receiver")
RIGHTS = {
    **dict.fromkeys(("submit_job", "manage_job", "download_job", "view", "operate"), "any"),
    **dict.fromkeys(("clone_job", "shell_commands", "byoc", "server-predeployed-flwr"), "none"),
}
"""What the project's admin may do. By default a job could bring its own code, and a site's files could be read."""


def allow_privee(local: Path) -> dict[str, Any]:
    """Write a kit's resources.json: NVFlare's defaults and our classes; returns what was written."""
    default = local / "resources.json.default"
    resources = read_json(default) if default.exists() else _defaults()
    resources["class_allow_list"] = [*resources["class_allow_list"], OURS]
    resources["allow_log_streaming"] = False  # else a site's error log is sent to the server
    kept = [part for part in resources.get("components", []) if part["id"] not in LOG_STREAMS]
    if "components" in resources:
        resources["components"] = kept
    write_json(local / "resources.json", resources)
    return json.loads(json.dumps(resources))


def restrict_admin(local: Path) -> None:
    """Write a kit's authorization.json: the admin may run jobs of the kit's own classes, and no more."""
    write_json(local / "authorization.json", {"format_version": "1.0", "permissions": {"project_admin": RIGHTS}})


def _defaults() -> dict[str, Any]:
    """For the simulator, which has no kits."""
    from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

    return {"format_version": 2, "class_allow_list": list(DEFAULT_CLASS_ALLOW_LIST)}
