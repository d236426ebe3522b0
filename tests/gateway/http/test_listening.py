"""Where a gateway may listen, and what it makes of bytes that are not TLS."""

import contextlib
import socket
import ssl
import sys

import httpx
import pytest

from privee.cli import app as cli
from tests._support.gateway_world import DEFENSE, infer
from tests._support.hostile_requests import PERSON
from tests._support.wire import connected

EVERYWHERE = "0.0.0.0"  # noqa: S104 (refused)


pytestmark = pytest.mark.usefixtures("still_serves")


@pytest.fixture(scope="module")
def world(marked):
    return marked


# Where it may listen


def test_another_address_needs_certificates(world, capsys, monkeypatch):
    run, key = str(world.world.run), str(world.ledger_key)
    words = ["privee", "gateway", "serve", run, *DEFENSE, "--ledger", world.ledger_url, "--ledger-key", key]
    words += [word for name, address in world.addresses.items() for word in ("--party", f"{name}={address}")]
    monkeypatch.setattr(sys, "argv", [*words, "--host", EVERYWHERE, "--port", "0"])
    assert cli.run() == 2
    told = capsys.readouterr().err.strip()
    assert f"{EVERYWHERE} is not a loopback address" in " ".join(told.split())
    assert "--certs" in told
    monkeypatch.setattr(sys, "argv", [*words, "--host", EVERYWHERE, "--no-tls", "--certs", str(world.world.certs)])
    assert cli.run() == 2
    assert "clear" in capsys.readouterr().err


def test_https_with_the_private_ca(world):
    trusted = ssl.create_default_context(cafile=world.world.certs / "ca.pem")
    headers = {"Authorization": f"Bearer {world.key('consumer')}"}
    assert world.secured.startswith("https://")
    with httpx.Client(base_url=world.secured, headers=headers, verify=trusted) as client:
        assert infer(client, PERSON).status_code == 200
    with httpx.Client(base_url=world.secured) as stranger, pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
        stranger.get("/v2")


@pytest.mark.parametrize(
    "sent", [b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n", bytes(4096), b"\x16\x03\x01\xff\xff" + b"\xff" * 4096, b""]
)
def test_what_is_not_tls_gets_no_http_answer(world, sent):
    with connected(world.secured) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(4096):
                found += piece
    assert b"HTTP" not in found
    trusted = ssl.create_default_context(cafile=world.world.certs / "ca.pem")
    assert httpx.get(f"{world.secured}/v2/health/live", verify=trusted).status_code == 200


def test_old_tls_is_refused(world):
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLS"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with connected(world.secured) as connection, pytest.raises((ssl.SSLError, ConnectionError)):
        old.wrap_socket(connection)
