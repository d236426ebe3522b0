"""What changed since the last audit."""

import dataclasses

from privee.audit.comparison import compare_audits, same_results
from privee.audit.results import AskedAgain, WithoutEnd
from tests._support.made_audits import make_audit, make_loans
from tests._support.odd_audits import only, rebuilt, without_columns

NOW = make_loans(seeds=(0,))


def regraded(audit, defense: str, column: str, grade: str):
    """The same with another grade of one column."""

    def changed(card):
        columns = tuple(dataclasses.replace(c, grade=grade) if c.name == column else c for c in card.columns)
        return dataclasses.replace(card, columns=columns) if card.defense == defense else card

    return rebuilt(audit, cards=tuple(map(changed, audit.cards)))


def with_subject(audit, **changes):
    return rebuilt(audit, subjects=(dataclasses.replace(audit.subjects[0], **changes),))


def the_only(before, now=NOW):
    (found,) = compare_audits(before, now).subjects
    return found


def test_the_same_audit_has_no_changes():
    found = compare_audits(NOW, NOW)
    assert (found.date, found.version, found.settings) == ("2025-03-14", "0.4.0", {})
    assert (found.new_subjects, found.gone_subjects, found.differ) == ((), (), ())
    assert the_only(NOW).changes == ()
    assert the_only(NOW).by_column
    assert same_results(NOW, rebuilt(NOW, about={}, findings=()))


def test_grades_of_columns_and_of_defenses_go_either_way():
    before = regraded(regraded(NOW, "none", "age", "open"), "top-k", "job", "guarded")
    now = regraded(NOW, "top-k", "job", "weak")
    now = rebuilt(
        now, cards=tuple(dataclasses.replace(c, grade="weak") if c.defense == "none" else c for c in now.cards)
    )
    found = the_only(before, now)
    assert [(c.defense, c.column, c.party, c.before, c.now, c.direction) for c in found.changes] == [
        ("none", "", "", "open", "weak", "better"),
        ("none", "age", "registry", "open", "partial", "better"),
        ("top-k", "job", "registry", "guarded", "weak", "worse"),
    ]
    assert compare_audits(before, now).count("better") == len(found.going("better")) == 2
    assert compare_audits(before, now).count("worse") == 1
    assert not same_results(before, now)


def again(card, grade: str, *, questions: int = 5) -> AskedAgain:
    columns = tuple(dataclasses.replace(column, grade=grade) for column in card.columns[:1])
    return AskedAgain(
        questions=questions, grade=grade, verdict="", guess_normalised=0.5, after=(1, 0.5), columns=columns, records=9
    )


def endless(card, grade: str) -> WithoutEnd:
    columns = tuple(dataclasses.replace(column, grade=grade) for column in card.columns[:1])
    return WithoutEnd(
        grade=grade, verdict="", guess_normalised=0.5, columns=columns, records=9, proven="", not_covered=()
    )


def with_first_card(audit, **parts):
    first, *rest = audit.cards
    made = {name: make(first) for name, make in parts.items()}
    return rebuilt(audit, cards=(dataclasses.replace(first, **made), *rest))


def test_who_asks_again_or_without_end_is_compared_too():
    """The grade of whoever asks once stays, and the others fall: that is not "no grade changed"."""
    before = with_first_card(
        NOW,
        asked_again=lambda c: (again(c, "guarded", questions=2), again(c, "guarded")),
        without_end=lambda c: endless(c, "weak"),
    )
    now = with_first_card(
        NOW,
        asked_again=lambda c: (again(c, "open"), again(c, "open", questions=10)),
        without_end=lambda c: endless(c, "guarded"),
    )
    column, defense = NOW.cards[0].columns[0].name, NOW.cards[0].defense
    assert [(c.defense, c.column, c.asked, c.before, c.now, c.direction) for c in the_only(before, now).changes] == [
        (defense, "", "5 questions", "guarded", "open", "worse"),
        (defense, "", "without end", "weak", "guarded", "better"),
        (defense, column, "5 questions", "guarded", "open", "worse"),
        (defense, column, "without end", "weak", "guarded", "better"),
    ]
    assert the_only(NOW, now).changes == (), "what one audit did not try is no change"


