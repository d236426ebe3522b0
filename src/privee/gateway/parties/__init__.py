"""The parties' side: certificates, the server that answers for one party, and the gateway's channel to all of them."""

import os

# gRPC's core writes lines of its own to standard error, where privee writes one JSON object per line.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
