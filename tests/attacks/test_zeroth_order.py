"""A party without gradients asks, takes differences, and learns; a limit on questions is what holds it."""

import numpy as np
import pytest
import torch

import privee
from privee.attacks import AttackerView, Auxiliary, Watch, WhiteBox, ZerothOrder, attack
from privee.attacks.metrics import feature_mse, mean_guess, regression_guess
from privee.attacks.zeroth_order import _Matches
from privee.audit import subject_from_arrays
from privee.audit.task import simulated
from privee.randomness import seeded

OWN, UNKNOWN, CLASSES = 4, 3, 6
U = "privee-u:rho=0.1"


class Passive:
    """Who asks holds four columns; the three others bend together with them, so other questions tell something new."""

    def __init__(self, *, jumps: bool = False) -> None:
        draws = torch.Generator().manual_seed(5)
        self.weights = 2 * torch.randn(OWN + UNKNOWN, 12, generator=draws, dtype=torch.float64)
        self.out = torch.randn(12, CLASSES, generator=draws, dtype=torch.float64)
        self.rows = torch.rand(340, OWN + UNKNOWN, generator=draws, dtype=torch.float64)
        self.jumps, self.calls, self.questions, self.refused = jumps, 0, 0, None
        self.model = WhiteBox(self._logits, own_columns=OWN, unknown_columns=UNKNOWN, n_classes=CLASSES)
        self.own, self.truth = self.rows[:40, :OWN].clone(), self.rows[:40, OWN:].clone()

    def _logits(self, own, unknown):
        self.calls += len(own)
        columns = torch.cat([own, unknown], dim=1)
        columns = columns.mul(12).round().div(12) if self.jumps else columns
        return (torch.tanh(columns @ self.weights) @ self.out).detach()  # no gradient comes back

    def view(self, spec="none", *, adaptive=True, auxiliary=True) -> AttackerView:
        defense = privee.defense(spec)
        draws = seeded(0, spec)

        def ask(own):
            self.questions += 1
            return torch.from_numpy(defense.release(self.model.scores(own, self.truth).numpy(), draws=draws))

        rows = Auxiliary(self.rows[40:, :OWN].clone(), self.rows[40:, OWN:].clone()) if auxiliary else None
        release = torch.from_numpy(defense.release(self.model.scores(self.own, self.truth).numpy(), draws=seeded(1)))
        return AttackerView(self.own, self.model, release[None], defense, adaptive, rows, oracle=ask)


@pytest.fixture(scope="module")
def passive() -> Passive:
    return Passive()


def errors(passive, chosen, view) -> list[float]:
    found = chosen.run(view)
    return [feature_mse(one, passive.truth) for one in (*found.before, found.unknown)]


def test_it_works_without_any_gradient(passive):
    view = passive.view()
    assert not view.model.differentiable
    left = errors(passive, ZerothOrder(questions=2), view)
    assert left[1] < 0.5 * feature_mse(regression_guess(view), passive.truth)


def test_each_record_is_asked_about_no_more_often_than_is_said(passive):
    passive.questions = 0
    found = ZerothOrder(questions=3, steps=2).run(passive.view())
    assert passive.questions == 3
    assert len(found.before) == 3  # before any question, after one, after two


def test_calls_are_counted_as_said(passive):
    """Of the forty records and thirty rehearsed ones, and a few more to start with."""
    chosen, view = ZerothOrder(questions=3, steps=10, directions=3), passive.view()
    passive.calls = 0
    chosen.run(view)
    rest = 3 * 70 + 1 + 40 + len(view.auxiliary)
    assert chosen.calls() * 70 < passive.calls <= chosen.calls() * 70 + rest


def test_behind_a_ranking_more_questions_tell_more(passive):
    left = errors(passive, ZerothOrder(questions=8, steps=60), passive.view("ranking-only"))
    assert left[8] < 0.85 * left[1]


def test_knowing_the_defense_is_what_helps(passive):
    naive, adaptive = (
        errors(passive, ZerothOrder(questions=1), passive.view(U, adaptive=a))[-1] for a in (False, True)
    )
    guess = feature_mse(regression_guess(passive.view()), passive.truth)
    assert adaptive < 0.5 * guess
    assert naive > 1.5 * adaptive


@pytest.mark.parametrize("spec", ["label-only", "gaussian:epsilon=0.5"])
def test_where_answers_say_little_it_is_not_worse_than_its_guess(passive, spec):
    view = passive.view(spec)
    assert errors(passive, ZerothOrder(questions=2), view)[-1] < 1.08 * feature_mse(
        regression_guess(view), passive.truth
    )


