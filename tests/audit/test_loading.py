"""Audits back from their files: whole, older, and damaged."""

import copy
import json

import pytest

from privee.audit.loading import load_audit
from privee.audit.report import render_report
from privee.errors import PriveeError
from tests._support.made_audits import make_audit
from tests._support.odd_audits import hostile, wide

AUDIT = make_audit(subjects=3, seeds=(0,))
PLAIN = json.loads(json.dumps(AUDIT.as_dict()))
SMALL = PLAIN | {"findings": PLAIN["findings"][:2], "cards": PLAIN["cards"][:4], "handouts": []}
SMALL["subjects"] = [PLAIN["subjects"][0], PLAIN["subjects"][2]]


def loaded(tmp_path, plain):
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    return load_audit(path)


@pytest.mark.parametrize("make", [lambda: AUDIT, hostile, wide], ids=["usual", "hostile", "wide"])
def test_what_was_written_is_read(tmp_path, make):
    audit = make()
    assert loaded(tmp_path, audit.as_dict()) == audit
    assert load_audit(tmp_path) == audit  # by its folder


NEWER = {
    "subjects": (
        *("active", "parties", "held", "columns", "column_records", "column_auxiliary_rows"),
        *("utility", "own_columns", "majority", "fingerprints"),
    ),
    "cards": ("columns", "people", "mean_grade", "utility", "order_between", "seconds_per_record", "released_records"),
    "handouts": ("utility", "order_between", "rows", "seconds"),
    "findings": ("people", "records", "shown"),
}


def test_what_later_versions_added_may_be_missing(tmp_path):
    old = copy.deepcopy(PLAIN)
    for kind, names in NEWER.items():
        old[kind] = [{name: value for name, value in one.items() if name not in names} for one in old[kind]]
    del old["curves"]
    found = loaded(tmp_path, old)
    assert found.cards[0].columns == ()
    assert found.subjects[0].active == "active"
    assert [card.grade for card in found.cards] == [card.grade for card in AUDIT.cards]
    assert "not looked at one by one" in render_report(found)


def test_what_this_version_does_not_know_is_left_out(tmp_path):
    newer = copy.deepcopy(PLAIN)
    newer["cards"][0]["later"] = newer["later"] = {"a": 1}
    assert loaded(tmp_path, newer) == AUDIT


def put(plain, path: str, value):
    """A copy with another value at a place such as cards.0.grade."""
    plain = copy.deepcopy(plain)
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    there = plain
    for step in way:
        there = there[step]
    there[last] = value
    return plain


def test_the_small_one_is_read(tmp_path):
    """So that the next test refuses what was put in, and nothing else."""
    assert len(loaded(tmp_path, SMALL).cards) == 4


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("cards", None, "cards is not a list"),
        ("cards.3", [], r"cards\[3\] is not a mapping"),
        ("cards.0.grade", 3, r"cards\[0\].grade is not text"),
        ("cards.0.guess_normalised", "much", r"cards\[0\].guess_normalised is not a number"),
        ("cards.0.guess_normalised", float("nan"), "is not a number"),
        ("cards.0.guess_normalised", float("inf"), "is not a number"),
        ("cards.0.guess_normalised", True, "is not a number"),
        ("cards.0.guess_normalised", None, "is not a number"),
        ("cards.0.columns.0.sensitive", 1, "sensitive is not true or false"),
        ("cards.0.columns.0.attacker", "friend", "attacker is not one of guess, naive, adaptive"),
        ("cards.0.columns.0", {"name": "x"}, r"cards\[0\].columns\[0\] has no party"),
        ("cards.0.skipped", ["a"], "skipped is not a mapping"),
        ("subjects", [], "subjects is not a list of models"),
        ("subjects.0.name", "loans", "subjects is not a list of models"),
        ("subjects.0.classes", 2.5, "classes is not a whole number"),
        ("subjects.0.known_columns", -16, "known_columns is not a count that fits"),
        ("subjects.0.picture.shape", [1, 8], "shape is not a list of 3"),
        ("subjects.0.picture.shape", [1, 9, 8], "picture is not made of pictures of its shape"),
        ("subjects.0.picture.shape", [1, -8, -8], "picture is not made of pictures of its shape"),
        ("subjects.0.picture.unknown.0", 64, "picture is not made of pictures of its shape"),
        ("findings.0.shown", [[0.5]], r"findings\[0\].shown is not as wide"),
        ("findings.0.status", "odd", "status is not one of ok, failed, skipped"),
        ("curves.0.mean", [1.0], r"curves\[0\] is not of lists of one length"),
        ("curves.0.mean.0", -1.0, r"curves\[0\] is not above zero"),
        ("about", "", "about is not a mapping"),
    ],
)
def test_nonsense_is_refused_with_its_place(tmp_path, path, value, words):
    with pytest.raises(PriveeError, match=rf"audit\.json is no audit that can be read: .*{words}") as caught:
        loaded(tmp_path, put(SMALL, path, value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null", '"audit"', "{}", "\x00", "[" * 100_000])
def test_what_is_no_audit_at_all_is_refused(tmp_path, text):
    path = tmp_path / "audit.json"
    path.write_text(text)
    with pytest.raises(PriveeError, match=r"audit\.json is"):
        load_audit(path)


def test_what_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(PriveeError, match=r"audit\.json is missing"):
        load_audit(tmp_path)
