"""The order between records as a wish, and no praise for what destroys the task."""

import dataclasses
import functools

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import kendalltau

import privee
from privee.audit import subject_from_arrays
from privee.audit.recommend import Effort, Recommendation, Wishes, candidates, recommend
from privee.audit.recommend.evidence import figures, model_ground, synthetic_ground
from privee.audit.recommend.explanation import CLASS_BY_DEFAULT, RECORDS_BY_DEFAULT, TWO_CLASSES
from privee.audit.recommend.rules import EPSILONS
from privee.audit.recommend.task_kept import TaskKept
from privee.errors import PriveeError
from privee.scores import utility_of

EFFORT = Effort(records=20, auxiliary_rows=40, attacks=("equation-solving",), jobs=1)
WEIGHTS = np.array([2.0, -2.0, 1.0, 3.0, -1.0])


def credit(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    odds = 1.5 * np.hstack([active, passive]) @ WEIGHTS - 3.7
    return softmax(np.stack([np.zeros(len(odds)), odds], axis=1), axis=1)


@functools.cache
def table(*, labels: bool = True, rows: int = 4000):
    """A model of two classes whose scores are calibrated: about a quarter are positive."""
    rng = np.random.default_rng(0)
    columns = rng.random((rows, 5))
    truth = (rng.random(rows) < credit(columns[:, :3], columns[:, 3:])[:, 1]).astype(int)
    return subject_from_arrays(credit, columns[:, :3], columns[:, 3:], labels=truth if labels else None)


@functools.cache
def advised(labels: bool = True, **wishes: object) -> Recommendation:
    return recommend(Wishes(**wishes), subject=table(labels=labels), effort=EFFORT)


def auc_of(option) -> float:
    return option.figures.utility.auc


def test_figures_are_measured_on_many_records():
    ground, rest = model_ground(table(), EFFORT)
    assert len(ground.scores[0]) == 20
    assert len(ground.many) == len(rest.targets) == 3000  # a quarter was set aside to learn from
    defense = privee.RecordOrder.fitted(4.0, ground.public)
    found = figures(defense, ground)
    release = defense.release(ground.many, draws=privee.seeded(0, "release of many", defense.spec))
    assert found.utility == utility_of(release, ground.labels)
    assert found.utility_of_scores == utility_of(ground.many, ground.labels)
    assert found.order_between == pytest.approx(kendalltau(ground.many[:, 1], release[:, 1]).statistic)
    assert found.auc == found.utility.auc
    assert found.auc_of_scores == found.utility_of_scores.auc
    assert "order between records on 3,000" in ground.tried_on


def test_records_without_a_label_are_left_out():
    some = table().labels.copy()
    some[::3] = -1
    ground, rest = model_ground(dataclasses.replace(table(), labels=some), EFFORT)
    assert len(ground.many) == len(ground.labels) == (some[rest.targets] >= 0).sum()
    assert ground.labels.min() == 0
    none = np.full_like(some, -1)
    ground, _ = model_ground(dataclasses.replace(table(), labels=none), EFFORT)
    assert ground.labels is None
    assert figures(privee.LabelOnly(), ground).auc is None


def test_the_smallest_epsilon_that_keeps_most_of_the_auc():
    found = advised(keep="order-of-records")
    assert found.met
    assert found.chosen.settings["name"] == "record-order"
    assert found.chosen.settings["prior"] is not None
    least = 0.5 + 0.95 * (found.chosen.figures.auc_of_scores - 0.5)
    assert auc_of(found.chosen) >= least
    safer, looser = (o for o in found.alternatives if o.settings["name"] == "record-order")
    assert auc_of(safer) < least <= auc_of(looser)
    place = EPSILONS.index(found.chosen.epsilon)
    assert (safer.epsilon, looser.epsilon) == (EPSILONS[place - 1], EPSILONS[place + 1])
    assert "95% of what the scores' has above 0.5" in found.chosen.why
    assert "has an AUC of" in safer.why
    assert found.chosen.same == "any two score vectors"
    assert TWO_CLASSES not in found.notes
    names = [option.settings["name"] for option in found.alternatives]
    assert {"ordered-dp", "label-only", "ranking-only", "rounding"} <= set(names)
    assert "Kendall's tau 0." in found.alternatives[names.index("label-only")].why


def test_without_labels_kendall_decides():
    found = advised(labels=False, keep="order-of-records")
    assert found.met
    assert found.chosen.figures.utility is None
    assert found.chosen.figures.order_between >= 0.8
    safer = next(o for o in found.alternatives if o.settings["name"] == "record-order")
    assert safer.figures.order_between < 0.8
    assert "Kendall's tau of 0.8" in found.chosen.why
    assert "No labels are known, so nothing is said about what the task loses." in found.notes


def test_a_model_that_orders_nothing_is_judged_by_kendall():
    """Labels that have nothing to do with the scores leave no AUC to keep."""
    shuffled = dataclasses.replace(table(), labels=np.random.default_rng(1).permutation(table().labels))
    found = recommend(Wishes(keep="order-of-records"), subject=shuffled, effort=EFFORT)
    assert found.chosen.figures.auc_of_scores == pytest.approx(0.5, abs=0.03)
    assert found.chosen.figures.order_between >= 0.8


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_order_of_records_on_synthetic_scores(classes):
    wishes = Wishes(keep="order-of-records")
    ladder = candidates(wishes, classes)
    assert [defense.spec for defense in ladder] == [f"record-order:epsilon={epsilon:g}" for epsilon in EPSILONS]
    found = recommend(wishes, n_classes=classes)
    assert found.chosen.settings["name"] == "record-order"
    assert found.use.startswith("privee.RecordOrder.fitted(")
    assert found.met == (found.chosen.figures.order_between >= 0.8)
    if classes == 2:
        assert found.met
    else:
        assert found.notes[0].startswith(f"Epsilon is divided by {classes} classes")
    assert found.as_dict()["chosen"]["figures"]["utility"] is None


def test_min_auc_costs_epsilon_and_is_kept():
    spent = []
    for least in (0.52, 0.65, 0.7):
        found = advised(keep="order-of-records", min_auc=least)
        assert found.met
        assert auc_of(found.chosen) >= least
        assert all(auc_of(o) < least for o in found.alternatives if "has an AUC of" in o.why)
        spent.append(found.chosen.epsilon)
    assert spent == sorted(spent)
    assert spent[0] < spent[-1]


def test_min_auc_works_with_every_keep():
    """The class alone is taken where its AUC is enough; else magnitudes are added to it."""
    alone = advised(keep="class", min_auc=0.55)
    assert alone.chosen.defense == "label-only"
    assert alone.met
    assert "all that must stay exact" in alone.chosen.why
    least = round(auc_of(alone.chosen) + 0.01, 3)
    more = advised(keep="class", min_auc=least)
    assert (more.chosen.settings["name"], more.chosen.settings["keep_top"]) == ("ordered-dp", 1)
    assert auc_of(more.chosen) >= least
    label_only = next(o for o in more.alternatives if o.defense == "label-only")
    assert "has an AUC of 0." in label_only.why
    assert f"less than {least:.3f}" in label_only.why
    assert advised(keep="ranking", min_auc=least).chosen.defense == more.chosen.defense


def test_more_than_the_scores_have_cannot_be_had():
    found = advised(keep="class", min_auc=0.99)
    assert not found.met
    assert set(found.unmet) == {"min_auc"}
    assert f"(the scores have {found.chosen.figures.auc_of_scores:.3f})" in found.unmet["min_auc"]
    assert "no epsilon up to 64 meets all wishes" in found.unmet["min_auc"]


def test_a_budget_that_is_too_small_is_said_with_what_would_do():
    found = advised(keep="order-of-records", epsilon=2, queries=4)
    assert not found.met
    assert found.chosen.epsilon == 0.5
    assert "for each release would do" in found.unmet["keep"]
    assert "beyond the budget of 0.5 for each release" in found.notes[0]
    assert "has an AUC of" in found.over_releases[-1]


@pytest.mark.parametrize("keep", ["ranking", "class", "top-1", "top-2"])
def test_with_two_classes_ranking_and_class_are_one_thing(keep):
    found = advised(keep=keep)
    assert found.chosen.defense == "label-only"
    assert found.chosen.proven == "the release depends on the predicted class alone"
    assert TWO_CLASSES in found.notes
    assert "ranking-only" not in {option.defense for option in found.alternatives}
    moved = advised(keep=keep, max_moved=0.2)
    assert moved.chosen.settings["keep_top"] == 1
    assert "the predicted class" in moved.chosen.not_covered
    assert TWO_CLASSES not in recommend(Wishes(keep="class"), n_classes=3).notes


def test_with_two_classes_the_order_of_records_is_the_default():
    """With more it is the ranking; the answer says that nobody asked for it, and what gives away less."""
    found = advised()
    assert found.wishes.keep == "order-of-records"
    assert found.chosen == advised(keep="order-of-records").chosen
    assert auc_of(found.chosen) >= 0.5 + 0.95 * (found.chosen.figures.auc_of_scores - 0.5)
    grades = {option.defense: option.attacked.grade for option in (found.chosen, *found.alternatives)}
    graded = f"Here this release is graded {grades[found.chosen.defense]}, label-only {grades['label-only']}."
    assert f"{RECORDS_BY_DEFAULT} {graded}" in found.notes
    assert not any(RECORDS_BY_DEFAULT in note for note in advised(keep="order-of-records").notes)
    assert "label-only" in {option.defense for option in found.alternatives}
    untried = recommend(Wishes(), n_classes=2)
    assert untried.chosen.defense.startswith("record-order")
    assert RECORDS_BY_DEFAULT in untried.notes
    three = recommend(Wishes(), n_classes=3)
    assert (three.wishes.keep, three.chosen.defense) == ("ranking", "ranking-only")
    assert RECORDS_BY_DEFAULT not in three.notes


def test_by_default_the_class_alone_is_taken_where_it_keeps_enough_order():
    """Labels that are the predicted classes: nothing orders them better, and nothing gives away less."""
    sure = table()
    known = dataclasses.replace(sure, labels=credit(sure.columns[:, :3], sure.columns[:, 3:]).argmax(axis=1))
    found = recommend(Wishes(), subject=known, effort=EFFORT)
    assert (found.chosen.defense, found.met) == ("label-only", True)
    assert "the safest there is that keeps an AUC of" in found.chosen.why
    assert CLASS_BY_DEFAULT in found.notes
    asked = recommend(Wishes(keep="order-of-records"), subject=known, effort=EFFORT)
    assert asked.chosen.defense.startswith("record-order")


def test_what_destroys_the_task_is_not_praised():
    """The first note says so, and names an epsilon at which record-order does keep it."""
    found = advised(keep="class")
    figures_of = found.chosen.figures
    assert figures_of.auc < figures_of.auc_of_scores - 0.05
    first = found.notes[0]
    assert f"its AUC for the label is {figures_of.auc:.3f}, the scores' {figures_of.auc_of_scores:.3f}" in first
    assert "--keep order-of-records keeps more: record-order:epsilon=" in first
    named = first.split("keeps more: ")[1].split(" has an AUC")[0]
    ground, _ = model_ground(table(), EFFORT)
    enough = privee.defense(named)
    assert figures(enough, ground).auc >= figures_of.auc_of_scores - 0.05
    before = EPSILONS[EPSILONS.index(enough.epsilon) - 1]
    safer = privee.RecordOrder.fitted(before, ground.public)
    assert figures(safer, ground).auc < figures_of.auc_of_scores - 0.05


def test_what_keeps_the_task_has_no_such_note():
    assert not any("orders records worse" in note for note in advised(keep="order-of-records").notes)
    assert any("orders records worse" in note for note in advised(keep="class", max_moved=0.5).notes)


def test_without_labels_the_lost_order_is_said():
    first = advised(labels=False, keep="class").notes[0]
    assert first.startswith("Much of the order between records is lost: Kendall's tau with the scores is 0.")
    assert "record-order:epsilon=" in first
    assert recommend(Wishes(keep="class"), n_classes=10).notes[0].startswith("Nothing was attacked")


def test_falling_to_the_most_frequent_class_is_said():
    """Hardly anything is told apart at epsilon 0.5, which is all that an AUC of 0.51 asks for."""
    found = advised(keep="order-of-records", min_auc=0.51)
    told, scores = found.chosen.figures.utility, found.chosen.figures.utility_of_scores
    assert told.accuracy < scores.accuracy
    kept = dataclasses.replace(found.chosen.figures, utility=dataclasses.replace(told, auc=scores.auc))
    ground, _ = model_ground(table(), EFFORT)
    words = TaskKept(kept, ground, Wishes(keep="order-of-records"), 2).note(None, None)
    assert f"always naming that one has {ground.majority.accuracy:.1%}" in words
    assert words.endswith("--keep class keeps it exact.")
    assert TaskKept(figures(privee.NoDefense(), ground), ground, Wishes(), 2).words == ""


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        ({"min_auc": 0.5}, "min_auc must lie above 0.5"),
        ({"min_auc": 1.2}, "min_auc must lie above 0.5"),
        ({"min_auc": "high"}, "min_auc must be a number above 0"),
        ({"min_auc": 0.7}, "min_auc needs labels, and synthetic scores have none"),
        ({"keep": "records"}, "keep must be ranking, class, order-of-records, or top-K"),
    ],
)
def test_senseless_wishes_get_one_line(wishes, says):
    with pytest.raises(PriveeError) as raised:
        recommend(Wishes(**wishes), n_classes=2)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("labels", [None, np.zeros(4000, dtype=int)])
def test_min_auc_without_labels_of_two_classes_is_refused(labels):
    with pytest.raises(PriveeError, match="min_auc needs labels of two classes or more"):
        recommend(Wishes(min_auc=0.7), subject=dataclasses.replace(table(), labels=labels), effort=EFFORT)


def test_json_round_trip():
    found = advised(keep="order-of-records", min_auc=0.7)
    plain = found.as_dict()
    assert Wishes(**plain["wishes"]) == found.wishes
    assert plain["chosen"]["figures"]["utility"]["auc"] == auc_of(found.chosen)
    assert plain["chosen"]["figures"]["utility_of_scores"]["auc"] > auc_of(found.chosen)
    assert 0 < plain["chosen"]["figures"]["order_between"] < 1


def test_few_classes_stand_for_many():
    ground = synthetic_ground(1000, learn=False)
    assert figures(privee.NoDefense(), ground).order_between == 1.0
    assert abs(figures(privee.RecordOrder(0.5), ground).order_between) < 0.1
