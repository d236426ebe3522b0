"""Audits of sealed models: a third grade, for whoever asks without end, and what stands behind it."""

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from privee.audit import Grid, run_grid, save_audit, subject_from_run
from privee.audit.grades import GRADES
from privee.audit.loading import load_audit
from privee.audit.recommend import Effort, Wishes, recommend
from privee.audit.recommend.choice import _Search
from privee.audit.recommend.evidence import synthetic_ground
from privee.audit.report import render_report
from privee.audit.sealed_words import not_covered, sealed_parties
from privee.audit.sources import each_against_all_others
from privee.audit.subject import mark_each
from privee.cli.app import app
from privee.errors import SettingError
from privee.theory import leaked_bits
from privee.vfl.seal import Seal
from tests._support.sealed_runs import sealed_run

ATTACKS = ("learned-inversion", "logistic-regression", "sealed-code", "sealed-code:learner=trees")
DEFENSES = ("none", "ordered-dp:epsilon=8", "label-only")
SMALL = {"attacks": ATTACKS, "seeds": (0,), "curves": False, "pictures": False, "column_limit": 400}


def rank(grade):
    return list(GRADES).index(grade)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return sealed_run(tmp_path_factory.mktemp("plain") / "run", Seal(codes=8))


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    seals = Seal(codes=4, learn="own"), Seal(codes=8, epsilon=2.0), None
    return sealed_run(tmp_path_factory.mktemp("three") / "run", *seals, epochs=2)


@pytest.fixture(scope="module")
def found(plain):
    return run_grid([subject_from_run(plain)], Grid(defenses=DEFENSES, questions=(5,), **SMALL), jobs=1)


def test_the_code_bounds_the_grades_of_every_release(found):
    for card in found.cards:
        ever = card.without_end
        assert rank(ever.grade) <= min(rank(card.grade), rank(card.most_asked.grade))
        assert ever.guess_normalised < min(card.guess_normalised, card.most_asked.guess_normalised)
        assert ever.records == 400
    assert len({card.without_end for card in found.cards}) == 1  # no defense makes a difference
    assert found.card("none").without_end.worst.attack.startswith("sealed-code")


def test_the_code_is_attacked_once_for_all_defenses_and_is_no_attack_of_who_asks_honestly(plain, found):
    by_code = [f for f in found.findings if f.without_end]
    assert len(by_code) == 2 * len(DEFENSES)
    assert [f.defense for f in by_code] == [spec for spec in DEFENSES for _ in range(2)]
    assert len({(f.attack, f.feature_mse, f.seconds) for f in by_code}) == 2
    for card in found.cards:
        told = [column.attack for column in (*card.columns, *card.most_asked.columns)]
        assert not any(attack.startswith("sealed-code") for attack in told)
    calls, alone = [], Grid(defenses=DEFENSES, **SMALL | {"attacks": ATTACKS[-2:]})
    run_grid([subject_from_run(plain)], alone, jobs=1, progress=lambda *progress: calls.append(progress))
    assert calls[-1] == (2, 2)


def test_what_can_ever_be_given_away_is_said_with_the_grade(found, tmp_path):
    (info,) = found.subjects
    (sealed,) = info.sealed
    assert dataclasses.astuple(sealed) == ("passive-1", 8, None, 3.0, 3.0, "joint")
    ever = found.card("none").without_end
    assert "one of 8 codes" in ever.proven
    assert "3 bits at most" in ever.proven
    for words in ("any number of questions", "columns of the asker's choice", "any defense or none", "coordinator"):
        assert words in ever.proven
    assert any("training with gradients" in words for words in ever.not_covered)
    files = save_audit(found, tmp_path)
    assert load_audit(tmp_path).cards == found.cards
    assert load_audit(tmp_path).subjects[0].sealed == info.sealed
    plain = json.loads(files["json"].read_text())
    assert plain["subjects"][0]["sealed"][0]["leaked_bits"] == 3.0
    assert plain["cards"][0]["without_end"]["proven"] == ever.proven


def test_the_report_says_it_on_its_first_screen_and_on_every_card(found):
    page = render_report(found)
    first = page[page.index('class="opening"') : page.index('aria-label="Contents"')]
    assert "passive-1 sends one of 8 codes" in first
    assert "Asked without end" in first
    assert "records that the model was trained on" in first
    assert page.count('<span class="fine">without end</span>') == len(DEFENSES)
    assert page.count('id="subject-1-sealed"') == 1


def test_reports_and_audits_of_before_know_nothing_of_it(found, tmp_path):
    old = json.loads(json.dumps(found.as_dict()))
    del old["subjects"][0]["sealed"]
    for card in old["cards"]:
        del card["without_end"]
    for finding in old["findings"]:
        del finding["without_end"]
    (tmp_path / "audit.json").write_text(json.dumps(old))
    loaded = load_audit(tmp_path)
    assert loaded.subjects[0].sealed == ()
    page = render_report(loaded)
    assert "Asked without end" not in page
    assert "subject-1-sealed" not in page


