"""What both ends of the connection agree on: names of methods, limits, and gRPC's settings."""

from __future__ import annotations

from typing import Any

from privee.gateway.parties.frames import MAX_BYTES

SERVICE = "privee.Party"
EMBED, ABOUT = f"/{SERVICE}/Embed", f"/{SERVICE}/About"

# A party's errors travel as one of these words; free text of a party is never passed on.
STORE_FAILED, BAD_COLUMNS = "store-failed", "bad-columns"

Options = list[tuple[str, Any]]

_LIMITS: Options = [("grpc.max_receive_message_length", MAX_BYTES), ("grpc.max_send_message_length", MAX_BYTES)]

SERVER_OPTIONS: Options = [
    *_LIMITS,
    ("grpc.so_reuseport", 0),  # two parties on one port would share the calls, silently
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_metadata_size", 16 << 10),
    # What a caller may hold before it has shown who it is, and after.
    ("grpc.server_handshake_timeout_ms", 5000),
    ("grpc.max_allowed_incoming_connections", 512),  # leaves the process files to open for itself
    ("grpc.max_concurrent_streams", 64),  # of one connection
    ("grpc.http2.bdp_probe", 0),  # or gRPC takes in megabytes of a message that nobody has asked it to read
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
]

CHANNEL_OPTIONS: Options = [
    *_LIMITS,
    # A party that is back is found at once: gRPC's own pauses between attempts grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),  # also how long one attempt may take
    ("grpc.max_reconnect_backoff_ms", 100),
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    # A connection whose other end is gone without a word is given up.
    ("grpc.keepalive_time_ms", 5000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_retries", 0),  # retries are counted here
    ("grpc.enable_http_proxy", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.use_local_subchannel_pool", 1),  # two gateways in one process share no connection
]


def server_credentials(ca: bytes, cert: bytes, key: bytes) -> Any:
    """Show this certificate, and take only callers whose certificate is of the same CA, and made for asking."""
    import grpc

    return grpc.ssl_server_credentials([(key, cert)], ca, require_client_auth=True)


def channel_credentials(ca: bytes, cert: bytes, key: bytes) -> Any:
    """Show this certificate, and take only a party whose certificate is of the same CA."""
    import grpc

    return grpc.ssl_channel_credentials(ca, key, cert)