@pytest.mark.parametrize("rows", [40, 100])
def test_few_auxiliary_rows_are_enough_to_know_how_far_to_go(rows):
    """Of fifty classes and one unknown column: behind noise answers lead astray, and exact ones are not thrown away."""
    rng = np.random.default_rng(0)
    own, unknown = rng.random((600, 6)), np.clip(rng.normal(0.5, 0.17, (600, 1)), 0, 1)
    weights = torch.from_numpy(3 * rng.normal(size=(7, 50)))
    subject = subject_from_arrays(lambda a, p: torch.cat([a, p], dim=1) @ weights, own, unknown, outputs="logits")
    sample, chosen = subject.sample(0, 50, rows), ZerothOrder(questions=2, steps=80)
    left = {}
    for spec in ("gaussian:epsilon=0.5", "none"):
        made = privee.defense(spec)
        oracle = sample.oracle(made, 0)
        view = sample.view(simulated(sample, made, 0, 1), made, adaptive=True, oracle=oracle)
        found, guess = chosen.run(view), feature_mse(regression_guess(view), sample.truth)
        assert feature_mse(found.before[0], sample.truth) == pytest.approx(guess)  # made from all rows
        left[spec] = feature_mse(found.unknown, sample.truth) / guess
    assert left["gaussian:epsilon=0.5"] < 1.1
    assert left["none"] < 0.1


def test_without_auxiliary_rows_it_starts_in_the_middle(passive):
    view = passive.view(auxiliary=False)
    left = errors(passive, ZerothOrder(questions=1, steps=300), view)
    assert left[0] == pytest.approx(feature_mse(mean_guess(view), passive.truth))
    assert left[1] < 0.5 * left[0]


def test_models_that_jump_need_wider_differences():
    """Columns are rounded to a twelfth: over a hundredth next to nothing changes, over a tenth enough does."""
    jumping = Passive(jumps=True)
    near, far = (errors(jumping, ZerothOrder(questions=1, distance=d), jumping.view())[-1] for d in (0.001, 0.1))
    assert far < 0.8 * near


def test_differences_have_the_slope_of_the_match(passive):
    """With as many directions as columns, and a small distance: the slope that autograd finds of the same match."""
    view = passive.view()
    matches = _Matches(view, torch.full_like(passive.truth, 0.5))
    asked, released = view.own[None], view.releases
    matches.take_in(asked, released, 1)
    at = torch.rand(40, UNKNOWN, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    torch.manual_seed(0)
    found = matches.slope(at, UNKNOWN, 1e-6)
    free = at.clone().requires_grad_()
    logits = torch.tanh(torch.cat([view.own, free], dim=1) @ passive.weights) @ passive.out
    logs = torch.log_softmax(logits, dim=1)
    off = logs - logs.mean(dim=1, keepdim=True) - matches.read(released[0])
    (wanted,) = torch.autograd.grad((off.square() * matches._weight[0]).sum(), free)
    wanted = wanted + 2 * (at - 0.5) * matches._precision
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2 * float(wanted.abs().max()))


def test_an_interrupted_one_goes_on_to_the_same_result_and_asks_no_question_twice(passive, tmp_path):
    chosen, seen = ZerothOrder(questions=3, steps=6), []
    whole = chosen.run(passive.view(U), seed=3).unknown

    def stop(done, total):
        seen.append((done, total))
        if done == 10:
            raise KeyboardInterrupt

    view = passive.view(U)
    passive.questions = 0
    with pytest.raises(KeyboardInterrupt):
        chosen.run(view, seed=3, watch=Watch(stop, tmp_path / "run", every=0))
    found = chosen.run(view, seed=3, watch=Watch(folder=tmp_path / "run", every=0)).unknown
    assert torch.equal(found, whole)
    assert passive.questions == 3
    assert seen[-1] == (10, 18)
    assert torch.equal(chosen.run(passive.view(U), seed=3).unknown, whole)
    assert not torch.equal(chosen.run(passive.view(U), seed=4).unknown, whole)


def test_what_is_missing_or_wrong_is_said(passive):
    bare = AttackerView(passive.own, passive.model, passive.view().releases, privee.defense("none"), adaptive=True)
    assert ZerothOrder().why_not(bare) == "needs to ask with own columns of its choice"
    for wrong, says in (
        ({"questions": 0}, "questions must be a whole number from 1"),
        ({"directions": 1.5}, "directions must be a whole number from 1"),
        ({"distance": 0}, "distance must be a number above 0"),
    ):
        with pytest.raises(privee.SettingError, match=says):
            attack("zeroth-order", **wrong)