@pytest.mark.slow
def test_a_code_that_says_nothing_is_guarded_in_all_grades(tmp_path):
    """Epsilon 0.01. Figures count below 5 % for all columns and attacks together, so this fails once in 20 seeds."""
    subject = subject_from_run(sealed_run(tmp_path / "run", Seal(codes=8, epsilon=0.01), epochs=4))
    card = run_grid([subject], Grid(defenses=("none",), questions=(5,), **SMALL), jobs=1).card("none")
    assert (card.grade, card.most_asked.grade, card.without_end.grade) == ("guarded",) * 3
    assert not card.without_end.worst.told
    assert "epsilon 0.01 for any single fact" in card.without_end.proven


# --- several parties -------------------------------------------------------------------------------------------------


def test_of_several_parties_each_has_all_others_against_it(three, plain, tmp_path):
    subject = subject_from_run(three)
    every = each_against_all_others(subject)
    assert [one.name for one in every] == [f"digits, mlp: all others against passive-{k}" for k in (1, 2, 3)]
    held = {one.active: sealed_parties(one.model) for one in every}
    assert list(held) == [
        "active and passive-2 and passive-3",
        "active and passive-1 and passive-3",
        "active and passive-1 and passive-2",
    ]
    first, second, third = held.values()
    assert [one.party for one in (*first, *second)] == ["passive-1", "passive-2"]
    assert second[0].leaked_bits == leaked_bits(8, 2.0)
    assert third == ()
    assert not any("training" in words for words in not_covered(first))  # learned from its own columns alone
    assert any("training" in words for words in not_covered(second))
    alone = subject_from_run(plain)
    assert each_against_all_others(alone) == [alone]
    unsealed = subject_from_run(sealed_run(tmp_path / "run", None, None, epochs=1))
    assert each_against_all_others(unsealed) == [unsealed]


def test_a_column_is_marked_where_it_is_private(three):
    every = each_against_all_others(subject_from_run(three))
    name = every[1].private_columns[0].name
    marked = mark_each(every, [name])
    assert [sum(column.sensitive for column in one.private_columns) for one in marked] == [0, 1, 0]
    with pytest.raises(SettingError, match="no private column is called 'age'"):
        mark_each(every, ["age"])


def test_the_command_says_it(three, tmp_path):
    options = ("-d", "none", "-a", "sealed-code", "--seeds", "1", "--records", "60", "--auxiliary", "80", "--jobs", "1")
    arguments = ["audit", str(three), *options, "-o", str(tmp_path / "audit")]
    told = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert told.exit_code == 0
    words = " ".join(told.stdout.split())
    for party in ("passive-1", "passive-2", "passive-3"):
        assert f"all others against {party}" in words
    assert "Sealed: passive-2 sends one of 8 codes for a record, drawn once: 2.04 bits at most" in words
    assert "passive-3 sends" not in words
    cards = load_audit(tmp_path / "audit").cards
    assert [card.without_end is None for card in cards] == [False, False, True]
    assert "no party is sealed" in next(iter(cards[2].skipped.values()))


# --- recommendations -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_recommend_needs_no_budget_for_what_is_sealed(plain):
    effort = Effort(attacks=("logistic-regression", "sealed-code"), records=60, auxiliary_rows=150, jobs=1)
    found = recommend(Wishes(keep="ranking", variants=2), subject=subject_from_run(plain), effort=effort)
    (note,) = [note for note in found.notes if note.startswith("Sealed: ")]
    assert "no budget of releases or variants; the defense may be none" in note
    assert f"graded {found.chosen.attacked.without_end.grade} at worst" in note
    assert not any("--variants 1" in note for note in found.notes)
    assert found.as_dict()["chosen"]["attacked"]["without_end"]["proven"] in note


def test_recommend_names_seals_where_asking_again_tells_much():
    from privee.audit import subject_from_arrays
    from tests._support.own_models import columns, numpy_model

    effort = Effort(attacks=("equation-solving",), records=40, jobs=1)
    subject = subject_from_arrays(numpy_model, *columns(500))
    asked = recommend(Wishes(keep="ranking", variants=4), subject=subject, effort=effort)
    assert any("privee seal RUN --codes 8" in note for note in asked.notes)
    once = recommend(Wishes(keep="ranking"), subject=subject, effort=effort)
    assert not any("privee seal" in note for note in once.notes)


@pytest.mark.parametrize("all_sealed", [True, False])
def test_variants_are_no_wish_that_fails_where_all_is_sealed(all_sealed):
    ground = dataclasses.replace(synthetic_ground(4, learn=False), all_sealed=all_sealed)
    search = _Search(Wishes(keep="ranking", variants=3), 4, ground, by_default=False)
    assert (search.answer({}).unmet == {}) is all_sealed
