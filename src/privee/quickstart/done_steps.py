"""Which steps are done, and with what: a step whose inputs have not changed is not done again."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from pathlib import Path
from typing import Any

from privee.atomic import read_json, whole_file
from privee.errors import PriveeError

FILE, FORMAT = "steps.json", 1


class DoneSteps:
    """A note of what each step was done with: keyed digests, so that the file tells nothing of tables and columns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        saved = read_json(self._path) if self._path.is_file() else {"format": FORMAT, "salt": secrets.token_hex(32)}
        if not isinstance(saved, dict) or saved.get("format") != FORMAT or not isinstance(saved.get("salt"), str):
            raise PriveeError(f"{self._path} is damaged, or of another privee; remove it to do all steps again")
        self._salt = saved["salt"]
        self._done: dict[str, str] = dict(saved.get("done", {}))

    def digest(self, inputs: Any) -> str:
        """Of plain values."""
        text = json.dumps(inputs, sort_keys=True, default=str)
        return hmac.new(self._salt.encode(), text.encode(), hashlib.sha256).hexdigest()

    def digest_of_file(self, path: Path) -> str:
        """Of what a file holds."""
        try:
            with path.open("rb") as file:
                return self.digest(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise PriveeError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None

    def is_done(self, step: str, digest: str) -> bool:
        """Whether a step was done with inputs of this digest."""
        return self._done.get(step) == digest

    def note(self, step: str, digest: str) -> None:
        """A step is done."""
        self._done[step] = digest
        saved = {"format": FORMAT, "salt": self._salt, "done": self._done}
        with whole_file(self._path, force=True, private=True) as partial:
            partial.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
