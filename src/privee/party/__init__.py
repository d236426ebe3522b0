"""The parties' side: certificates, the server that answers for one party, and the gateway's channel to all of them."""

from privee.extras import require

require("privee.party", "torch", "safetensors", "grpc", "sqlalchemy", extra="party")

import os

# gRPC's core writes lines of its own to standard error, where privee writes one JSON object per line; its traces hold
# whole messages, ids and embeddings included, so the environment has no say in this.
os.environ["GRPC_VERBOSITY"] = "NONE"
os.environ.pop("GRPC_TRACE", None)
