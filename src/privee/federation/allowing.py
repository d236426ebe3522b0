"""A kit's settings: NVFlare runs only classes that a site allows, so ours are added; and logs stay where they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privee.vfl.runs import read_json, write_json

OURS = "privee.federation."
LOG_STREAMS = ("site_log_streamer", "log_receiver")


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


def _defaults() -> dict[str, Any]:
    """For the simulator, which has no kits."""
    from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

    return {"format_version": 2, "class_allow_list": list(DEFAULT_CLASS_ALLOW_LIST)}
