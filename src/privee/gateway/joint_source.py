"""Scores of a joint model: its parties are asked, and the coordinator's part joins what they send."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.gateway.channel.call_names import CallNames
from privee.gateway.channel.party_channel import PartyChannel, PartyHealth, PartyTimeouts
from privee.gateway.coordinator_model import CoordinatorModel, load_coordinator_model
from privee.gateway.joint_scoring import JointScoring
from privee.gateway.local_party import open_local_party
from privee.gateway.score_source import Worked
from privee.gateway.settings import GatewaySettings
from privee.party.server import PartyHandler
from privee.pki.identity import TlsFiles
from privee.vfl.seal.code_column import CodeColumn
from privee.vfl.seal.handed_over import read_handed_over


class JointSource:
    """Used in one event loop.

    Args:
        model: joins what the parties send.
        channel: asks them.
    """

    def __init__(self, model: CoordinatorModel, channel: PartyChannel) -> None:
        self._channel, self._scoring = channel, JointScoring(model)

    @property
    def unchanging(self) -> bool:
        """Whether nobody is asked."""
        return self._channel.unchanging

    @property
    def features(self) -> int | None:
        """Numbers in a row of the active party's columns, once it has said so."""
        return self._channel.features

    async def worked_out(self, entities: Sequence[str], columns: NDArray[np.float32] | None = None) -> Worked:
        """Every party's embeddings, and the scores they make."""
        embeddings = await self._channel.embeddings(entities, columns)
        return Worked(embeddings, await self._scoring.scores(embeddings))

    async def health(self) -> dict[str, PartyHealth]:
        """How each party is."""
        return await self._channel.health()

    async def close(self) -> None:
        """Close all connections."""
        await self._channel.close()


@dataclasses.dataclass(frozen=True, eq=False)
class OpenedJoint:
    """A joint model whose parties are about to be asked."""

    settings: GatewaySettings
    model: CoordinatorModel
    columns: Mapping[str, CodeColumn]
    local: PartyHandler | None
    tls: TlsFiles | None

    def source(self, calls: CallNames) -> JointSource:
        """Open the ways to the parties."""
        channel = PartyChannel(
            # The active party first.
            {name: self.settings.parties[name] for name in self.model.parties if name in self.settings.parties},
            self.tls,
            timeouts=PartyTimeouts(deadline=self.settings.deadline),
            max_batch=self.settings.max_entities,
            expected_weights=self.model.weights,
            columns=self.columns,
            local=self.local,
            calls=calls,
        )
        return JointSource(self.model, channel)

    def discard(self) -> None:
        """Let go of the local party's table."""
        if self.local is not None:
            self.local.close()


def open_joint(settings: GatewaySettings, run: Path) -> OpenedJoint:
    """Read the coordinator's part of a run; each of its parties must be somewhere."""
    model = load_coordinator_model(run, settings.name)
    columns = _handed_over(settings, model)
    given = [*settings.parties, *settings.codes, *settings.local]
    missing = [name for name in model.parties if name not in given]
    if missing:
        raise SettingError(f"where does party {missing[0]} listen? add --party {missing[0]}=HOST:PORT")
    strange = [name for name in given if name not in model.parties]
    if strange:
        raise SettingError(f"this model has no party {strange[0]!r}; its parties are {', '.join(model.parties)}")
    tls = None if settings.certs is None else TlsFiles.from_folder(settings.certs / "coordinator")
    return OpenedJoint(settings, model, columns, open_local_party(settings.local, run, model), tls)


def _handed_over(settings: GatewaySettings, model: CoordinatorModel) -> dict[str, CodeColumn]:
    """Codes that were handed over must be of nobody who is asked too."""
    ways = {"--party": settings.parties, "--codes": settings.codes, "--local": settings.local}
    for (one, first), (other, second) in itertools.combinations(ways.items(), 2):
        if both := [name for name in first if name in second]:
            raise SettingError(f"party {both[0]} is given with {one} and with {other}; one of the two")
    return read_handed_over(settings.codes, model.weights, model.seals)
