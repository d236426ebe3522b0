"""The coordinator's part of a federated job, inside NVFlare's server."""
