"""The Open Inference Protocol over gRPC: the same questions, keys, prices and refusals as over HTTP."""

from privee.extras import needed

needed("google.protobuf", "protobuf", extra="gateway", what="gRPC")
