"""The report of an audit on the dashboard: read at the start, for auditors, and what it says of the defense in use."""

import io
import json
import os
import sys

import numpy as np
import pytest
from PIL import Image

from privee.audit import save_audit
from privee.cli import main
from privee.defenses import defense
from privee.errors import PriveeError
from privee.gateway.audit_report import MOST_BYTES, read_audit
from privee.gateway.demo import World
from tests._support.browser import PROBLEMS, real_browser
from tests._support.local_gateway import Local, text_of, visitor
from tests._support.made_audits import make_audit
from tests._support.odd_audits import hostile

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """A folder as `privee audit` leaves it."""
    folder = tmp_path_factory.mktemp("audit")
    save_audit(make_audit(subjects=2, curves=False), folder)
    return folder


def copy(audit, place, *names: str):
    place.mkdir(exist_ok=True)
    for name in names:
        (place / name).write_bytes((audit / name).read_bytes())
    return place


def test_the_report_its_date_and_its_verdict_on_the_defense_in_use(folder, tmp_path, audit):
    with Local(folder, tmp_path, audit=audit) as local, visitor(local.url, local.key()) as client:
        shown = text_of(client.get("/ui").text)
        assert "Audit Report of the audit of 2025-03-14" in shown
        cards = [card for card in make_audit().cards if card.defense == "privee-u:rho=0.1"]
        assert len(cards) == 2
        for card in cards:
            assert f"{card.grade} {card.subject}. {card.verdict}" in shown
        report = client.get("/ui/audit")
        assert report.content == (audit / "report.html").read_bytes()
        assert report.headers["content-type"] == "text/html; charset=utf-8"
        assert report.headers["content-security-policy"] == POLICY
        assert report.headers["x-frame-options"] == "DENY"
        (audit / "report.html").write_bytes(report.content + b"<!-- changed -->")  # read once, at the start
        try:
            assert client.get("/ui/audit").content == report.content
        finally:
            (audit / "report.html").write_bytes(report.content)
    assert report.text not in repr(local.service.audit)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ordered-dp:epsilon=1", "Not audited: the defense in use, ordered-dp:epsilon=1 , is not in this audit"),
        ("privee-u:rho=0.11", "Not audited: the defense in use, privee-u:rho=0.11 , is not in this audit"),
        ("temperature:temperature=2", "open digits, logistic. Verdict on temperature:temperature=2.0"),  # as 2.0
    ],
)
def test_a_defense_counts_as_audited_with_the_same_settings_alone(folder, tmp_path, audit, spec, words):
    with (
        Local(folder, tmp_path, audit=audit, defense=defense(spec)) as local,
        visitor(local.url, local.key()) as client,
    ):
        assert words in text_of(client.get("/ui").text)


def test_without_audit_json_or_without_an_audit_the_page_says_so(folder, tmp_path, audit, local):
    alone = copy(audit, tmp_path / "alone", "report.html")
    (tmp_path / "other").mkdir()
    with (
        Local(folder, tmp_path / "other", audit=alone / "report.html") as other,
        visitor(other.url, other.key()) as client,
    ):
        shown = text_of(client.get("/ui").text)
        assert "Report of the audit of 2025-03-14 There is no audit.json beside it" in shown
    with visitor(local.url, local.key()) as client:
        assert "None was given to this gateway. privee gateway serve --audit FOLDER" in text_of(client.get("/ui").text)
        answer = client.get("/ui/audit")
        assert answer.status_code == 404
        assert "No audit was given to this gateway" in text_of(answer.text)


def test_more_fields_and_odd_cards_do_no_harm(audit, tmp_path):
    place = copy(audit, tmp_path / "a", "report.html", "audit.json")
    found = json.loads((place / "audit.json").read_text())
    card = {"subject": "s", "defense": "none", "grade": "new", "verdict": "v", "more": [1, {"x": 2}]}
    odd = [None, 7, [], {}, card | {"grade": None}, card | {"verdict": 3}, {"defense": "none"}]
    (place / "audit.json").write_text(json.dumps({"cards": [*odd, card], "utility": {}, "about": 3}))
    read = read_audit(place)
    assert read.verdicts == (("s", "none", "new", "v"),)
    assert read.verdicts_on("none") == read.verdicts
    assert read.verdicts_on("privee-u:rho=0.1") == ()
    assert len(found["cards"]) == len(read_audit(audit).verdicts)


