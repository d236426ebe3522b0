"""What a site's codes have cost over all its sealed runs, and the most that it allows: kept at the site, for life.

Every sealed run draws codes anew, so bits and epsilons add up. A run is counted before its first code, whether or not
it ends, and once: the secret of its seal tells it from another run of the same name. All records count alike, also
those that some runs did not have.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from privee.atomic import read_json, whole_file
from privee.durable.whole_numbers import CAP, UNIT, allowed
from privee.errors import PriveeError
from privee.federation.lifetime import Lifetime, cost_of
from privee.vfl.run_format import PARTY
from privee.vfl.seal import Seal
from privee.vfl.seal.drawing import KEY, read_secret

FILE, LOCK, FORMAT = "sealed-runs.json", "sealed-runs.lock", 1


class SealedRuns:
    """The sealed runs of a site, in a file of its own beside their folders.

    Args:
        folder: where the site keeps its parts of runs.
        most: what it allows.
    """

    def __init__(self, folder: Path, most: Lifetime) -> None:
        self._folder, self._most = folder, most

    def check(self, run: str, seal: Seal) -> None:
        """Refuse a run that would go beyond what is allowed; nothing is written."""
        if not self._most or not self._folder.is_dir():
            counted: dict[str, Any] = {}
        else:
            with self._alone():
                counted = self._counted()
        if self._mark(run) not in counted:
            self._refuse_beyond(counted, seal)

    def count(self, run: str, seal: Seal) -> None:
        """Before the first code of a run whose secret is there; the same run is not counted again."""
        with self._alone():
            counted, mark = self._counted(), self._mark(run)
            if mark is None:
                raise PriveeError("a sealed run has no secret yet")
            if mark not in counted:
                self._refuse_beyond(counted, seal)
                self._keep({**counted, mark: {"run": run, "seal": seal.spec, **cost_of(seal)}})

    def _refuse_beyond(self, counted: Mapping[str, Mapping[str, Any]], seal: Seal) -> None:
        for name, most in vars(self._most).items():
            before = sum(int(one[name]) for one in counted.values())
            if most is not None and before + cost_of(seal)[name] > allowed(most):
                raise PriveeError(
                    f"this site's codes may tell {most:g} {'bits' if name == 'bits' else 'of epsilon'} of a record in "
                    f"its life; {_said(before)} went with {len(counted)} sealed runs, and this one would add "
                    f"{_said(cost_of(seal)[name])}"
                )

    def _counted(self) -> dict[str, Any]:
        """By mark. A run that ended before there was such a file, or that a lost one held, is counted by its part."""
        path = self._folder / FILE
        saved = read_json(path) if path.is_file() else {"format": FORMAT, "runs": {}}
        if not isinstance(saved, dict) or saved.get("format") != FORMAT or not isinstance(saved.get("runs"), dict):
            raise PriveeError(f"{FILE} at this site is damaged, or of another privee; put its newest copy back")
        runs = dict(saved["runs"])
        for key in self._folder.glob(f"*/{KEY}"):
            mark = self._mark(key.parent.name)
            if mark not in runs and (key.parent / PARTY).is_file():
                seal = Seal.from_dict(read_json(key.parent / PARTY)["seal"])
                runs[str(mark)] = {"run": key.parent.name, "seal": seal.spec, **cost_of(seal)}
        return runs

    def _mark(self, run: str) -> str | None:
        """Tells a run's secret from others and nothing about it; None as long as there is none."""
        folder = self._folder / run
        if not (folder / KEY).is_file():
            return None
        return hmac.digest(read_secret(folder), b"privee sealed run v1", "sha256").hex()

    def _keep(self, runs: Mapping[str, Any]) -> None:
        with whole_file(self._folder / FILE, force=True, private=True) as partial:
            partial.write_text(json.dumps({"format": FORMAT, "runs": dict(runs)}, indent=1) + "\n", encoding="utf-8")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Two jobs at once are two processes: the second sees what the first counted."""
        with (self._folder / LOCK).open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _said(trillionths: int) -> str:
    return "an amount without end" if trillionths >= CAP else f"{trillionths / UNIT:g}"
