"""Outcomes on disk: one small JSON file each, a picture beside it, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.paper.base import find_result
from privee.paper.results import Outcome, outcome_from_dict


def save_outcome(outcome: Outcome, folder: Path) -> dict[str, Path]:
    """Write NAME.json and, where there is a picture, NAME.png."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{outcome.name}.json"
    with whole_file(path, force=True) as partial:
        partial.write_text(json.dumps(outcome.as_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    figure = find_result(outcome.name).figure(outcome)
    if figure is None:
        return {"json": path}
    picture = folder / f"{outcome.name}.png"
    with whole_file(picture, force=True) as partial:
        figure.savefig(partial, format="png", metadata={"Software": None})
    return {"json": path, "picture": picture}


def load_outcome(path: Path) -> Outcome:
    """Read what `save_outcome` wrote."""
    try:
        return outcome_from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise PriveeError(f"{path} does not hold a result of `privee paper run`; run it again") from None
