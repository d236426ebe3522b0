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
from privee.audit.report.attack_table import attack_table
from privee.audit.report.number_format import NO_BREAK
from privee.audit.report.tradeoff import tradeoff_chart
from tests._support.made_audits import make_audit, make_loans
from tests._support.odd_audits import NASTY, hostile, only, rebuilt, wide, without_columns


def text_of(page: str) -> str:
    """What a reader sees, on one line."""
    words = re.sub(
        r"<(style|title).*?</\1>|<wbr>|<[^>]+>", lambda tag: "" if tag[0] == "<wbr>" else " ", page, flags=re.S
    )
    return " ".join(html.unescape(words).replace(NO_BREAK, " ").split())


def openings(page: str) -> list[str]:
    """The first screen of each model, in words."""
    return [text_of(part) for part in re.findall(r'<section class="opening".*?</section>', page, flags=re.S)]


def test_every_scorecard_is_there_with_its_verdict(audit, page):
    cards = [text_of(card) for card in re.findall(r"<article.*?</article>", page, flags=re.S)]
    assert len(cards) == len(audit.cards) == 28
    for card, shown in zip(audit.cards, cards, strict=True):
        for needed in (card.defense, card.grade, card.verdict, card.guarantee):
            assert needed in shown
        if card.worst:
            assert f"Worst column: {card.worst.name} of {card.worst.party}" in shown
    assert "Best adaptive attack 0.0007 prior-informed 95 % interval 0.0006 to 0.0008" in cards[1]
    assert "Best naive attack 0.310 equation-solving 95 % interval 0.279 to 0.341" in cards[1]
    assert "Best guess without the release 0.0158 regression guess" in cards[1]
    assert "Accuracy 95.6 % Class kept 100 % Ranking kept 100 % Mean L1 moved 5.100" in cards[1]
    assert "Mean over columns 0.044 " in cards[1]
    rounded = next(shown for shown in cards[16:] if shown.startswith("8 rounding:digits=3"))
    assert "▲ weak" in rounded
    assert "Mean over columns 0.580, which hides this" in rounded


def test_the_first_screen_says_what_is_told_of_whom_to_whom_and_how_well(page):
    digits, colour, loans = openings(page)
    for words in (
        "The scores as they are give away 1 of 14 private columns and much of 3 more",
        "What previous outcome of telco (sensitive) ■ open ; balance of registry (sensitive) ▲ weak ;",
        "; and 5 more. 1 column may be told as well: too few records to tell it from chance.",
        "Of everyone who is asked about; 1,000 people were looked at.",
        "Of 62 % of them at least one private column becomes known about which a guess is far off; luck alone gives",
        "To whom bank , which asks and holds 5 columns of its own.",
        "Even to someone with no columns of their own: the release alone tells previous outcome of telco .",
        "Of what a guess leaves open about previous outcome of telco , 5 % stays hidden.",
        "Shown one person of whom it is “unknown” and one of whom it is not, bank points at the right one 98 times in",
        "Recommended: release rounding:digits=2 ◆ partial",
        "Worst column then: previous outcome of telco , of which 79.6 % stays hidden: something is still told.",
        "Price: AUC 0.86 → 0.85 , accuracy 0.89 → 0.89 .",
        "own columns give AUC 0.69 , accuracy 0.89 ; always naming the most frequent class, accuracy 0.88 .",
        "for an asker who asks once about a person, with that person's true columns. Questions with made-up columns",
        "gaussian:epsilon=0.5 destroys the task: AUC 0.86 → 0.56",
    ):
        assert words in loans
    assert "16 private columns" in digits
    assert "Recommended: release label-only ● guarded No private column was told more than a little" in digits
    assert "Columns were not looked at one by one" in colour
    assert "Recommended" not in colour


def test_what_destroys_the_task_is_not_praised(page):
    for shown in openings(page):
        assert "release gaussian" not in shown
    assert "Best defense" not in page
    cards = re.findall(r'<article class="card (\w+)">(.*?)</article>', page, flags=re.S)
    lost = [grade for grade, card in cards if "Destroys the task" in card]
    assert lost == ["other"] * 6


