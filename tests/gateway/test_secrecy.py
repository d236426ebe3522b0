"""Three parties behind HTTPS, every debugging switch of the environment on: what can be got out of the processes."""

import contextlib
import re
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
import torch

from privee.gateway.demo import make_world, running
from privee.vfl.experiment import open_run
from tests._support.gateway_world import Running, infer
from tests._support.warm_servers import cold_servers

DEBUGGING = {
    "PYTHONDEVMODE": "1",
    "PYTHONASYNCIODEBUG": "1",
    "PYTHONVERBOSE": "",
    "GRPC_VERBOSITY": "DEBUG",
    "GRPC_TRACE": "all",
    "SQLALCHEMY_WARN_20": "1",
    "TORCH_SHOW_CPP_STACKTRACES": "1",
    "TORCH_LOGS": "+all",
    "UVICORN_LOG_LEVEL": "trace",
    "LOGLEVEL": "DEBUG",
}
ENTITY = "1234"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrecy")
    made = make_world(folder, epochs=2, parties=3)
    options = ("--defense", "ordered-dp:epsilon=1", "--epsilon", "5", "--tls")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEBUGGING.items():
            patch.setenv(name, value)
        with cold_servers(), running(made, options) as (gateway, parties):
            found = Running(made, gateway, parties)
            yield found
            for party in found.parties.values():
                party.stop()


@pytest.fixture
def consumer(world):
    trusted = ssl.create_default_context(cafile=world.world.certs / "ca.pem")
    with world.client(verify=trusted) as client:
        yield client


def test_three_parties_make_one_release(world, consumer):
    federation, _ = open_run(world.world.run)
    assert world.world.parties == ("active", "passive-1", "passive-2")
    scores = torch.softmax(federation.coordinator.logits(torch.tensor([int(ENTITY), 7])).double(), dim=1).numpy()
    answer = infer(consumer, ENTITY, "7")
    assert answer.status_code == 200, answer.text
    release = np.array(answer.json()["outputs"][0]["data"]).reshape(2, 10)
    assert (release.argsort(axis=1) == scores.argsort(axis=1)).all()
    assert answer.json()["parameters"]["charged"] == 2
    assert infer(consumer, ENTITY, "999999").json()["positions"] == [1]


def test_one_of_three_parties_away_is_named_and_nothing_is_charged(world, consumer):
    world.stop_party("passive-2")
    answer = infer(consumer, "8")
    assert (answer.status_code, answer.json()["code"]) == (503, "party-unreachable")
    assert "passive-2" in answer.json()["error"]
    world.start_party("passive-2")
    assert infer(consumer, "8").json()["parameters"]["remaining"] == 4


def private_words(world, answers) -> list[str]:
    federation, _ = open_run(world.world.run)
    scores = torch.softmax(federation.coordinator.logits(torch.tensor([int(ENTITY)])).double(), dim=1).numpy()
    released = [value for answer in answers for value in answer.json()["outputs"][0]["data"]]
    words = [ENTITY, world.key("consumer").split("_", 2)[2]]
    return words + [f"{value:.10f}"[:8] for value in (*scores.ravel(), *released) if 0.01 < value < 0.99]


def tells(text: str, word: str) -> bool:
    """Whether the word stands in the text; digits within a longer number, as those of a time, are chance."""
    return bool(re.search(rf"(?<!\d){word}(?!\d)", text)) if word.isdigit() else word in text


def test_no_debugging_switch_brings_private_things_into_a_log(world, consumer):
    answers = [infer(consumer, ENTITY) for _ in range(2)]
    assert infer(consumer, "no such").status_code == 404
    private = private_words(world, answers)
    assert len(private) > 5
    files = list(world.world.folder.glob("*.log"))
    assert len(files) == 4
    for file in files:
        held = file.read_text(errors="replace")
        assert not [word for word in private if tells(held, word)], (file.name, held[-2000:])


def test_no_process_leaves_a_core_dump_or_lets_others_look_into_it(world):
    for process in (world.gateway, *world.parties.values()):
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        (line,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
        assert line.split()[4:6] == ["0", "0"]
    # Nor to a program (PR_GET_DUMPABLE is 3), which a limit of 0 does not stop.
    ask = "from privee.logs import start_logging as s; s(); import ctypes; print(ctypes.CDLL(None).prctl(3))"
    assert subprocess.check_output([sys.executable, "-c", ask]).split() == [b"0"]  # noqa: S603


# The HTTPS side


def tls_line(world, context, name=None):
    parts = urlsplit(world.url)
    raw = socket.create_connection((parts.hostname, parts.port), 10)
    return context.wrap_socket(raw, server_hostname=name)


def anything(**versions):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for name, version in versions.items():
        setattr(context, name, version)
    return context


def test_renegotiation_is_refused(world):
    """By OpenSSL's own client, which asks for it with an R on a line of its own."""
    parts = urlsplit(world.url)
    command = ["openssl", "s_client", "-tls1_2", "-connect", f"{parts.hostname}:{parts.port}"]
    done = subprocess.run(  # noqa: S603
        command, input=b"R\n", capture_output=True, timeout=30, check=False
    )
    said = done.stderr.lower()
    assert b"renegotiating" in said
    assert b"no renegotiation" in said


@pytest.mark.parametrize("name", [None, "localhost", "somebody.else", "active.party.privee", "x" * 60 + ".example"])
def test_any_name_gets_the_gateways_own_certificate_and_no_other(world, name):
    with tls_line(world, anything(), name) as line:
        shown = ssl.DER_cert_to_PEM_cert(line.getpeercert(binary_form=True))
    expected = (world.world.certs / "coordinator" / "cert.pem").read_text()
    assert shown.split() == expected.split()


def test_weak_ciphers_are_refused(world):
    weak = anything(maximum_version=ssl.TLSVersion.TLSv1_2)
    weak.set_ciphers("NULL:aNULL:RC4:3DES:EXPORT:AES128-SHA:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)), tls_line(world, weak):
        pass


def test_half_a_handshake_keeps_nobody_out(world, consumer):
    parts = urlsplit(world.url)
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            line = stack.enter_context(socket.create_connection((parts.hostname, parts.port), 10))
            line.sendall(b"\x16\x03\x01\x02\x00\x01")  # the start of a hello that never ends
        assert infer(consumer, "9").status_code == 200
    assert httpx.get(f"{world.url}/v2/health/live", verify=False).status_code == 200  # noqa: S501
