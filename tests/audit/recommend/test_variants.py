"""Where own columns can vary, no exact order is praised."""

import pytest

from privee.audit import subject_from_arrays
from privee.audit.recommend import Effort, Wishes, recommend
from privee.errors import PriveeError
from tests._support.own_models import columns, numpy_model

QUICK = Effort(attacks=("equation-solving",), records=40, jobs=1)


@pytest.fixture(scope="module")
def subject():
    return subject_from_arrays(numpy_model, *columns(500))


def test_fixed_own_columns_are_a_condition_that_is_named(subject):
    found = recommend(Wishes(keep="ranking"), subject=subject, effort=QUICK)
    assert found.met
    assert any("--variants 1" in note for note in found.notes)
    assert found.chosen.attacked.asked_again is None


def test_own_columns_that_vary_are_played_and_the_wish_is_not_met(subject):
    found = recommend(Wishes(keep="ranking", variants=4), subject=subject, effort=QUICK)
    assert not found.met
    assert "exact order" in found.unmet["variants"]
    again = found.chosen.attacked.asked_again
    assert (again.questions, again.grade) == (4, "open")
    assert "here: open" in found.unmet["variants"]
    assert found.as_dict()["wishes"]["variants"] == 4


def test_without_a_model_the_theorem_is_enough():
    assert "variants" in recommend(Wishes(keep="class", variants=2), n_classes=10).unmet
    free = recommend(Wishes(keep="order-of-records", variants=2, epsilon=8), n_classes=3)
    assert "variants" not in free.unmet  # no exact order is shown, and every variant has its share of epsilon
    assert free.chosen.epsilon <= 4


def test_a_number_of_variants_is_a_whole_one():
    with pytest.raises(PriveeError, match="variants must be a whole number"):
        Wishes(variants=0)
