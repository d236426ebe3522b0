"""At a party's door without privee's own checks: any certificate at hand, and those of older versions."""

from pathlib import Path
from unittest import mock

import grpc

from privee.pki import authority
from privee.pki.certificates import init_certificates
from privee.pki.identity import TlsFiles


def old_certificate(certs: Path, party: str) -> None:
    """As older versions made them for parties: good for asking as well."""
    with mock.patch.object(authority, "PARTY_PURPOSES", authority.COORDINATOR_PURPOSES):
        init_certificates(certs, [party], [])


def grpc_channel(address: str, ca: TlsFiles, mine: TlsFiles | None, name: str) -> grpc.Channel:
    """Without privee's own checks: whatever certificate is at hand."""
    mine_pem = (mine.key.read_bytes(), mine.cert.read_bytes()) if mine else ()
    credentials = grpc.ssl_channel_credentials(ca.ca.read_bytes(), *mine_pem)
    options = [("grpc.ssl_target_name_override", f"{name}.party.privee"), ("grpc.enable_http_proxy", 0)]
    options += [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    return grpc.secure_channel(address, credentials, options)
