"""Audits that ask again with chosen columns: a second grade beside the first, never mixed with it."""

import dataclasses
import itertools
import json
import re

import pytest

from privee.attacks import ChosenColumns
from privee.audit import Grid, run_grid, save_audit, subject_from_arrays
from privee.audit.api import attack_once
from privee.audit.loading import load_audit
from privee.audit.report import render_report
from privee.defenses import NoDefense
from privee.errors import PriveeError
from tests._support.own_models import PASSIVE, columns, numpy_model

DEFENSES = ("none", "ordered-dp:epsilon=1", "ranking-only", "label-only", "gaussian:epsilon=0.1")


@pytest.fixture(scope="module")
def subject():
    return subject_from_arrays(numpy_model, *columns(500))


@pytest.fixture(scope="module")
def asked(subject):
    grid = Grid(defenses=DEFENSES, attacks=("equation-solving",), seeds=(0,), questions=(1, 4), curves=False)
    return run_grid([subject], grid, jobs=1)


def test_an_exact_ranking_is_told_by_four_chosen_questions(asked):
    again = {card.defense: card.most_asked for card in asked.cards}
    for spec in ("none", "ordered-dp:epsilon=1", "ranking-only"):
        assert again[spec].grade == "open", spec
        assert again[spec].guess_normalised < 0.5  # five own columns in [0, 1] do not reach every question
        assert "4 times" in again[spec].verdict
    assert again["ranking-only"].guess_normalised < again["label-only"].guess_normalised < 1
    assert (again["gaussian:epsilon=0.1"].grade, again["gaussian:epsilon=0.1"].worst.told) == ("guarded", False)


def test_each_count_has_its_grade_and_the_curve_falls(asked):
    for card in asked.cards:
        assert [one.questions for one in card.asked_again] == [1, 4]
        assert [len(one.after) for one in card.asked_again] == [2, 5]
        assert card.most_asked.after[0] == pytest.approx(1, abs=0.2)  # the guess, before any question
        assert len(card.most_asked.columns) == PASSIVE
        assert card.most_asked.records == 60
    ranking = asked.card("ranking-only").most_asked.after
    assert all(later < earlier for earlier, later in itertools.pairwise(ranking))


def test_the_grade_of_who_asks_honestly_knows_nothing_of_the_others(subject, asked):
    grid = Grid(defenses=DEFENSES, attacks=("equation-solving",), seeds=(0,), curves=False)
    alone = run_grid([subject], grid, jobs=1)
    for card, same in zip(asked.cards, alone.cards, strict=True):
        assert dataclasses.replace(card, asked_again=()) == same
        assert same.most_asked is None


def test_it_is_played_unless_attacks_are_named():
    assert Grid(defenses=("none",)).questions == (1, 5)
    assert Grid(defenses=("none",)).asking == ("chosen-columns:questions=1", "chosen-columns:questions=5")
    assert Grid(defenses=("none",), attacks=("equation-solving",)).asking == ()
    assert Grid(defenses=("none",), questions=()).asking == ()
    named = Grid(defenses=("none",), attacks=("chosen-columns:questions=3,allowed=rows",))
    assert named.asking == ("chosen-columns:questions=3,allowed=rows",)
    with pytest.raises(PriveeError, match="questions must be 1 or more"):
        Grid(defenses=("none",), questions=(0, 2))


def test_it_comes_back_from_its_file_and_is_in_the_report(asked, tmp_path):
    files = save_audit(asked, tmp_path)
    assert load_audit(tmp_path).cards == asked.cards
    told = json.loads(files["json"].read_text())["cards"][2]["asked_again"]
    assert [(one["questions"], one["grade"]) for one in told][-1] == (4, "open")
    page = files["report"].read_text()
    assert page.count('id="subject-1-asked"') == 1
    assert len(re.findall(r"4 times, chosen columns", page)) >= len(DEFENSES)
    assert "--variants 1" in page


def test_a_report_without_it_says_that_it_was_not_tried(asked):
    cards = tuple(dataclasses.replace(card, asked_again=()) for card in asked.cards)
    page = render_report(dataclasses.replace(asked, cards=cards))
    assert "subject-1-asked" not in page
    assert "Here it was not tried" in page


def test_one_attack_by_itself_asks_too_but_not_of_files(subject, tmp_path):
    finding, _, unknown = attack_once(subject, "chosen-columns:questions=3", "ranking-only", records=30)
    assert finding.questions == 3
    assert finding.guess_normalised < 0.6
    assert unknown.shape == (30, PASSIVE)
    with pytest.raises(PriveeError, match="asks by itself"):
        attack_once(subject, "chosen-columns", "ranking-only", released=[tmp_path / "release.csv"])


def test_without_an_oracle_it_is_left_out(subject):
    view = subject.sample(0, 5, 100).view(subject.sample(0, 5, 100).scores[None], NoDefense(), adaptive=True)
    assert ChosenColumns().why_not(view) == "needs to ask with own columns of its choice"
