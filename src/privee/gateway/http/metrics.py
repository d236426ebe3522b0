"""Prometheus metrics, in base units. Labels are routes, outcomes and party names: nothing about entities."""

from __future__ import annotations

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from privee.gateway.service import Health

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ENTITIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)


class Metrics:
    """All that is measured, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.requests = counter("privee_http_requests", "HTTP requests.", ["route", "status"])
        self.request_seconds = histogram(
            "privee_http_request_duration_seconds", "Time to answer.", ["route"], buckets=SECONDS
        )
        self.in_flight = gauge("privee_http_requests_in_flight", "Requests being answered.")
        self.releases = counter("privee_releases", "Requests answered with a release.")
        self.entities = counter("privee_released_entities", "Entities in those releases.")
        self.charged = counter("privee_charged_entities", "Entities that were charged for them.")
        self.request_entities = histogram("privee_request_entities", "Entities in one request.", buckets=ENTITIES)
        self.refusals = counter("privee_refusals", "Requests refused.", ["reason"])
        self.party_errors = counter("privee_party_errors", "Failed calls to a party.", ["party", "kind"])
        self.party_up = gauge("privee_party_up", "1 if the party answers.", ["party"])
        self.party_seconds = gauge("privee_party_health_duration_seconds", "Time of its last check.", ["party"])
        self.ledger_up = gauge("privee_ledger_up", "1 if the ledger can be read.")

    def text(self, health: Health) -> bytes:
        """All of it as Prometheus reads it."""
        self.ledger_up.set(health.ledger)
        for name, party in health.parties.items():
            self.party_up.labels(name).set(party.reachable)
            self.party_seconds.labels(name).set(party.seconds)
        return generate_latest(self.registry)
