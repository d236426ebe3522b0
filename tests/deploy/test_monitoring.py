"""Dashboard and alerts use metrics, labels and routes that a running gateway has."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from privee.gateway.demo import make_world
from privee.gateway.http.middleware import Metrics
from tests._support.deployments import DEPLOY
from tests._support.local_gateway import Local

PLACE = DEPLOY / "monitoring"
DASHBOARD = json.loads((PLACE / "grafana-dashboard.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((PLACE / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
ALERTS = [rule["expr"] for rule in RULES]
OF_PROMETHEUS = {"instance", "job", "le"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory) -> Iterator[Local]:
    folder = tmp_path_factory.mktemp("world")
    make_world(folder, epochs=1)
    with Local(folder, tmp_path_factory.mktemp("place")) as found:
        yield found


@pytest.fixture(scope="module")
def exported(gateway) -> dict[str, set[str]]:
    """Every name that is really there to ask for, with its labels."""
    answer = httpx.get(gateway.url + "/metrics", headers={"Authorization": f"Bearer {gateway.key()}"})
    assert answer.status_code == 200
    endings = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]}
    labels = {one._name: set(one._labelnames) for one in Metrics().registry._collector_to_names}
    return {
        family.name + ending: labels[family.name]
        for family in text_string_to_metric_families(answer.text)
        if not family.name.endswith("_created")
        for ending in endings[family.type]
    }


def selected(query: str) -> list[tuple[str, dict[str, str]]]:
    """Each metric of a query with its labels; a route's own braces are within quotes."""
    found = re.findall(r'\b(privee_\w+)(?:\{((?:[^"{}]|"[^"]*")*)\})?', query)
    return [(name, dict(re.findall(r'(\w+)=~?"([^"]*)"', labels))) for name, labels in found]


@pytest.mark.parametrize("query", [*QUERIES, *ALERTS])
def test_a_query_asks_for_what_there_is(query, exported, gateway):
    used = selected(query)
    assert used or "up{" in query
    for name, labels in used:
        assert name in exported, name
        assert set(labels) <= exported[name] | OF_PROMETHEUS, (name, labels)
        for grouped in re.findall(r"by \(([^)]*)\)", query):
            assert {one.strip() for one in grouped.split(",")} <= exported[name] | OF_PROMETHEUS
        if "route" in labels:
            routes = httpx.get(gateway.url + "/openapi.json").json()["paths"]
            assert labels["route"] in routes


def test_every_metric_is_shown_somewhere(exported):
    shown = {name for query in [*QUERIES, *ALERTS] for name, _ in selected(query)}
    stems = {re.sub("_(bucket|count|sum)$", "", name) for name in exported if not name.startswith("python_")}
    assert stems == {re.sub("_(bucket|count|sum)$", "", name) for name in shown}


def test_a_metric_that_is_not_there_would_be_noticed(exported):
    ((name, labels),) = selected('sum(rate(privee_http_request_total{route="/x/{y}",status=~"5.."}[5m]))')
    assert name not in exported
    assert labels == {"route": "/x/{y}", "status": "5.."}


def test_reasons_in_alerts_are_those_of_the_gateway():
    page = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")
    known = set(re.search(r"privee_refusals_total` \| reason: ([\w, -]+)", page)[1].strip().split(", "))
    used = {labels["reason"] for query in ALERTS for _, labels in selected(query) if "reason" in labels}
    assert used == {"ledger", "variants", "unknown-entity"}
    assert used <= known


def test_panels_do_not_overlap():
    taken = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


@pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no promtool here")
@pytest.mark.parametrize("words", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")])
def test_promtool_takes_the_alerts(words):
    told = subprocess.run(["promtool", *words], cwd=PLACE, capture_output=True, text=True, check=False)  # noqa: S603, S607
    assert told.returncode == 0, told.stdout + told.stderr
