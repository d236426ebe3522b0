"""Long attacks show how far they are, and go on after an interruption as if there had been none."""

import json
import types
from pathlib import Path

import numpy as np
import pytest
import torch

import privee
from privee.attacks import (
    Attack,
    AttackerView,
    Auxiliary,
    EquationSolving,
    GradientInversion,
    GrnaGenerator,
    GrnaPaper,
    LearnedInversion,
    PriorInformed,
    RepeatedQuery,
    Watch,
    WhiteBox,
    attack,
)
from privee.attacks import descent as batches_module
from privee.attacks import watch as watch_module
from privee.attacks.metrics import feature_mse, mean_guess

OWN, UNKNOWN, CLASSES = 6, 3, 5
U = "privee-u:rho=0.1"


class Small:
    """A model with one bend, and unknown columns that are no linear function of the known ones."""

    def __init__(self) -> None:
        random = torch.Generator().manual_seed(1)
        self.known = torch.randn(OWN, CLASSES, generator=random, dtype=torch.float64)
        self.hidden = 2 * torch.randn(UNKNOWN, CLASSES, generator=random, dtype=torch.float64)
        self.own = torch.rand(340, OWN, generator=random, dtype=torch.float64)
        self.truth = (self.own[:, :UNKNOWN] - 0.5).abs().lt(0.2).double()
        self.calls, self.stop_at_call = 0, 0

    def logits(self, own: torch.Tensor, unknown: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls == self.stop_at_call:
            raise KeyboardInterrupt
        return torch.tanh(own @ self.known) + unknown @ self.hidden

    def view(self, spec: str = U, queries: int = 2, draws: int = 0) -> AttackerView:
        model = WhiteBox(self.logits, own_columns=OWN, unknown_columns=UNKNOWN, n_classes=CLASSES)
        defense, here = privee.defense(spec), slice(0, 40)
        scores = model.scores(self.own[here], self.truth[here]).numpy()
        releases = [defense.release(scores, draws=privee.seeded(draws, query)) for query in range(queries)]
        rows = Auxiliary(self.own[40:], self.truth[40:])
        return AttackerView(self.own[here], model, torch.from_numpy(np.stack(releases)), defense, True, rows)


class Steps(list):
    """Remembers every (done, total), and interrupts when asked to."""

    def __init__(self, stop_after: int = 0) -> None:
        super().__init__()
        self.stop_after = stop_after

    def __call__(self, done: int, total: int) -> None:
        self.append((done, total))
        if len(self) == self.stop_after:
            raise KeyboardInterrupt


ATTACKS = {
    "gradient-inversion": GradientInversion(iterations=9),
    "grna-paper": GrnaPaper(epochs=5, batch_size=16),
    "grna-paper, a step per batch": GrnaPaper(epochs=4, batch_size=16, step_per_batch=True),
    "grna-generator": GrnaGenerator(epochs=4, batch_size=16, hidden=(12, 8), learning_rate=1e-2),
    "prior-informed": PriorInformed(iterations=3),
    "repeated-query": RepeatedQuery(inner=GrnaGenerator(epochs=3, batch_size=16, hidden=(8,)), estimator="mean"),
}


@pytest.fixture(params=ATTACKS.values(), ids=ATTACKS)
def long_attack(request, monkeypatch):
    monkeypatch.setattr(batches_module, "AT_ONCE", 25 * (OWN + UNKNOWN))  # several parts even here
    return request.param


def test_progress_counts_to_the_end_in_one_go(long_attack):
    steps = Steps()
    long_attack.run(Small().view(U), watch=Watch(steps))
    assert len(steps) > 8
    assert steps == [(n + 1, len(steps)) for n in range(len(steps))]


def test_an_interrupted_attack_goes_on_to_the_same_result(long_attack, tmp_path):
    view, unbroken = Small().view(U), Steps()
    whole = long_attack.run(view, seed=3, watch=Watch(unbroken))
    total = len(unbroken)
    for stop in (1, total // 2, total - 1, total):
        folder = tmp_path / f"after-{stop}"
        with pytest.raises(KeyboardInterrupt):
            long_attack.run(view, seed=3, watch=Watch(Steps(stop), folder, every=0))
        rest = Steps()
        found = long_attack.run(view, seed=3, watch=Watch(rest, folder, every=0))
        assert torch.equal(found.unknown, whole.unknown)
        assert found.residual == whole.residual
        assert rest == unbroken[stop:]
        assert not folder.exists()


def test_an_interruption_within_a_step_does_no_harm(tmp_path):
    """The model itself is interrupted, at its thirtieth call: what that step has done already does not count."""
    attack, quiet = GrnaPaper(epochs=20, batch_size=16), Small()
    whole = attack.run(quiet.view(), seed=3)
    small = Small()
    view = small.view()
    small.stop_at_call = small.calls + 30
    with pytest.raises(KeyboardInterrupt):
        attack.run(view, seed=3, watch=Watch(folder=tmp_path / "run", every=0))
    rest = Steps()
    assert torch.equal(attack.run(view, seed=3, watch=Watch(rest, tmp_path / "run")).unknown, whole.unknown)
    assert len(rest) == 60 - 28  # one call was the fingerprint's, one was interrupted


def test_an_attack_can_be_interrupted_again_and_again(tmp_path):
    view, attack, rounds = Small().view(), PriorInformed(iterations=10), 0
    while True:
        rounds += 1
        try:
            found = attack.run(view, seed=3, watch=Watch(Steps(3), tmp_path / "run", every=0))
        except KeyboardInterrupt:
            continue
        break
    assert rounds == 7  # 20 steps, three at a time
    assert torch.equal(found.unknown, attack.run(view, seed=3).unknown)


def test_checkpoints_are_written_when_due_and_finished_stages_are_kept(tmp_path, monkeypatch):
    """Time stands still but for one jump: one checkpoint in the first stage, one at its end, none in the second."""
    view, attack, folder = Small().view(), PriorInformed(iterations=10), tmp_path / "run"
    now = [0.0]
    monkeypatch.setattr(watch_module, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    written = []

    def on_step(done: int, total: int) -> None:
        written.append(sorted(file.name for file in folder.glob("*")))
        now[0] += 31.0 if done == 4 else 0.0
        if done == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attack.run(view, watch=Watch(on_step, folder))
    assert [len(files) for files in written] == 4 * [0] + 13 * [2]
    assert written[-1] == ["attack.json", "rehearsal.safetensors"]
    rest = Steps()
    assert torch.equal(attack.run(view, watch=Watch(rest, folder)).unknown, attack.run(view).unknown)
    assert rest == [(done, 20) for done in range(11, 21)]


def test_a_quick_attack_writes_nothing(tmp_path):
    seen = []
    watch = Watch(lambda done, total: seen.append(any(tmp_path.iterdir())), tmp_path / "run")
    for one in (GradientInversion(iterations=5), PriorInformed(iterations=5)):
        one.run(Small().view(), watch=watch)
    assert len(seen) == 15
    assert not any(seen)
    assert not (tmp_path / "run").exists()


def test_what_else_is_in_the_folder_stays_there(tmp_path):
    note, *killed = (tmp_path / name for name in ("note.txt", ".columns.safetensors.0123.partial", ".tmpGFBfyE"))
    for file in (note, *killed):  # the latter as a process leaves them that is killed while it writes
        file.touch()
    GradientInversion(iterations=3).run(Small().view(), watch=Watch(folder=tmp_path, every=0))
    assert list(tmp_path.iterdir()) == [note]


# --- checkpoints that do not fit -------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(tmp_path) -> Path:
    with pytest.raises(KeyboardInterrupt):
        GradientInversion(iterations=9).run(Small().view(), watch=Watch(Steps(4), tmp_path / "run", every=0))
    return tmp_path / "run"


def refusal(folder: Path, one: Attack | None = None, view: AttackerView | None = None, seed: int = 0) -> str:
    with pytest.raises(privee.PriveeError) as caught:
        (one or GradientInversion(iterations=9)).run(view or Small().view(), seed=seed, watch=Watch(folder=folder))
    message = str(caught.value)
    assert message.endswith(f"; remove the folder {folder} to start afresh")
    assert "\n" not in message
    return message


def test_checkpoints_of_another_attack_are_refused(interrupted):
    def other(view: AttackerView, **changes) -> AttackerView:
        fields = {name: getattr(view, name) for name in AttackerView.__dataclass_fields__}
        return AttackerView(**fields | changes)

    view, changed = Small().view(), Small()
    changed.hidden[0, 0] += 0.1
    own = view.own.clone()
    own[0, 0] += 0.1
    assert "(other seed)" in refusal(interrupted, seed=1)
    assert "(other attack)" in refusal(interrupted, GradientInversion(iterations=10))
    assert "(other attack)" in refusal(interrupted, PriorInformed())
    assert "(other releases)" in refusal(interrupted, view=Small().view(draws=1))
    assert "(other releases)" in refusal(interrupted, view=Small().view(queries=1))
    assert "(other defense)" in refusal(interrupted, view=other(view, defense=privee.PriveeU(rho=0.2)))
    assert "(other adaptive)" in refusal(interrupted, view=other(view, adaptive=False))
    assert "(other auxiliary rows)" in refusal(interrupted, view=other(view, auxiliary=None))
    assert "(other own columns)" in refusal(interrupted, view=other(view, own=own))
    assert "(other model)" in refusal(interrupted, view=other(view, model=changed.view().model))
    rest = Steps()
    GradientInversion(iterations=9).run(Small().view(), watch=Watch(rest, interrupted))
    assert len(rest) == 5  # after all these refusals it is still as good as it was


def test_damaged_checkpoints_are_refused(interrupted):
    columns, about = interrupted / "columns.safetensors", interrupted / "attack.json"
    whole = columns.read_bytes()
    columns.write_bytes(whole[: len(whole) // 2])
    assert "columns.safetensors is damaged" in refusal(interrupted)
    columns.write_bytes(whole)
    text = about.read_text()
    about.write_text(text[:50])
    assert "attack.json is damaged" in refusal(interrupted)
    about.write_text(text.replace('"seed": 0', '"seed": 5'))
    assert "not of 'columns of attack" in refusal(interrupted, seed=5)  # a checkpoint under another one's name


def test_a_folder_that_cannot_be_one_is_named(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(privee.PriveeError, match="taken is a file; checkpoints need a folder"):
        GradientInversion().run(Small().view(), watch=Watch(folder=tmp_path / "taken"))
    with pytest.raises(privee.PriveeError, match=r"cannot write a checkpoint to .*taken.below"):
        GradientInversion().run(Small().view(), watch=Watch(folder=tmp_path / "taken" / "below", every=0))


def test_the_fingerprint_can_be_read_and_holds_no_data(interrupted):
    text = (interrupted / "attack.json").read_text()
    about = json.loads(text)
    assert about["attack"] == GradientInversion(iterations=9).settings()
    assert about["own columns"].startswith("40x6 torch.float64 ")
    assert not any(str(value)[2:8] in text for value in Small().own.flatten().tolist())


@pytest.mark.parametrize("one", [*ATTACKS.values(), RepeatedQuery(inner=EquationSolving())])
def test_saved_settings_give_the_attack_back(one):
    assert attack(**json.loads(json.dumps(one.settings()))) == one


# --- a naive attacker knows nothing of the defense -------------------------------------------------------------------


def test_a_naive_attacker_simulates_undefended_scores(case):
    naive, adaptive = (case.view(U, adaptive=a) for a in (False, True))
    rows = case.auxiliary
    scores = case.model.scores(rows.own, rows.unknown)
    assert torch.equal(naive.simulate(scores, 0).release, scores)
    assert (adaptive.simulate(scores, 0).release - scores).abs().max() > 0.5


def test_naive_learned_inversion_fails_where_an_adaptive_one_does_not(case):
    attack = LearnedInversion()
    naive, adaptive = (case.error(attack, U, adaptive=a) for a in (False, True))
    guess = feature_mse(mean_guess(case.view(U, adaptive=False)), case.truth)
    assert naive > 2 * guess
    assert adaptive < guess / 10
