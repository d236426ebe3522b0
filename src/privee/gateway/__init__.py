"""The served coordinator: protected predictions over HTTP, parties over gRPC, a ledger that never undercounts."""
