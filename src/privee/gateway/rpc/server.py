"""The service itself, and the port it listens on: in the process and on the event loop of the HTTP server."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import grpc
from grpc import aio
from starlette.datastructures import State

from privee.errors import PriveeError, SettingError
from privee.gateway.http.access import allow_model
from privee.gateway.http.binary import write_binary
from privee.gateway.http.inference_routes import service_for, tensors_of
from privee.gateway.http.query_routes import releases
from privee.gateway.rpc.calls import Call, Calls, Method
from privee.gateway.rpc.messages import CLASSES, SERVICE
from privee.gateway.rpc.reading import infer_response, read, read_infer
from privee.gateway.settings import GatewaySettings
from privee.net import Address
from privee.party.wire import SERVER_OPTIONS
from privee.pki.identity import TlsFiles
from privee.version import __version__

FAREWELL_SECONDS = 1.0


def reserve(settings: GatewaySettings) -> socket.socket:
    """Hold the port for as long as anybody serves on it: bound, and not listened on.

    gRPC's servers listen themselves, and workers on the same port; that this is no other's is seen before they do.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise SettingError("gRPC needs a system with SO_REUSEPORT, such as Linux")
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as alone:  # who shares it would take calls from us
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind((host, settings.grpc_port or 0))
            place = alone.getsockname()
        held = socket.socket(family, socket.SOCK_STREAM)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            held.setsockopt(socket.SOL_SOCKET, option, 1)
        held.bind(place)
    except OSError as error:
        raise PriveeError(f"cannot listen on {settings.host}:{settings.grpc_port}: {error.strerror}") from None
    return held


class RpcServer:
    """Serves an application's model over gRPC.

    Args:
        state: the application's: its service, metrics and keys.
        held: the port, from `reserve`.
    """

    def __init__(self, state: State, held: socket.socket) -> None:
        self._state, self._address = state, Address(*held.getsockname()[:2])
        self._calls = Calls(state)
        self._server: aio.Server | None = None
        self._stopping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen."""
        settings: GatewaySettings = self._state.service.settings
        own = [("grpc.so_reuseport", 1), ("grpc.max_receive_message_length", settings.max_body)]
        own.append(("grpc.max_send_message_length", -1))  # as long as what was asked for
        changed = {name for name, _ in own}
        server = aio.server(options=[*(one for one in SERVER_OPTIONS if one[0] not in changed), *own])
        handlers = {name: self._calls.handler(name, method) for name, method in self._methods().items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        if settings.secured and settings.certs is not None:
            identity = TlsFiles.from_folder(settings.certs / "coordinator").load()
            shown = grpc.ssl_server_credentials([(identity.key, identity.cert)])
            server.add_secure_port(str(self._address), shown)
        else:
            server.add_insecure_port(str(self._address))
        self._server = server
        await server.start()

    async def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end; all who ask for it wait for the same end."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop(grace))
        await asyncio.shield(self._stopping)

    async def _stop(self, grace: float) -> None:
        if self._server is not None:
            await self._server.stop(grace)
        await self._calls.finish(FAREWELL_SECONDS)

    def _methods(self) -> dict[str, Method]:
        return {
            "ServerLive": Method(self._live, reads=False),
            "ServerReady": Method(self._ready, reads=False),
            "ServerMetadata": Method(self._about, reads=False),
            "ModelReady": Method(self._model_ready),
            "ModelMetadata": Method(self._model_metadata, keyed=True),
            "ModelInfer": Method(self._infer, keyed=True),
        }

    async def _live(self, _: Call) -> bytes:
        return _said("ServerLiveResponse", live=True)

    async def _ready(self, _: Call) -> bytes:
        return _said("ServerReadyResponse", ready=(await self._state.service.health()).ready)

    async def _about(self, _: Call) -> bytes:
        return _said("ServerMetadataResponse", name="privee", version=__version__)

    async def _model_ready(self, call: Call) -> bytes:
        asked, model = read("ModelReadyRequest", call.message), self._state.service.model
        served = asked.name == model.name and asked.version in ("", model.version)
        ready = served and (await self._state.service.health()).ready
        return _said("ModelReadyResponse", ready=ready)

    async def _model_metadata(self, call: Call) -> bytes:
        asked = read("ModelMetadataRequest", call.message)
        service = service_for(self._state, asked.name, asked.version)
        allow_model(call.known, asked.name)
        tensor = CLASSES["ModelMetadataResponse.TensorMetadata"]
        inputs, outputs = ([tensor(**one.model_dump()) for one in given] for given in tensors_of(service))
        said = {"name": asked.name, "versions": [service.model.version], "platform": "privee"}
        return _said("ModelMetadataResponse", **said, inputs=inputs, outputs=outputs)

    async def _infer(self, call: Call) -> bytes:
        message, body = read_infer(call.message, await self._state.service.most_values())
        service = service_for(self._state, message.model_name, message.model_version)
        answer = await releases(self._state, message.model_name, body, call.known, note=call.note, write=write_binary)
        said = {"name": service.model.name, "version": service.model.version}
        return infer_response(answer, message, **said, defense=service.spec)


def _said(what: str, /, **values: Any) -> bytes:
    return CLASSES[what](**values).SerializeToString()
