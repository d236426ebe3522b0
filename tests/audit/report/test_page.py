"""The report: complete, self-contained, the same every time, and fit to be seen in a real browser."""

import dataclasses
import hashlib
import html
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import privee
from privee.audit.report import render_report, write_report
from privee.audit.report.number_format import NO_BREAK
from privee.audit.report.page import attack_table
from privee.audit.report.tradeoff import tradeoff_chart
from tests._support.made_audits import make_audit
from tests._support.odd_audits import hostile, rebuilt


def text_of(page: str) -> str:
    """What a reader sees, on one line."""
    words = re.sub(
        r"<(style|title).*?</\1>|<wbr>|<[^>]+>", lambda tag: "" if tag[0] == "<wbr>" else " ", page, flags=re.S
    )
    return " ".join(html.unescape(words).replace(NO_BREAK, " ").split())


def test_every_scorecard_is_there_with_its_verdict(audit, page):
    cards = [text_of(card) for card in re.findall(r"<article.*?</article>", page, flags=re.S)]
    assert len(cards) == len(audit.cards) == 19
    for card, shown in zip(audit.cards, cards, strict=True):
        for needed in (card.defense, card.grade, card.verdict, card.guarantee, *card.failed, *card.skipped.values()):
            assert needed in shown
        assert bool(card.failed) == ("2 attacks failed They did worse than the column means:" in shown)
    assert "Best adaptive attack 0.0007 prior-informed 95 % interval 0.0006 to 0.0008" in cards[1]
    assert "Best naive attack 0.310 equation-solving 95 % interval 0.279 to 0.341" in cards[1]
    assert "Best guess without the release 0.0158 regression guess" in cards[1]
    assert "Guess-normalised error 0.044" in cards[1]
    assert "Attainable protection 5.2 %" in cards[1]
    assert "Ranking kept 100 % Class kept 100 % Accuracy 95.6 % Mean L1 moved 5.100" in cards[1]


def test_the_summary_says_it_in_words(page):
    shown = text_of(page)
    assert (
        "The attacker holds 48 of 64 columns (adversary fraction 75 %) and is after the other 16 (unknown share 25 %)"
        in shown
    )
    assert "200 records were attacked" in shown
    assert (
        "recovers > 99.9 % with none , > 99.9 % with temperature:temperature=2.0 , 95.9 % with privee-u:rho=0.3"
        in shown
    )
    assert "Best defense: label-only . Worst: temperature:temperature=2.0 ." in shown


def test_the_table_tells_failed_and_skipped_attacks(audit, page):
    shown = text_of(page)
    assert "failed: worse than the column means" in shown
    assert "skipped: needs 2 queries of each record, there is 1" in shown
    assert shown.count("repeated-query:inner=prior-informed skipped") == len(audit.cards)


def test_the_table_says_for_how_many_seeds_an_attack_failed():
    audit = make_audit(subjects=1)
    mixed = tuple(
        dataclasses.replace(f, feature_mse=0.02, status="ok", reason="") if f.status == "failed" and f.seed else f
        for f in audit.findings
    )
    block = attack_table(rebuilt(audit, findings=mixed), audit.subjects[0].name, audit.cards)[1]
    assert block.card.defense == "privee-u:rho=0.1"
    cell = block.rows[0].naive
    assert cell.note == "failed for 1 of 3 seeds: worse than the column means"
    assert cell.feature_mse == pytest.approx((0.31 + 1e-5 + 0.02 + 0.02) / 3)
    assert [row.adaptive.best for row in block.rows] == [False, False, False, False, True, False]


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(page):
    assert set(re.findall(r"https?://[^\"' )]*", page)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }
    assert not re.search(
        r"<(script|link|iframe|object|embed|base|form)\b|@import|@font-face|javascript:", page, flags=re.I
    )
    assert not re.search(r"<[^>]*\son[a-z]+\s*=", page)
    assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'src="([^"]*)"', page))
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'href="#([^"]*)"', page)) | set(re.findall(r"url\(#([^)]*)\)", page))
    assert targets - set(ids) == set()


def test_what_others_wrote_is_escaped():
    page = render_report(hostile())
    assert "<script" not in page.lower()
    assert "&lt;script&gt;alert" in page
    assert 'alert("x")' not in re.sub(
        r">[^<]*<", "><", page
    )  # not inside a tag either, where a quote would end a value


def test_same_audit_same_bytes_in_any_process(page):
    program = (
        "import hashlib, sys; from tests._support.made_audits import make_audit;"
        "from privee.audit.report import render_report;"
        "page = render_report(make_audit(subjects=3)); assert 'matplotlib.pyplot' not in sys.modules;"
        "print(hashlib.sha256(page.encode()).hexdigest())"
    )
    root = Path(__file__).parents[3]
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program],
        cwd=root,
        check=False,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == hashlib.sha256(page.encode()).hexdigest()


def test_matplotlib_is_left_as_it_was(audit):
    before = dict(mpl.rcParams)
    render_report(rebuilt(audit, subjects=audit.subjects[:1]))
    assert dict(mpl.rcParams) == before


def test_an_audit_without_curves_and_pictures():
    page = render_report(make_audit(pictures=False, curves=False))
    assert "Repeated queries" not in page
    assert "What the attacker sees" not in page
    assert "<img" not in page
    assert "Scorecards" in page


def test_a_single_seed_has_no_interval_and_what_could_not_be_measured_is_left_out():
    audit = make_audit(subjects=1, seeds=(5,))
    cards = tuple(
        dataclasses.replace(card, attainable_protection=None, accuracy=None, naive=None) for card in audit.cards
    )
    shown = text_of(render_report(rebuilt(audit, cards=cards)))
    assert "0.0007 prior-informed one seed, so no interval" in shown
    assert "95 % interval 0" not in shown
    assert "Attainable protection 5" not in shown
    assert "Best naive attack none could run" in shown


def test_an_audit_of_nothing_but_guesses():
    audit = make_audit(subjects=1)
    guesses = tuple(finding for finding in audit.findings if finding.attacker == "guess")
    shown = text_of(render_report(rebuilt(audit, cards=(), findings=guesses, handouts=())))
    assert "mean guess 0.0530" in shown


def test_an_existing_report_is_only_replaced_with_force(tmp_path):
    audit, path = make_audit(subjects=1, curves=False), tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(privee.PriveeError, match="exists already; use --force"):
        write_report(audit, path)
    assert path.read_text() == "mine"
    write_report(audit, path, force=True)
    assert path.read_text(encoding="utf-8") == render_report(audit)
    assert os.listdir(tmp_path) == ["report.html"]


def test_points_are_named_if_there_is_room_and_numbered_if_not(audit):
    tight, roomy = (
        tradeoff_chart([card for card in audit.cards if card.subject == info.name], "c", info.name)
        for info in audit.subjects[:2]
    )
    assert tight.numbered
    assert re.findall(r">(\d\d?)</text>", tight.svg)[-12:] == [str(k) for k in range(1, 13)]
    marks = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="[^"]*stroke: #ffffff', tight.svg)
    numbers = re.findall(r'font-weight: 700[^>]* x="([\d.]+)" y="([\d.]+)"', tight.svg)
    assert (len(marks), len(numbers)) == (12, 12)
    for x, y in np.array(numbers, dtype=float):  # the middle of the text's lower edge
        apart = np.abs(np.array(marks, dtype=float) - (x, y - 4))
        assert ((apart[:, 0] > 7) | (apart[:, 1] > 7)).all()
    assert not roomy.numbered
    assert all(f">{name}</text>" in roomy.svg for name in ("none", "privee-u:rho=0.1", "ranking-only", "label-only"))
