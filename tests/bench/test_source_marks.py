"""What decides how an attack or a defense comes out has a mark that changes with it, and with nothing else."""

import sys

import pytest

from privee.attacks import GradientInversion, LearnedInversion, LogisticRegression
from privee.bench import source_marks
from privee.bench.source_marks import code_of, source_mark
from privee.defenses import LabelOnly
from privee.defenses.one_parameter import OneParameter


@pytest.fixture
def marks_after(monkeypatch):
    """Marks with a line more in one module."""

    def found(changed):
        plain = code_of
        with monkeypatch.context() as patch:
            patch.setattr(source_marks, "code_of", lambda name: plain(name) + "more" * (name == changed))
            return {cls: source_mark.__wrapped__(cls) for cls in CLASSES}

    return found


CLASSES = (GradientInversion, LearnedInversion, LogisticRegression, OneParameter, LabelOnly)


@pytest.mark.parametrize(
    ("module", "changes"),
    [
        ("privee.attacks.gradient_inversion", {GradientInversion}),
        ("privee.attacks.regressors", {LearnedInversion, LogisticRegression}),
        ("privee.attacks.column_learning", {LogisticRegression}),
        ("privee.attacks.view", {GradientInversion, LearnedInversion, LogisticRegression}),
        ("privee.defenses.simulated_inverse", {OneParameter}),
        ("privee.attacks", set()),
        ("privee.bench.parts", set()),
    ],
)
def test_what_many_share_changes_all_of_them_and_nothing_else(marks_after, module, changes):
    before = {cls: source_mark(cls) for cls in CLASSES}
    assert len(set(before.values())) == len(CLASSES)
    after = marks_after(module)
    assert {cls for cls in CLASSES if after[cls] != before[cls]} == changes


def test_words_are_no_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    texts = {
        "plain": "class A:\n    def f(self):\n        return 1\n",
        "told": '"""Why."""\n\n# how\nclass A:\n    """What."""\n\n    def f(self):\n        return 1\n',
        "other": "class A:\n    def f(self):\n        return 2\n",
    }
    for name, text in texts.items():
        (tmp_path / f"marked_{name}.py").write_text(text)
    plain, told, other = (code_of(f"marked_{name}") for name in texts)
    assert plain == told != other


def test_what_has_no_file_is_known_by_its_name(monkeypatch):
    """Such as a defense that was written in a notebook."""
    made = {name: type(name, (), {"__module__": "in_a_notebook"}) for name in ("One", "Two")}
    monkeypatch.setitem(sys.modules, "in_a_notebook", type(sys)("in_a_notebook"))
    assert source_mark(made["One"]) != source_mark(made["Two"])
