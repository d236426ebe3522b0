"""The released code re-enacted: its parts, what they hand out, what attacks make of it, and what chance would meet."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from privee.cli import app
from privee.defenses import PriveeU, defense
from privee.errors import SettingError
from privee.paper import Bench, Value, find_result, measure_result
from privee.paper.base import check_parts
from privee.paper.printed import printed_tables
from privee.paper.released import networks, recipes, reenact, scenes
from privee.paper.released.attribution import attribute, best_single, count_met, met_by_chance, near, single
from privee.paper.released.inversion import Steps, losses, starting
from privee.paper.released.networks import Joint, Recipe, accuracy, trained
from privee.paper.released.page_tables import out_of_reach
from privee.paper.released.parts import PARTS, chosen, subsets, written
from privee.paper.released.releases import rank_surrogate, released
from privee.paper.released.scenes import Figure, Scene, figures
from privee.paper.report.attribution_tables import attribution_tables
from privee.paper.results import as_released

NOTHING: frozenset[str] = frozenset()
DIGITS = Scene(dataset="digits", attack="gia")


def quiet(*_: object) -> None:
    pass


def some_scores(rows: int = 200, classes: int = 10) -> np.ndarray:
    values = np.random.default_rng(0).dirichlet(np.full(classes, 0.3), rows)
    return values / values.sum(axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------------ figures and parts


def test_every_printed_figure_of_an_attack_is_there_once():
    every = figures()
    assert len(every) == 249
    counts = {table: sum(f.table == table for f in every) for table in dict.fromkeys(f.table for f in every)}
    assert counts["grna-25"] == 40
    assert counts["gia-75"] == 24
    assert counts["gia-mnist-clients"] == 40
    assert counts["grna-mnist-clients"] == 10
    assert counts["grna-mnist-rho"] == 7
    (one,) = [f for f in every if f.table == "gia-75" and f.scene.dataset == "cifar10" and f.defense == "ope"]
    assert one.printed == printed_tables()["gia_mse_strength_75"]["cifar10"]["ope"]["mean"]
    assert len({(f.table, f.scene, f.defense, f.rho) for f in every}) == 249


def test_a_figure_is_compared_with_parts_that_can_touch_it_alone():
    by = {(f.table, f.scene.dataset, f.defense): f for f in figures()}
    assert {written(c) for c in by["grna-50", "mnist", "none"].combinations} == {
        "as published",
        "double-softmax",
        "scrambled",
        "double-softmax + scrambled",
    }
    assert len(by["gia-50", "mnist", "privee-u+"].combinations) == 2**4
    assert all("cifar10-for-cifar100" in c for c in by["grna-25", "cifar100", "none"].combinations)
    assert all(name in PARTS for f in figures() for c in f.combinations for name in c)
    many = [written(c) for c in by["gia-mnist-clients", "mnist", "none"].combinations]
    assert "double-softmax + scrambled" in many  # the 60 epochs of the settings
    assert not {"as published", "scrambled"} & set(many)  # these are in the page's tables
    assert all("six-epochs" in c for c in by["grna-mnist-clients", "mnist", "none"].combinations)


def test_parts_are_named_with_commas_and_others_are_refused(monkeypatch, capsys):
    assert chosen(" scrambled ,double-softmax") == {"scrambled", "double-softmax"}
    assert chosen("") == NOTHING
    assert [written(some) for some in subsets(["scrambled", "double-softmax"])] == [
        "as published",
        "double-softmax",
        "scrambled",
        "double-softmax + scrambled",
    ]
    with pytest.raises(SettingError, match="there is no part called 'scrambld'; there are double-softmax"):
        chosen("scrambld")
    with pytest.raises(SettingError, match="runtime has no parts"):
        check_parts(find_result("runtime"), "scrambled")
    monkeypatch.setattr("sys.argv", ["privee", "paper", "run", "as-released", "--as-released", "scrambld"])
    assert app.run() == 2
    assert "there is no part called 'scrambld'" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------- releases


def test_the_rank_surrogate_alone_leaves_the_residuals_that_are_printed():
    """One class is certain and the attack finds it: 0.285 at ten classes, 0.328 at a hundred."""
    for classes, left in ((10, 0.285), (100, 0.3283)):
        sure = np.eye(classes)[:1]
        np.testing.assert_allclose((rank_surrogate(sure) - sure).__pow__(2).mean(), left, atol=5e-4)
    np.testing.assert_array_equal(rank_surrogate(np.array([[0.2, 0.2, 0.6]])), [[2 / 3, 1 / 3, 1.0]])


def test_softmax_once_more_leaves_the_floor_that_is_printed():
    sure = torch.eye(10)[:1]
    assert float((torch.softmax(sure, dim=1) - sure).square().mean()) == pytest.approx(0.0655, abs=5e-5)


def test_what_is_handed_out_is_what_our_defenses_hand_out():
    scores = some_scores()
    for digits in (1, 2):
        ours = defense(f"rounding:digits={digits}").release(scores)
        np.testing.assert_allclose(released(scores, f"rounding-{digits}", NOTHING, rho=0.1, seed=0), ours, atol=1e-12)
    moved = released(some_scores(20_000), "gaussian-0.5", NOTHING, rho=0.1, seed=0) - some_scores(20_000)
    assert moved.std() == pytest.approx(0.969, rel=0.01)  # 200,000 draws: one percent is six standard errors
    for parts, draw_range in ((NOTHING, 1.0), (frozenset({"draws-to-3"}), 3.0)):
        release = released(scores, "privee-u", parts, rho=0.3, seed=0)
        made = PriveeU(rho=0.3, draw_range=draw_range)
        public = made.intervals(10)
        order = np.argsort(-scores, axis=1, kind="stable")
        factors = np.take_along_axis((release + public.shift) / scores, order, axis=1)
        assert (factors >= public.factor_low * (1 - 1e-6)).all()
        assert (factors <= public.factor_high * (1 + 1e-6)).all()


def test_the_reversed_schedule_gives_the_leading_class_the_weaker_noise_and_can_break_the_order():
    scores = np.full((400, 10), 0.1) + 1e-3 * np.arange(10)
    scores /= scores.sum(axis=1, keepdims=True)
    plain, reversed_ = (
        released(scores, "privee-u+", parts, rho=0.1, seed=0) for parts in (NOTHING, frozenset({"reversed-schedule"}))
    )
    assert (plain.argmax(axis=1) == 9).all()
    assert (np.argsort(-reversed_, axis=1) != np.argsort(-scores, axis=1)).any()
    with pytest.raises(SettingError, match="must not be above"):
        defense("privee-u+:rho_low=0.1,rho_high=0.05")


def test_ope_hands_out_the_ranking_of_logits_too():
    logits = np.random.default_rng(1).normal(size=(50, 4))
    for parts in (NOTHING, frozenset({"rank-surrogate"})):
        release = released(logits, "ope", parts, rho=0.1, seed=0)
        np.testing.assert_array_equal(release.argmax(axis=1), logits.argmax(axis=1))


# ---------------------------------------------------------------------------------------------- models and attacks


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    recipes = {
        double: Recipe(dataset="digits", epochs=20, learning_rate=3e-3, batch_size=64, double=double)
        for double in (False, True)
    }
    columns = recipes[False].columns(None)
    return columns, {double: trained(r, columns, folder, quiet) for double, r in recipes.items()}, recipes, folder


def test_a_loss_that_takes_softmax_twice_trains_another_model(models):
    columns, joints, recipes, folder = models
    assert recipes[False].key != recipes[True].key
    right = {double: accuracy(joint, columns.test, columns.test_labels) for double, joint in joints.items()}
    assert min(right.values()) > 0.85
    again = trained(recipes[True], columns, folder, quiet)  # from the folder
    torch.testing.assert_close(again(columns.test), joints[True](columns.test))
    assert not torch.equal(joints[False](columns.test), joints[True](columns.test))


def test_known_parts_are_run_once_and_give_the_same_logits(models):
    columns, joints, _, _ = models
    rows = columns.test[:40]
    for known in (10, 32, 45):  # before, at and behind the border between two parties
        logits = joints[False].given(rows[:, :known])(slice(5, 30), rows[5:30, known:])
        torch.testing.assert_close(logits, joints[False](rows[5:30]))


def test_pictures_are_cut_from_left_to_right(monkeypatch):
    from privee.paper.released import columns as module

    x = np.arange(2 * 3 * 4 * 8, dtype=np.float32).reshape(2, 3, 4, 8)
    row = torch.from_numpy(module._strips(x))
    laid = module.Columns(row, row, torch.zeros(2), torch.zeros(2), (48, 48), 10, (3, 4))
    joint = Joint(laid)
    torch.testing.assert_close(joint._part(row[:, :48]), torch.from_numpy(x[:, :, :, :4]))


@pytest.mark.parametrize("normal_start", [True, False])
def test_an_attack_matches_its_own_release_better_than_another_records(models, normal_start):
    columns, joints, _, _ = models
    joint, rows = joints[False], columns.train[:64]
    steps = Steps(at=(5, 100), learning_rate=0.1, normal_start=normal_start)
    scores = torch.softmax(joint(rows), dim=1)
    start = starting(64, 32, steps, 0)

    def left(release):
        return losses(joint.given(rows[:, :32]), lambda z: torch.softmax(z, dim=1), start, release, steps).mean(dim=1)

    paired, scrambled = left(scores), left(scores.roll(1, dims=0))
    assert paired[1] < paired[0]  # it goes on
    assert paired[1] < 0.8 * scrambled[1]


# ----------------------------------------------------------------------------------------------------- attribution


def figure(printed: float, dataset: str = "mnist", name: str = "none") -> Figure:
    return Figure(table="grna-50", scene=Scene(dataset=dataset, attack="grna"), defense=name, printed=printed)


def values(**by_name: float) -> dict[frozenset[str], Value]:
    named = {"published": "", "double": "double-softmax", "scrambled": "scrambled", "both": "double-softmax,scrambled"}
    return {chosen(named[name]): Value(value=value) for name, value in by_name.items()}


def test_fifteen_percent_is_near_and_more_is_not():
    assert near(1.15, 1.0)
    assert near(0.85, 1.0)
    assert not near(1.151, 1.0)
    assert not near(0.849, 1.0)


def test_a_figure_goes_to_the_fewest_parts_that_meet_it():
    found = attribute(figure(1.0), values(published=2.0, double=1.1, both=1.01))
    assert found.met == (chosen("double-softmax"), chosen("double-softmax,scrambled"))
    assert found.nearest == chosen("double-softmax,scrambled")
    missed = attribute(figure(1.0), values(published=2.0, double=3.0))
    assert missed.met == ()
    assert missed.nearest == NOTHING


def test_chance_is_the_mean_over_all_shuffles():
    rows = [(0.1, {"published": 0.1, "scrambled": 0.5}), (0.5, {"published": 0.11}), (3.0, {"published": 7.0})]
    found = [attribute(figure(printed), values(**tried)) for printed, tried in rows]
    counts = [
        sum(
            any(near(value, printed) for value in tried.values())
            for (_, tried), printed in zip(rows, shuffled, strict=True)
        )
        for shuffled in itertools.permutations([printed for printed, _ in rows])
    ]
    assert met_by_chance(found) == pytest.approx(np.mean(counts))
    other = attribute(figure(9.0, name="ope"), values(published=9.0))  # a kind of its own: shuffling changes nothing
    assert met_by_chance([*found, other]) == pytest.approx(np.mean(counts) + 1)


def test_single_combinations_are_one_choice_for_all():
    found = [
        attribute(figure(1.0), values(published=1.0, scrambled=5.0)),
        attribute(figure(2.0, dataset="drive"), values(published=9.0, scrambled=2.0)),
        attribute(figure(3.0, dataset="drive"), values(published=9.0, scrambled=3.0)),
    ]
    assert count_met(found) == 3
    assert single(found, NOTHING) == 1
    assert best_single(found) == (chosen("scrambled"), 2)


# ---------------------------------------------------------------------------------------------------- the result


def test_a_scene_is_played_once_and_then_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(scenes.BY_MODEL, ("digits", False, "gia"), ("scrambled",))
    first = reenact.play(DIGITS, seed=0, folder=tmp_path, data_dir=None, tell=quiet)
    assert set(first["found"]) == {
        "as published",
        "rank-surrogate",
        "draws-to-3",
        "reversed-schedule",
        "scrambled",
        "rank-surrogate + scrambled",
        "draws-to-3 + scrambled",
        "reversed-schedule + scrambled",
    }
    assert first["found"]["scrambled"]["none"] > 1.2 * first["found"]["as published"]["none"]
    monkeypatch.setattr(networks, "_fit", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr(reenact, "losses", lambda *_: pytest.fail("attacked again"))
    assert reenact.play(DIGITS, seed=0, folder=tmp_path, data_dir=None, tell=quiet) == first


def test_conjectures_are_left_out_where_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(scenes.BY_MODEL, ("digits", False, "gia"), ("scrambled", "unfitted"))
    found = reenact.play(DIGITS, seed=0, folder=tmp_path, data_dir=None, tell=quiet, conjectures=False)
    assert set(found["accuracy"]) == {"as published", "scrambled"}
    every = reenact.play(DIGITS, seed=0, folder=tmp_path, data_dir=None, tell=quiet)
    assert set(every["accuracy"]) == {"as published", "scrambled", "unfitted", "scrambled + unfitted"}


def test_several_models_give_a_mean_with_its_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(recipes.MODELS, "digits gia", 3)
    monkeypatch.setitem(recipes.TRAINING, "digits", {"epochs": 2, "learning_rate": 3e-3, "batch_size": 64})
    monkeypatch.setattr(as_released, "QUICK_SCENES", as_released.QUICK_SCENES[:2])
    outcome = measure_result(find_result("as-released"), Bench("quick", tmp_path, parts="scrambled"))
    counts = {row.where["attack"]: {value.count for value in row.measured.values()} for row in outcome.rows}
    assert counts == {"grna": {1}, "gia": {3}}


def test_parts_can_be_switched_on_alone(tmp_path: Path):
    bench = Bench("quick", tmp_path, parts="scrambled,rank-surrogate")
    outcome = measure_result(find_result("as-released"), bench)
    by_defense = {row.where["defense"]: set(row.measured) for row in outcome.rows if row.where["attack"] == "gia"}
    surrogate = {"ope": {"rank-surrogate + scrambled"}}
    assert by_defense == surrogate | {name: {"scrambled"} for name in ("none", "privee-u", "privee-u+")}
    assert outcome.about["command"].endswith("--as-released 'scrambled,rank-surrogate'")
    assert json.loads(json.dumps(outcome.as_dict()))["rows"]


# ------------------------------------------------------------------------------------------------------ on the page


def test_figures_out_of_reach_are_those_that_the_notes_name():
    large = out_of_reach()
    assert len(large) == 39  # of the 44 in the notes, six are printed by rho and count once
    assert {f.defense for f in large} == {"none", "privee-u", "privee-u+"}
    assert all(f.printed > 0.2 for f in large if f.defense == "none" and f.scene.dataset == "mnist")


def test_the_page_counts_what_is_met_what_is_left_and_what_cannot_be_met():
    every = [attribute(figure, {NOTHING: Value(value=figure.printed)}) for figure in figures()[:3]]
    missed = [attribute(figure, {NOTHING: Value(value=2 * figure.printed)}) for figure in figures()[3:8]]
    in_tables = {missed[0].figure: (missed[0].figure.printed,), missed[1].figure: (0.0,)}
    too_large = {missed[0].figure, missed[1].figure, every[0].figure}
    text = attribution_tables([*every, *missed], "as-released.json", in_tables, too_large)
    (line,) = [line for line in text.splitlines() if line.startswith("| grna-25 | 8 |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["grna-25", "8", "3 of 8"]
    assert cells[-5:-3] == ["1", "4"]  # in tables, either
    assert cells[-2:] == ["4", "1"]  # not met, too large among those