def test_nothing_acceptable_is_said_plainly():
    audit = only(make_loans(seeds=(0,)), "none", "gaussian:epsilon=0.5", "label-only")
    (shown,) = openings(render_report(audit))
    assert "No release tried protects previous outcome and keeps the task" in shown
    assert "Either this exposure is accepted, or bank is not given the scores." in shown
    assert "What they are worth: AUC 0.86 , accuracy 0.89 ." in shown
    assert "Recommended" not in shown


def test_scores_that_tell_nothing_may_go_out_as_they_are():
    audit = make_loans(seeds=(0,))
    columns = tuple(dataclasses.replace(c, grade="guarded", remaining=1.0) for c in audit.cards[0].columns)
    quiet = dataclasses.replace(audit.cards[0], grade="guarded", columns=columns)
    (shown,) = openings(render_report(rebuilt(audit, cards=(quiet, *audit.cards[1:]))))
    assert "tell little or nothing about the 14 private columns" in shown
    assert "The scores may be released as they are ● guarded" in shown
    assert "No private column beyond what a guess knows." in shown
    assert "no columns of their own" not in shown


def test_a_release_that_is_no_better_than_ones_own_columns_gains_nothing():
    audit = only(make_loans(seeds=(0,)), "none", "rounding:digits=2")
    info = audit.subjects[0]
    strong = dataclasses.replace(info, own_columns=dataclasses.replace(info.own_columns, auc=0.86))
    assert "So nothing is gained by asking." in openings(render_report(rebuilt(audit, subjects=(strong,))))[0]
    assert "So nothing is gained by asking." not in render_report(audit)


def test_without_the_scores_the_worst_release_is_spoken_of():
    (shown,) = openings(render_report(only(make_loans(seeds=(0,)), "top-k", "rounding:digits=2")))
    assert "Released by top-k , the scores tell much about 3 of 14 private columns" in shown
    assert "hollow: top-k ; filled: rounding:digits=2" in shown


def test_every_column_of_every_release_has_its_figures(audit, page):
    tables = re.findall(r'<table class="exposures">(.*?)</table>', page, flags=re.S)
    assert sorted(table.count("<tr>") - 1 for table in tables) == [14] * 12 + [16] * 12
    row = next(
        text_of(row)
        for table in tables
        for row in re.findall(r"<tr>.*?</tr>", table, flags=re.S)
        if "previous outcome" in row and "0.050" in row
    )
    assert row == (
        "★ previous outcome telco, category ■ open 0.050 0.00 to 0.11 learned-inversion adaptive, by question "
        "is it “unknown”? 0.982 0.95 to 1.00 guess 0.640 alone 0.83 0.0040 guess 0.0800 - 86 % guess 17 % all 10 % "
        "92.8 % guess 13 % hidden 0.03 69 % guess 12 % < 0.001"
    )
    assert "0.400 too few records to tell from chance" in text_of(page)
    assert "none 62 % 2 % 0.04 83 % 22 % 1,000 learned-inversion" in text_of(page)
    assert "a number to within 5 % of its range, a category or a yes/no with 90 % certainty" in text_of(page)


def test_the_utility_table_stands_beside_own_columns_and_the_majority(page):
    shown = text_of(page)
    assert "none 0.892 0.661 0.474 0.861 0.521 0.081 0.012 100 % 100 % 0.900" in shown
    assert "bank's own columns alone 0.885 0.661 0.210 0.689 0.270 0.081 0.012" in shown
    assert "Always the most frequent class 0.883 0.500 0.000 0.500 0.117 0.103 0.000" in shown


def test_scope_names_who_attacks_with_what_and_what_is_not_covered(page):
    shown = text_of(page)
    assert "bank , the party that asks and gets the releases. Parties: bank, telco, registry." in shown
    assert "5 columns of its own: income , rent , account age , cards , region" in shown
    assert "40 rows of other people known in full (400 for attacks on single columns)" in shown
    assert "Once about each person" in shown
    for words in ("Chosen questions.", "More queries than those tried.", "The coordinator", "Training"):
        assert words in shown
    assert f"Data {'0a1b' * 16} Model {'c2d3' * 16}" in shown


