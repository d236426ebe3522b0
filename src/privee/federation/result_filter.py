"""A defense as an NVFlare result filter: any job that returns scores can return releases instead.

In a job's `config_fed_client.json`:

    "task_result_filters": [{"tasks": ["predict"], "filters": [{
        "path": "privee.federation.result_filter.ReleaseFilter",
        "args": {"defense": "ordered-dp:epsilon=4", "keys": ["scores"]}}]}]

A site can demand it of every job in its own `local/privacy.json` (see docs/federation.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, from_shareable
from nvflare.apis.filter import ContentBlockedException, Filter
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable

from privee.defenses import defense as make_defense
from privee.errors import PriveeError

__all__ = ["ReleaseFilter", "released"]


class ReleaseFilter(Filter):  # type: ignore[misc]  # NVFlare has no types
    """Replaces scores in a task's result by a release; a result without them is not let out.

    Args:
        defense: a defense by its spec, e.g. `"privee-u:rho=0.1"`.
        keys: where the scores are in the result's data, (n, K) arrays; all of them must be there.
        only: whether everything beside these keys is dropped, so that nothing unprotected goes along.
    """

    def __init__(self, defense: str, keys: list[str] | None = None, only: bool = True) -> None:
        super().__init__()
        self._defense = make_defense(defense)
        self._keys, self._only = list(keys or ["scores"]), bool(only)

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """Filter one result."""
        if shareable.get_return_code() != ReturnCode.OK:
            return shareable
        try:
            found = from_shareable(shareable)
            data = released(dict(found.data), self._defense, self._keys, only=self._only)
        except Exception as error:  # whatever is wrong with it, the result stays here
            why = str(error) if isinstance(error, PriveeError) else f"not readable as scores ({type(error).__name__})"
            raise ContentBlockedException(f"no release, so nothing is sent: {why}") from None
        return DXO(found.data_kind, data=data, meta={} if self._only else found.meta).update_shareable(shareable)


def released(data: dict[str, Any], defense: Any, keys: list[str], *, only: bool) -> dict[str, Any]:
    """A result's data with releases where the scores were."""
    missing = [key for key in keys if key not in data]
    if missing:
        raise PriveeError(f"the result has no {missing[0]!r}")
    releases = {key: np.asarray(defense.release(np.asarray(data[key]))) for key in keys}
    return releases if only else data | releases
