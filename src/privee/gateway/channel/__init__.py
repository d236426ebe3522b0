"""The gateway's channel to its parties: one connection to each, requests collected while it is busy."""
