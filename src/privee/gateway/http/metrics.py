"""Prometheus metrics, in base units. Labels are routes, outcomes and party names: nothing about entities."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ENTITIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)


class Metrics:
    """All that is measured, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        mine = {"registry": self.registry}
        self.requests = Counter("privee_http_requests", "HTTP requests.", ["route", "status"], **mine)
        self.request_seconds = Histogram(
            "privee_http_request_duration_seconds", "Time to answer.", ["route"], buckets=SECONDS, **mine
        )
        self.in_flight = Gauge("privee_http_requests_in_flight", "Requests being answered.", **mine)
        self.releases = Counter("privee_releases", "Requests answered with a release.", **mine)
        self.entities = Counter("privee_released_entities", "Entities in those releases.", **mine)
        self.charged = Counter("privee_charged_entities", "Entities that were charged for them.", **mine)
        self.request_entities = Histogram(
            "privee_request_entities", "Entities in one request.", buckets=ENTITIES, **mine
        )
        self.refusals = Counter("privee_refusals", "Requests refused.", ["reason"], **mine)
        self.party_errors = Counter("privee_party_errors", "Failed calls to a party.", ["party", "kind"], **mine)
        self.party_up = Gauge("privee_party_up", "1 if the party answered its last health check.", ["party"], **mine)
        self.ledger_up = Gauge("privee_ledger_up", "1 if the ledger could be read.", **mine)
