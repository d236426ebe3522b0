"""What can go wrong at a gateway. The message is one line; no key, id or score is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from privee.errors import PriveeError, UnavailableError


class GatewayError(PriveeError):
    """A request to a gateway failed.

    Attributes:
        status: the HTTP status, None if no answer came.
        code: a short word for what went wrong, such as "bad-request"; without an answer "unsent", "tls" or "lost".
        request_id: under which the gateway's log has it.
        maybe_counted: the request may have been answered on its way back to us, so that the ledger counted it.
    """

    def __init__(
        self,
        words: str,
        *,
        status: int | None = None,
        code: str = "",
        request_id: str = "",
        maybe_counted: bool = False,
    ) -> None:
        super().__init__(words)
        self.status, self.code, self.request_id, self.maybe_counted = status, code, request_id, maybe_counted


class Refused(GatewayError):  # noqa: N818
    """The ledger, or a party's own, refused: some entity has given away all it may. Nothing was charged.

    Attributes:
        asked, spent, limit: plain numbers in the policy's own units.
        positions: which of the entities asked about, as indices.
    """

    def __init__(self, words: str, details: Mapping[str, Any], **about: Any) -> None:
        super().__init__(words, **about)
        self.asked: dict[str, float] = dict(details.get("asked", {}))
        self.spent: dict[str, float] = dict(details.get("spent", {}))
        self.limit: dict[str, float] = dict(details.get("limit", {}))
        self.positions: tuple[int, ...] = tuple(details.get("positions", ()))


class QuotaReached(Refused):
    """This key's own quota does not cover it, though its entities could bear it. Nothing was charged.

    Attributes:
        quota: which: "releases", "entities" or "share".
        retry_after: seconds until it starts anew; None if waiting does not help.
    """

    def __init__(self, words: str, details: Mapping[str, Any], retry_after: float | None, **about: Any) -> None:
        super().__init__(words, details, **about)
        self.quota, self.retry_after = str(details.get("quota", "")), retry_after


class VariantsReached(Refused):
    """Some entity was asked about with other columns of the active party's, as often as allowed. Nothing was charged.

    Attributes:
        asked, spent, limit: `variants` that are new, that were asked about before, and that are allowed.
    """


class RateLimited(GatewayError):  # noqa: N818
    """This key asks too often; `retry_after` seconds (None: the gateway did not say). Nothing was charged."""

    def __init__(self, words: str, retry_after: float | None, **about: Any) -> None:
        super().__init__(words, **about)
        self.retry_after = retry_after


class NotAllowed(GatewayError):  # noqa: N818
    """The key is not valid, or its role or scope does not cover this."""


class UnknownEntity(GatewayError):  # noqa: N818
    """There is no joint record of the entities at `positions`. Nothing was charged."""

    def __init__(self, words: str, positions: Sequence[int], **about: Any) -> None:
        super().__init__(words, **about)
        self.positions = tuple(positions)


class PartyFailed(GatewayError, UnavailableError):  # noqa: N818
    """A party, or the model behind the gateway, did not answer or is another. Nothing was charged."""


class GatewayUnavailable(GatewayError, UnavailableError):  # noqa: N818
    """The gateway cannot be reached, or cannot answer now; `maybe_counted` says whether it may have charged."""