def test_signatures_have_a_line_for_each_party(page):
    block = text_of(page[page.index('<section id="sign"') : page.index('<section id="appendix"')])
    assert block.endswith("Party Name Role Date Signature active passive bank telco registry")


def test_the_appendix_comes_last_and_holds_what_few_ask_for(audit, page):
    body, appendix = page.split('<section id="appendix"')
    shown = text_of(appendix)
    assert "Attainable protection</h3>" in appendix
    assert "privee-u:rho=0.1 5.2 %" in shown
    assert "failed: worse than the column means" in shown
    assert "skipped: needs 2 queries of each record, there is 1" in shown
    assert shown.count("repeated-query:inner=prior-informed skipped") == len(audit.cards)
    for words in ("attainable protection", "failed: worse", "needs 2 queries", "grna-paper"):
        assert words not in text_of(body.split('<section id="run"')[0]).lower()


def test_changes_since_the_last_audit_are_told():
    now = only(make_loans(seeds=(0,)), "none", "top-k", "label-only")
    info = now.subjects[0]
    cards = tuple(
        dataclasses.replace(
            card, columns=tuple(dataclasses.replace(c, grade="guarded") if c.name == "age" else c for c in card.columns)
        )
        for card in now.cards[:2]
    )
    before = rebuilt(now, about={"date": "2025-01-01", "privee": "0.3.0", "grid": {"records": 100}}, cards=cards)
    page = render_report(now, before)
    shown = text_of(page)
    assert "since the last audit: 2 grades worse, 0 better" in openings(page)[0]
    assert "Compared with the audit of 2025-01-01 (version 0.3.0)." in shown
    assert "Records: 100 → 200" in shown
    assert "none age of registry once ● guarded ◆ partial worse" in shown
    assert "Releases tried for the first time: label-only ." in shown
    assert "The same data and the same model" in shown
    other = rebuilt(before, subjects=(dataclasses.replace(info, fingerprints={"data": "x", "model": "y"}),))
    shown = text_of(render_report(now, other))
    assert "since the last audit: other data and other model" in shown
    assert "Other data and other model than last time: not comparable line by line." in shown
    assert "Since the last audit" not in render_report(now)
    assert "No model is in both" in text_of(render_report(now, make_audit(subjects=1)))
    assert "did not look at columns one by one" in render_report(
        now, rebuilt(now, cards=tuple(dataclasses.replace(card, columns=()) for card in now.cards))
    )


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
    audit = hostile()
    page = render_report(audit, before=rebuilt(audit, cards=audit.cards[1:], about={"date": NASTY, "privee": NASTY}))
    assert "<script" not in page.lower()
    assert "&lt;script&gt;alert" in page
    assert 'alert("x")' not in re.sub(
        r">[^<]*<", "><", page
    )  # not inside a tag either, where a quote would end a value


@pytest.mark.slow
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
    assert "Attainable protection On average" not in shown
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


@pytest.mark.parametrize("make", [wide, without_columns])
def test_odd_audits_have_a_page(make):
    page = render_report(make())
    assert "Signatures" in page
    assert not re.search(r"[\x00\x07\u202e]", page)
    assert page.count('<table class="exposures">') == (3 if make is wide else 0)


def test_the_tradeoff_is_between_the_worst_column_and_the_task(audit):
    by_subject = [[card for card in audit.cards if card.subject == info.name] for info in audit.subjects]
    digits, colour, loans = (
        tradeoff_chart(info, cards, "c") for info, cards in zip(audit.subjects, by_subject, strict=True)
    )
    assert [chart.by_auc for chart in (digits, colour, loans)] == [False, False, True]
    rounding = next(point for point in loans.points if point.defense == "rounding:digits=2")
    assert (rounding.lost, rounding.left) == (pytest.approx(0.009), by_subject[2][6].worst.remaining)
    assert "AUC lost" in loans.svg
    assert "destroyed" in loans.svg
    assert "destroyed" not in digits.svg
    assert colour.points[1].left == pytest.approx(0.044)
    assert "on average over columns" in colour.svg


def test_points_are_named_if_there_is_room_and_numbered_if_not(audit):
    tight, roomy = (
        tradeoff_chart(info, [card for card in audit.cards if card.subject == info.name], "c")
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
