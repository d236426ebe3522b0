"""The served coordinator: protected predictions over HTTP, parties over gRPC, a ledger that never undercounts."""

from privee.extras import require

require(
    "privee.gateway",
    "torch",
    "safetensors",
    "grpc",
    "sqlalchemy",
    "fastapi",
    "uvicorn",
    "alembic",
    "limits",
    "prometheus_client",
    "jinja2",
    extra="gateway",
)