def test_a_word_that_is_no_grade_here_goes_no_way():
    (change,) = the_only(regraded(NOW, "none", "age", "severe")).changes
    assert (change.direction, change.before) == ("other", "severe")


def test_what_only_one_of_them_tried():
    fewer = only(NOW, "none", "top-k")
    cut = rebuilt(fewer, cards=tuple(dataclasses.replace(c, columns=c.columns[1:]) for c in fewer.cards))
    found = the_only(cut)
    assert found.new_defenses[:2] == ("privee-u:rho=0.1", "privee-u:rho=0.3")
    assert found.gone_defenses == ()
    assert found.new_columns == ("previous outcome (telco)",)
    back = the_only(NOW, cut)
    assert back.gone_columns == ("previous outcome (telco)",)
    assert len(back.gone_defenses) == 10


def test_columns_of_two_parties_with_one_name_are_two_columns():
    moved = rebuilt(
        NOW,
        cards=tuple(
            dataclasses.replace(
                card,
                columns=tuple(dataclasses.replace(c, party="telco") if c.name == "age" else c for c in card.columns),
            )
            for card in NOW.cards
        ),
    )
    found = the_only(moved)
    assert (found.new_columns, found.gone_columns) == (("age (registry)",), ("age (telco)",))


def test_fingerprints_say_whether_lines_may_be_compared():
    other = with_subject(NOW, fingerprints=NOW.subjects[0].fingerprints | {"data": "other"})
    assert (the_only(other).differ, the_only(other).unknown) == (("data",), ())
    assert compare_audits(other, NOW).differ == ("data",)
    assert the_only(with_subject(NOW, fingerprints={})).unknown == ("data", "model")
    half = with_subject(NOW, fingerprints={"data": NOW.subjects[0].fingerprints["data"]})
    assert (the_only(half).differ, the_only(half).unknown) == ((), ("model",))
    assert the_only(with_subject(NOW, fingerprints={}), with_subject(NOW, fingerprints={})).unknown == (
        "data",
        "model",
    )


def test_settings_that_differ_are_named():
    before = rebuilt(NOW, about={"grid": {"records": 100, "queries": 1, "attacks": ("a", "b"), "old": 1}})
    now = rebuilt(NOW, about={"grid": {"records": 200, "queries": 1, "attacks": ["a", "b"], "new": 1}})
    assert compare_audits(before, now).settings == {"records": (100, 200)}
    assert compare_audits(rebuilt(NOW, about={}), now).settings == {}
    assert compare_audits(rebuilt(NOW, about={"grid": "odd", "versions": 3}), now).version == ""


def test_an_audit_without_columns_is_compared_by_its_means():
    """An earlier version graded the mean: its "guarded" is not the worst column's."""
    old = without_columns()
    name = old.subjects[0].name
    new = make_audit(subjects=1, pictures=False, curves=False)
    defenses = {card.defense for card in old.cards}
    now = rebuilt(
        new,
        subjects=(dataclasses.replace(new.subjects[0], name=name),),
        cards=tuple(dataclasses.replace(c, subject=name, grade="open") for c in new.cards if c.defense in defenses),
    )
    before = rebuilt(old, cards=tuple(dataclasses.replace(card, mean_grade="") for card in old.cards))
    found = the_only(before, now)
    assert not found.by_column
    assert (found.changes, found.new_columns) == ((), ())


def test_models_are_the_same_by_name():
    found = compare_audits(make_audit(subjects=2), make_audit(subjects=3))
    assert (found.new_subjects, found.gone_subjects) == (("loans",), ())
    nothing = compare_audits(NOW, make_audit(subjects=1))
    assert (nothing.subjects, nothing.gone_subjects) == ((), ("loans",))
