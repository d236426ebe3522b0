"""Who may talk to whom, and frames that nobody honest sends."""

import grpc
import pytest
from hypothesis import given, settings

from privee.errors import PriveeError
from privee.gateway.channel.party_channel import PartyChannel
from privee.party.start import ServeSettings, serve_party
from privee.party.stores import Source
from privee.party.wire import ABOUT, EMBED, EmbedRequest
from tests._support.commands import run
from tests._support.hostile_frames import NASTY, hostile_frames
from tests._support.party_world import call, failure, person, using

# Who may talk to whom.


@pytest.mark.parametrize(
    ("role", "certs", "code"),
    [
        ("shop", "certs", grpc.StatusCode.UNAVAILABLE),  # in the handshake: it is not for asking
        ("bank", "certs", grpc.StatusCode.UNAVAILABLE),
        ("old-shop", "certs", grpc.StatusCode.PERMISSION_DENIED),
        ("coordinator", "strangers", grpc.StatusCode.UNAVAILABLE),
        (None, "certs", grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_only_the_coordinator_may_ask(world, role, certs, code):
    address = world.running["bank/csv"].address
    frame = EmbedRequest((person(1),)).encode()
    asked = (ABOUT, b""), (EMBED, frame)
    assert [call(address, *one, world.tls("bank"), world.tls("coordinator"), "bank") for one in asked]
    mine = None if role is None else world.tls(role, certs)
    for one in asked:
        with pytest.raises(grpc.RpcError) as caught:
            call(address, *one, world.tls("bank"), mine, "bank")
        assert caught.value.code() is code


def test_one_party_cannot_pose_as_another(world):
    shop = world.running["shop/sql"].address
    error, _ = failure(world.channel({"bank": shop, "shop": shop}), [person(1)])
    assert (error.party, error.kind) == ("bank", "refused")
    assert "has not shown a certificate of its own name" in str(error)


def test_a_party_of_another_ca_is_refused(world):
    channel = PartyChannel(world.digits(), world.tls("coordinator", "strangers"))
    error, _ = failure(channel, ["1"])
    assert (error.party, error.kind) == ("active", "refused")


def test_the_gateway_needs_its_own_certificate_and_tls_off_loopback(world):
    with pytest.raises(PriveeError, match="is not the coordinator's certificate"):
        PartyChannel(world.digits(), world.tls("bank"))
    with pytest.raises(PriveeError, match="not a loopback address, so TLS is needed"):
        PartyChannel({"bank": "192.0.2.1:7001"}, None)
    part, source = world.part("tables", "bank"), Source("x.csv")
    code, _, err = run("party", "serve", part, "--data", "x.csv", "--listen", "0.0.0.0:0", cwd=world.folder)
    assert code == 2
    assert "0.0.0.0:0 is not a loopback address, so TLS is needed: give --certs" in err
    with pytest.raises(PriveeError, match="is not the certificate of party bank"):
        serve_party(ServeSettings(part, source, tls=world.tls("shop")))


# Frames.


def test_hostile_frames_never_end_a_server(world):
    address, mine = world.running["mlp/active"].address, world.tls("coordinator")
    pems = mine.ca.read_bytes(), mine.key.read_bytes(), mine.cert.read_bytes()
    options = [("grpc.ssl_target_name_override", "active.party.privee"), ("grpc.enable_http_proxy", 0)]
    with grpc.secure_channel(address, grpc.ssl_channel_credentials(*pems), options) as channel:
        embed = channel.unary_unary(EMBED)

        def code(frame: bytes) -> grpc.StatusCode:
            try:
                embed(frame, timeout=10)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        @settings(max_examples=80)
        @given(hostile_frames())
        def attack(frame: bytes) -> None:
            assert code(frame) in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OK)

        attack()
        assert {code(frame) for frame in NASTY} == {grpc.StatusCode.INVALID_ARGUMENT}
        assert code(bytes(65 << 20)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/privee.Party/Weights")(b"", timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert world.running["mlp/active"].running
    assert using(world.channel(world.digits()), lambda channel: channel.embeddings(["1"]))
    assert not world.events("mlp/active", "failed")
