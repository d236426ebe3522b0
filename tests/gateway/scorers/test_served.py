"""The gateway in front of a model that stands alone: releases, ledger, keys, pages and metrics as for joint models."""

import sqlite3
import sys

import httpx
import numpy as np
import pytest

from privee.client import Client, GatewayUnavailable, PartyFailed, Refused, UnknownEntity, VariantsReached
from privee.client.errors import GatewayError
from privee.errors import PriveeError, SettingError
from tests._support.local_gateway import text_of, visitor
from tests._support.scorer_models import FUNCTION


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module with functions of one's own."""
    (tmp_path / "mine.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)


def client_of(gateway, **more):
    return Client(gateway.url, gateway.key("consumer"), retries=0, **more)


def test_releases_of_rows_in_a_table(serve, people, fitted, skops_file):
    gateway = serve(skops_file, releases=3)
    expected = fitted.predict_proba(people.x)
    with client_of(gateway) as client:
        answer = client.infer(["p007", "p000", "p007"])
        assert np.allclose(answer, expected[[7, 0, 7]], atol=1e-12)  # `none` releases the scores
        about = client.model()
        assert (about["name"], len(about["versions"][0])) == ("model", 16)
        assert about["parameters"]["scorer"] == "a scikit-learn model; rows from the gateway's own table"
        assert about["parameters"]["classes"] == '["0", "1", "2"]'
        assert client.ready()
    assert gateway.service.ledger.spent("p007").lifetime_releases == 2
    assert gateway.service.ledger.spent("p000").variants == 1


def test_the_defense_and_the_ledger_stand_in_between(serve, people, fitted, skops_file):
    gateway = serve(
        skops_file, defense="ordered-dp:epsilon=0.5", epsilon=1.0, releases=None, classes=("lo", "mid", "hi")
    )
    scores, some = fitted.predict_proba(people.x[:20]), people.ids[:20]
    with client_of(gateway) as client:
        client.model()
        first, second = client.infer(some), client.infer(some)
        assert (first.classes, first.remaining, second.remaining) == (("lo", "mid", "hi"), 1, 0)
        assert not np.array_equal(first, second)
        assert np.array_equal(np.argsort(-first), np.argsort(-scores))
        with pytest.raises(Refused):
            client.infer("p000")
        with pytest.raises(Refused):
            client.infer(["p030", "p000"])
        assert client.infer("p030").remaining == 1


def test_nobody_knows_a_stranger(serve, skops_file):
    gateway = serve(skops_file)
    with client_of(gateway) as client:
        with pytest.raises(UnknownEntity, match="there is no row of 2 of the entities") as caught:
            client.infer(["p001", "nobody", "p002", "P001"])
        assert caught.value.positions == (1, 3)
        assert gateway.service.ledger.totals().charged == 0
        with pytest.raises(GatewayError, match="rows come from the gateway's own table"):
            client.infer("p001", columns=[0.0, 1.0, 2.0, 3.0])


def test_rows_that_come_with_the_request(serve, people, fitted, skops_file):
    gateway = serve(skops_file, rows=None, releases=9)
    with client_of(gateway) as client:
        answer = client.infer(["anna", "ben"], columns=people.x[[3, 4]])
        assert np.allclose(answer, fitted.predict_proba(people.x[[3, 4]]), atol=1e-6)  # columns travel as float32
        assert np.allclose(client.infer("anna", columns=people.x[3]), answer[0])
        with pytest.raises(VariantsReached, match="more variants of columns than allowed"):
            client.infer("anna", columns=people.x[5])
        for columns, words in ((None, "rows come with requests here"), ([1.0, 2.0], "columns must have 4 features")):
            with pytest.raises(GatewayError, match=words):
                client.infer("carl", columns=columns)
        assert gateway.service.ledger.spent("carl").lifetime_releases == 0


def test_a_changed_row_is_another_variant(serve, people, tmp_path, mine):
    """Rows of a database may change; the question is then another, as it is with an active party's columns."""
    file = tmp_path / "people.db"
    with sqlite3.connect(file) as database:
        database.execute(
            "CREATE TABLE held (person TEXT PRIMARY KEY, age REAL, income REAL, debt NUMERIC, years INTEGER)"
        )
        database.executemany("INSERT INTO held VALUES (?, ?, ?, ?, ?)", [(one, *row) for one, row in people])
    where = {"rows": f"sqlite:///{file}", "table": "held", "id_column": "person"}
    gateway = serve("mine:scores", releases=9, **where)
    with client_of(gateway) as client:
        first = client.infer(["p001", "p002"])
        assert np.allclose(first[:, 1], 1 / (1 + np.exp(-people.x[[1, 2], 0])))
        with sqlite3.connect(file) as database:
            database.execute("UPDATE held SET income = income + 1 WHERE person = 'p001'")
        with pytest.raises(VariantsReached):
            client.infer("p001")
        assert client.infer("p002") is not None
        with pytest.raises(UnknownEntity):
            client.infer("nobody")
        with sqlite3.connect(file) as database:
            database.execute("DROP TABLE held")
        with pytest.raises(PartyFailed, match="has no rows now") as caught:
            client.infer("p002")
        assert (caught.value.status, caught.value.code) == (503, "scorer-unreachable")


def test_a_row_that_cannot_be_scored_is_counted_and_tells_no_more(serve, people, mine, capfd):
    """Otherwise a failure would be an answer for nothing: whether a column is above or below some value."""
    gateway = serve("mine:moody", columns=("age",), releases=2)
    old, young = people.ids[people.x[:, 0].argmax()], people.ids[people.x[:, 0].argmin()]
    kept = people.ids[np.abs(people.x[:, 0]).argmin()]
    with client_of(gateway) as client:
        for entity in (old, young):
            for _ in range(2):
                with pytest.raises(GatewayUnavailable, match="the model made no scores of these rows") as caught:
                    client.infer(entity)
                assert (caught.value.status, caught.value.code, caught.value.maybe_counted) == (
                    502,
                    "scorer-refused",
                    True,
                )
            with pytest.raises(Refused):
                client.infer(entity)
            assert gateway.service.ledger.spent(entity).lifetime_releases == 2
        assert client.infer(kept).remaining == 1
    assert "too old" not in capfd.readouterr().err


def test_a_late_model_is_told_in_time(serve, people, mine):
    gateway = serve("mine:slow", deadline=0.4)
    with client_of(gateway) as client:
        assert client.infer("p001") is not None
        with pytest.raises(PartyFailed, match=r"the model did not answer within 0.4 s") as caught:
            client.infer(["p001", "p002"])
        assert (caught.value.status, caught.value.code) == (504, "scorer-deadline")
        assert gateway.service.ledger.spent("p002").lifetime_releases == 0


@pytest.mark.parametrize("repeatable", [False, True])
def test_the_same_again(serve, people, skops_file, repeatable):
    """With repeatable draws the same question, alone or in company, has the same answer, and is not charged again."""
    given = {"rows": None} if repeatable else {}
    gateway = serve(skops_file, defense="privee-u:rho=0.1", repeatable=repeatable, releases=40, **given)
    columns = (lambda places: {"columns": people.x[places]}) if repeatable else (lambda places: {})
    with client_of(gateway) as client:
        alone = [client.infer([people.ids[place]], **columns([place])) for place in range(40)]
        crowd = client.infer(people.ids[:40], **columns(list(range(40))))
        same = [np.array_equal(one[0], other) for one, other in zip(alone, crowd, strict=True)]
        assert same == [repeatable] * 40
        assert crowd.charged == (0 if repeatable else 40)


def test_pages_and_metrics(serve, people, skops_file):
    gateway = serve(skops_file, releases=2)
    with client_of(gateway) as client:
        client.infer(["p001", "p002"])
    with visitor(gateway.url, gateway.key()) as auditor:
        shown = text_of(auditor.get("/ui").text)
        assert "the ledger can be read, and the model answers." in shown
        assert "a scikit-learn model; rows from the gateway's own table" in shown
        assert "The columns of an entity's row, from whoever asks with a key." in shown
        assert "1 variant of its row, ever" in shown
        assert "Records 60" in shown
        assert "Weights match this model" in shown
        for word in ("party", "parties", "joint"):
            assert word not in shown.lower()
        for page in ("/docs", "/ui/export/entities.csv"):
            assert auditor.get(page).status_code == 200
    metrics = httpx.get(f"{gateway.url}/metrics", headers={"authorization": f"Bearer {gateway.key()}"}).text
    assert 'privee_party_up{party="model"} 1.0' in metrics
    assert "privee_charged_entities_total 2.0" in metrics


def test_what_is_said_of_rows_from_requests(serve, skops_file):
    gateway = serve(skops_file, rows=None)
    with visitor(gateway.url, gateway.key()) as auditor:
        shown = text_of(auditor.get("/ui").text)
    assert "a release hides nothing of a row from its sender" in shown
    assert "rows as whoever asks sends them" in shown


def test_what_does_not_fit_is_told_before_anybody_listens(serve, people, skops_file, mine):
    wrong = [
        ({"columns": ("age", "income")}, "the model takes 4 columns, and the table has 2 beside its id"),
        ({"columns": ("age", "incom", "debt", "years")}, "has no column 'incom'; did you mean 'income'"),
        ({"classes": ("a", "b")}, "--classes names 2; the model has 3"),
        ({"classes": ("a", "a", "b")}, "name each class once"),
        ({"id_column": "nobody"}, "has no column 'nobody'"),
        ({"table": "t"}, "--table is for a database"),
        ({"features": 4}, "--features is for rows that come with requests"),
        ({"parties": {"bank": "127.0.0.1:1"}}, "one that stands alone has no parties"),
    ]
    for place, (given, words) in enumerate(wrong):
        with pytest.raises((SettingError, PriveeError), match=words):
            serve(skops_file, place=f"wrong{place}", **given)
    for place, (given, rows, words) in enumerate(
        [
            ("mine:scores", None, "how many numbers are in a row"),
            ("mine:nonsense", "people", "has no function"),
        ]
    ):
        with pytest.raises(SettingError, match=words):
            serve(given, rows=rows, place=f"more{place}")