def test_what_others_wrote_into_an_audit_is_escaped(folder, tmp_path):
    save_audit(hostile(), tmp_path / "audit")
    with (
        Local(folder, tmp_path, audit=tmp_path / "audit") as local,
        visitor(local.url, local.key()) as client,
    ):
        page = client.get("/ui").text
    assert "alert" in page
    assert "<script" not in page


TITLE = "<title>Privacy audit: x</title>"
REPORTS = {
    "page": (b"<!DOCTYPE html><title>Holiday pictures</title>", "is no report of privee audit"),
    "binary": (b"\xff\xfe" + TITLE.encode(), "it is not text"),
    "late": (b"x" * 5000 + TITLE.encode(), "is no report of privee audit"),
    "large": (bytes(MOST_BYTES + 1), "has more than 32 MiB"),
}
RESULTS = {
    "broken": ("{", "not readable JSON"),
    "nested": ("[" * 100_000, "not readable JSON"),
    "empty": ("{}", "it has no cards"),
    "list": ("[]", "it has no cards"),
}


def wrong(place, name: str):
    """Something that is no audit, and what is said about it."""
    file = place / "report.html"
    if name in REPORTS:
        content, words = REPORTS[name]
        file.write_bytes(content)
        return place, words
    if name in RESULTS:
        content, words = RESULTS[name]
        file.write_text(TITLE)
        (place / "audit.json").write_text(content)
        return place, words
    if name == "fifo":  # reading it would take for ever
        os.mkfifo(file)
    return (file if name == "fifo" else place), "there is no audit report at"


@pytest.mark.parametrize("name", ["missing", "fifo", *REPORTS, *RESULTS])
def test_what_is_no_report_is_refused_with_one_line(tmp_path, name):
    place, words = wrong(tmp_path, name)
    with pytest.raises(PriveeError, match=words) as refused:
        read_audit(place)
    assert "\n" not in str(refused.value)


def test_the_command_refuses_it_at_the_start(folder, tmp_path, capsys, monkeypatch):
    place, words = wrong(tmp_path, "page")
    parties = ["--party", "active=127.0.0.1:1", "--party", "passive-1=127.0.0.1:2"]
    ledger = ["--ledger", World(folder).ledger_url, "--ledger-key", str(World(folder).ledger_key)]
    given = ["gateway", "serve", str(World(folder).run), "-d", "none", *parties, *ledger, "--audit", str(place)]
    monkeypatch.setattr(sys, "argv", ["privee", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    err = capsys.readouterr().err
    assert (ended.value.code, err.count("\n"), words in err) == (2, 1, True)


def pixels(picture):
    """Not the bytes of the file: where an edge falls between two pixels, Chromium's shade of it varies by a little."""
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), dtype=np.int16)


def test_the_report_looks_as_it_does_from_the_disk(folder, tmp_path, audit):
    with (
        Local(folder, tmp_path, audit=audit) as local,
        real_browser() as browser,
        visitor(local.url, local.key()) as client,
    ):
        context = browser.new_context(viewport={"width": 1000, "height": 900})
        token = client.cookies["privee_session"]
        context.add_cookies([{"name": "privee_session", "value": token, "url": f"{local.url}/ui"}])
        page, complaints, seen = context.new_page(), [], []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("requestfailed", lambda request: complaints.append(request.url[:80]))
        pictures = []
        for address in ((audit / "report.html").as_uri(), f"{local.url}/ui/audit"):
            page.goto(address, wait_until="load")
            seen.append((page.title(), page.inner_text("body"), page.evaluate(PROBLEMS)))
            pictures.append(pixels(page.screenshot()))
        assert seen[0] == seen[1]
        assert np.ptp(pictures, axis=0).max() < 16
        page.click("text=At a glance")
        assert page.url.endswith("/ui/audit#glance")
        assert complaints == []
        context.close()
