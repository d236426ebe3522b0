"""NVFlare runs only classes that a site allows; ours are added to its list, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privee.vfl.runs import read_json, write_json

OURS = "privee.federation."


def allow_privee(local: Path) -> dict[str, Any]:
    """Write a kit's resources.json: NVFlare's defaults and our classes; returns what was written."""
    default = local / "resources.json.default"
    resources = read_json(default) if default.exists() else _defaults()
    resources["class_allow_list"] = [*resources["class_allow_list"], OURS]
    write_json(local / "resources.json", resources)
    return json.loads(json.dumps(resources))


def _defaults() -> dict[str, Any]:
    """For the simulator, which has no kits."""
    from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

    return {"format_version": 2, "class_allow_list": list(DEFAULT_CLASS_ALLOW_LIST)}
