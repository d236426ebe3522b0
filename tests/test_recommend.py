"""Recommendations: the rules, the figures behind them, and the command as a user runs it."""

import dataclasses
import io
import json

import numpy as np
import pytest
from rich.console import Console
from scipy.special import softmax

import privee
from privee.audit import Grid, run_grid, subject_from_arrays
from privee.audit.recommend import Effort, Wishes, candidates, recommend
from privee.audit.recommend.choice import TOP_GAP, TOP_SHARE
from privee.audit.recommend.evidence import model_ground, synthetic_ground
from privee.audit.recommend.rules import EPSILONS, NOT_PROTECTIVE
from privee.cli import recommend as command
from privee.errors import PriveeError
from tests.conftest import softmax_rows
from tests.test_cli import good, run

ACTIVE, PASSIVE, CLASSES, ROWS = 5, 3, 6, 240
WEIGHTS = np.random.default_rng(1).normal(size=(ACTIVE + PASSIVE, CLASSES)) * 3
EFFORT = Effort(
    seeds=2,
    records=30,
    auxiliary_rows=60,
    attacks=("equation-solving", "learned-inversion:simulations=1", "prior-informed"),
    jobs=1,
)
ENTRY = """
import numpy as np
from scipy.special import softmax

X = np.random.default_rng(0).random((120, 8))
W = np.random.default_rng(1).normal(size=(8, 5)) * 3

def parts():
    return lambda a, p: softmax(np.hstack([a, p]) @ W, axis=1), X[:, :5], X[:, 5:]
"""
REFUSED = {"none", "temperature", "privee-u", "privee-u+"}


def model(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    return softmax(np.hstack([active, passive]) @ WEIGHTS, axis=1)


@pytest.fixture(scope="module")
def one_pool():
    """A user's own model: any row may be attacked, any may be known."""
    rng = np.random.default_rng(0)
    columns = rng.random((ROWS, 2)) @ rng.random((2, ACTIVE + PASSIVE)) + 0.3 * rng.random((ROWS, ACTIVE + PASSIVE))
    return subject_from_arrays(model, columns[:, :ACTIVE], columns[:, ACTIVE:])


@pytest.fixture(scope="module")
def subject(one_pool):
    """The same with test records and training records apart, as in a saved run."""
    rows = np.arange(ROWS)
    return dataclasses.replace(one_pool, targets=rows[:80], auxiliary=rows[80:])


@pytest.fixture(scope="module")
def measured(subject):
    return recommend(Wishes(max_moved=0.35, queries=2), subject=subject, effort=EFFORT)


# The rules


@pytest.mark.parametrize(
    ("wishes", "name", "settings"),
    [
        ({}, "ranking-only", {}),
        ({"formal": True}, "ranking-only", {}),
        ({"epsilon": 0.01, "queries": 1000}, "ranking-only", {}),
        ({"keep": "top-9"}, "ranking-only", {}),  # nine of ten settle the tenth
        ({"keep": "class"}, "label-only", {}),
        ({"keep": "top-1"}, "label-only", {}),
        ({"keep": "class", "calibrated_top": True}, "ordered-dp", {"keep_top": 1}),
        ({"keep": "class", "max_moved": 0.4}, "ordered-dp", {"keep_top": 1}),
        ({"keep": "top-3"}, "ordered-dp", {"keep_top": 3, "epsilon": 0.5}),
        ({"keep": "top-3", "epsilon": 1, "queries": 4}, "ordered-dp", {"keep_top": 3, "epsilon": 0.25}),
        ({"max_moved": 0.3}, "ordered-dp", {"keep_top": None, "prior": None}),
        ({"calibrated_top": True}, "ordered-dp", {"keep_top": None}),
        ({"max_moved": 2.0, "formal": True}, "ordered-dp", {"epsilon": 0.5}),
    ],
)
def test_the_rules(wishes, name, settings):
    found = recommend(Wishes(**wishes), n_classes=10)
    assert found.met
    assert found.unmet == {}
    assert found.chosen.settings["name"] == name
    assert settings.items() <= found.chosen.settings.items()
    assert {option.settings["name"] for option in found.not_protective} == REFUSED
    assert "rounding:digits=2" in {option.defense for option in found.alternatives}
    assert found.chosen.defense not in {option.defense for option in (*found.alternatives, *found.not_protective)}


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("keep", ["class", "top-2", "ranking"])
@pytest.mark.parametrize("more", [{}, {"calibrated_top": True}, {"max_moved": 0.6, "queries": 3, "formal": True}])
def test_what_must_stay_exact_does(classes, keep, more):
    """Whatever is recommended keeps the order that was asked for, on saturated scores and with ties too."""
    chosen = privee.defense(**recommend(Wishes(keep=keep, **more), n_classes=classes).chosen.settings)
    assert chosen.name not in REFUSED
    scores = np.concatenate([softmax_rows(100, classes, 40.0), np.full((2, classes), 1 / classes)])
    order, after = (np.argsort(-x, axis=1, kind="stable") for x in (scores, chosen.release(scores)))
    leading = {"class": 1, "top-2": min(2, classes), "ranking": classes}[keep]
    assert (order[:, :leading] == after[:, :leading]).all()


def test_calibrated_means_calibrated_and_better_than_one_number():
    found = recommend(Wishes(calibrated_top=True), n_classes=10)
    figures, scores = found.chosen.figures, synthetic_ground(10, learn=False).scores[0]
    one_number = np.abs(scores.max(axis=1) - np.median(scores.max(axis=1))).mean()
    assert figures.calibration_gap <= TOP_GAP
    assert figures.top_score_error <= TOP_SHARE * one_number
    safer = next(option for option in found.alternatives if option.settings["name"] == "ordered-dp")
    assert safer.settings["epsilon"] == found.chosen.settings["epsilon"] / 2
    assert safer.figures.top_score_error > TOP_SHARE * one_number
    assert "top score" in safer.why
    assert found.chosen.settings["prior"] is not None
    assert "fitted" in found.use  # the prior of synthetic scores is nobody's
    assert any("synthetic" in note for note in found.notes)


def test_tighter_limits_cost_epsilon_and_are_kept():
    spent = []
    for most in (2.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.25):
        found = recommend(Wishes(max_moved=most), n_classes=10)
        assert found.met
        assert found.chosen.figures.mean_l1_moved <= most
        safer = [option for option in found.alternatives if "moves scores by" in option.why]
        assert all(option.figures.mean_l1_moved > most for option in safer)
        assert len(safer) == (found.chosen.epsilon > EPSILONS[0])
        spent.append(found.chosen.epsilon)
    assert spent == sorted(spent)
    assert spent[0] < spent[-1]


def test_more_releases_share_the_budget():
    allowed = []
    for queries in (1, 2, 3, 7, 16, 1000):
        found = candidates(Wishes(max_moved=0.1, epsilon=8, queries=queries), 10)
        epsilons = [defense.epsilon for defense in found]
        assert epsilons == sorted(set(epsilons))
        assert 0.99 * 8 <= queries * epsilons[-1] <= 8 + 1e-9
        allowed.append(epsilons[-1])
    assert allowed == sorted(set(allowed), reverse=True)
    assert candidates(Wishes(max_moved=0.1, formal=True), 10)[-1].epsilon == 8
    assert candidates(Wishes(max_moved=0.1), 10)[-1].epsilon == 64


def test_releases_add_up_and_repeats_do_not():
    found = recommend(Wishes(max_moved=0.5, epsilon=32, queries=4), n_classes=10)
    first, second, third = found.over_releases
    assert f"4 x {found.chosen.epsilon:g} = {4 * found.chosen.epsilon:g} (budget: 32)" in first
    assert f"Repeatable) the same query gets the same release and costs epsilon {found.chosen.epsilon:g} once" in second
    assert "ordered-dp:epsilon=32 moves scores by" in third
    assert "no more than one" in recommend(Wishes(queries=4), n_classes=10).over_releases[0]


@pytest.mark.parametrize(
    ("wishes", "nearest", "would_do"),
    [
        ({"max_moved": 0.001}, 64, "no epsilon up to 64 meets all wishes"),
        (
            {"max_moved": 0.3, "epsilon": 8, "queries": 5},
            1.6,
            "epsilon 16 for each release would do, 80 in all (16 for repeats of one query)",
        ),
        ({"max_moved": 0.3, "formal": True}, 8, "epsilon 16 would do"),
    ],
)
def test_what_cannot_be_met_is_said(wishes, nearest, would_do):
    found = recommend(Wishes(**wishes), n_classes=10)
    assert not found.met
    assert set(found.unmet) == {"max_moved"}
    assert would_do in found.unmet["max_moved"]
    assert "comes nearest" in found.chosen.why
    assert found.chosen.epsilon == nearest
    tried = [*(o for o in found.alternatives if o.settings["name"] == "ordered-dp"), found.chosen]
    assert min(option.figures.mean_l1_moved for option in tried) == found.chosen.figures.mean_l1_moved > 0.001


def test_rounding_is_named_with_the_order_it_breaks():
    option = next(o for o in recommend(Wishes(), n_classes=10).alternatives if o.defense == "rounding:digits=2")
    assert option.figures.ranking_kept < 0.5
    assert f"ranking kept in {option.figures.ranking_kept:.0%} of records" in option.why
    assert option.epsilon is None


def test_something_safer_within_the_limits_is_pointed_out():
    found = recommend(Wishes(max_moved=1.9), n_classes=10)
    assert "it is within the limits" in next(o.why for o in found.alternatives if o.defense == "ranking-only")
    found = recommend(Wishes(max_moved=0.5), n_classes=10)
    assert "it is within the limits" not in next(o.why for o in found.alternatives if o.defense == "ranking-only")


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        ({"keep": "top-0"}, "keep must be ranking, class, or top-K such as top-3, got 'top-0'"),
        ({"keep": "top-x"}, "keep must be"),
        ({"keep": "top-11"}, "top-11 asks for more classes than there are (10)"),
        ({"epsilon": 0}, "epsilon must be a number above 0, got 0"),
        ({"epsilon": float("nan")}, "epsilon must be a number above 0"),
        ({"max_moved": -0.1}, "max_moved must be a number above 0, got -0.1"),
        ({"max_moved": 0}, "max_moved must be a number above 0, got 0"),
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"max_moved": 0.1, "epsilon": 0.01, "queries": 11}, "epsilon leaves less than 0.001 for each release"),
    ],
)
def test_senseless_wishes_get_one_line(wishes, says):
    with pytest.raises(PriveeError) as raised:
        recommend(Wishes(**wishes), n_classes=10)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_advice_is_on(subject):
    with pytest.raises(PriveeError, match="a model, or how many classes"):
        recommend(Wishes())
    with pytest.raises(PriveeError, match="the model has 6 classes, not 7"):
        recommend(Wishes(), n_classes=7, subject=subject)
    with pytest.raises(PriveeError, match="classes must be a whole number from 2"):
        recommend(Wishes(), n_classes=1)
    with pytest.raises(PriveeError, match="seeds must be a whole number from 1"):
        Effort(seeds=0)


# The evidence


def test_synthetic_figures_are_those_of_the_release():
    found = recommend(Wishes(max_moved=0.5), n_classes=20)
    assert found.tried == "synthetic"
    assert "synthetic" in found.tried_on
    scores = synthetic_ground(20, learn=False).scores[0]
    for option in (found.chosen, *found.alternatives, *found.not_protective):
        assert option.attacked is None
        defense = privee.defense(option.defense)
        release = defense.release(scores, draws=privee.seeded(0, "release", option.defense))
        assert option.figures.mean_l1_moved == pytest.approx(np.abs(release - scores).sum(axis=1).mean())
        undone = np.abs(defense.estimate_scores(release) - scores).sum(axis=1).mean()
        assert option.figures.left_after_inverse == pytest.approx(undone)
        assert option.proven == defense.guarantee(20).proven
        assert option.epsilon == defense.guarantee(20).epsilon
    # PRIVEE-U moves scores most, and is undone: that is why it is never recommended.
    figures = {option.settings["name"]: option.figures for option in found.not_protective}
    assert figures["privee-u"].mean_l1_moved > 2
    assert figures["privee-u"].left_after_inverse < 0.05
    assert figures["temperature"].left_after_inverse < 1e-9


def test_measured_evidence_agrees_with_an_audit(subject, measured):
    assert measured.tried == "measured"
    assert measured.chosen.figures.mean_l1_moved <= 0.35
    options = (measured.chosen, *measured.alternatives, *measured.not_protective)
    grid = Grid(
        defenses=tuple(option.defense for option in options),
        attacks=EFFORT.attacks,
        seeds=(0, 1),
        records=30,
        auxiliary_rows=60,
        queries=2,
    )
    audit = run_grid([subject], grid, jobs=1)
    for option in options:
        card = audit.card(option.defense)
        assert option.figures.mean_l1_moved == pytest.approx(card.mean_l1_moved)
        assert option.figures.top_score_error == pytest.approx(card.top_score_error)
        assert option.figures.ranking_kept == pytest.approx(card.ranking_kept)
        assert option.attacked.headline.attack == card.headline.attack
        assert option.attacked.headline.error.mean == pytest.approx(card.headline.error.mean)
        assert option.attacked.guess_normalised == pytest.approx(card.guess_normalised)
        assert option.attacked.attainable_protection == pytest.approx(card.attainable_protection)
        assert option.attacked.verdict == card.verdict


def test_what_protects_nothing_is_shown_to(measured):
    """A logistic model with fewer unknown columns than classes: undefended scores give everything away."""
    errors = {o.settings["name"]: o.attacked.headline.error.mean for o in measured.not_protective}
    assert errors["none"] < 1e-9
    assert errors["temperature"] < 1e-9
    assert measured.chosen.attacked.headline.error.mean > 10 * max(errors.values())
    for option in measured.not_protective:
        assert f"{option.attacked.guess_normalised:.0%} of the best guess's error" in option.why
    assert "one seed" not in " ".join(measured.notes).lower()


def test_tail_and_prior_are_learned_from_rows_that_are_not_attacked(subject, one_pool, measured):
    public = model(one_pool.columns[80:, :ACTIVE], one_pool.columns[80:, ACTIVE:])
    ground, same = model_ground(subject, EFFORT)
    assert same is subject
    assert ground.public.shape == public.shape
    fitted = privee.OrderedDP.fitted(measured.chosen.epsilon, ground.public)
    assert privee.defense(measured.chosen.defense) == fitted
    ground, rest = model_ground(one_pool, EFFORT)
    assert set(rest.targets) == set(rest.auxiliary) == set(range(ROWS)) - set(range(0, ROWS, 4))
    assert len(ground.public) == ROWS // 4
    few = dataclasses.replace(subject, auxiliary=np.arange(80, 86))
    assert model_ground(few, EFFORT)[0].public is None


def test_no_attack_is_not_taken_for_a_failed_attack(subject):
    effort = dataclasses.replace(EFFORT, attacks=("prior-informed",), seeds=1)  # needs gradients; the model has none
    found = recommend(Wishes(), subject=subject, effort=effort)
    assert found.chosen.attacked is None
    assert any("No attack could run" in note for note in found.notes)


def test_json_round_trip(measured):
    plain = measured.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert privee.defense(**plain["chosen"]["settings"]).spec == plain["chosen"]["defense"] == measured.chosen.defense
    assert Wishes(**plain["wishes"]) == measured.wishes
    assert plain["chosen"]["attacked"]["headline"]["error"]["mean"] == measured.chosen.attacked.headline.error.mean
    assert [option["defense"] for option in plain["not_protective"]] == list(NOT_PROTECTIVE)


# The command


def right_of(column: int, words: str) -> str:
    """The right one of two columns as running text."""
    return " ".join(line[column:].strip() for line in words.splitlines())


def test_the_command_for_a_number_of_classes(tmp_path):
    wishes = ("--keep", "top-3", "--calibrated-top", "--epsilon", 40, "--queries", 2)
    told = json.loads(good("recommend", "--classes", 10, *wishes, "--json", cwd=tmp_path))
    expected = recommend(Wishes(keep="top-3", calibrated_top=True, epsilon=40, queries=2), n_classes=10)
    assert told == expected.as_dict()
    words = good("recommend", "--classes", 10, *wishes, cwd=tmp_path)
    assert words.startswith(f"Use: {expected.chosen.defense}\n")
    chosen, others = words.split("Considered, and why not")
    for part in (expected.chosen.proven, *expected.chosen.not_covered, *expected.over_releases, *expected.notes):
        assert part in right_of(13, chosen)
    for option in (*expected.alternatives, *expected.not_protective):
        assert option.why in right_of(32, others)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_cut_short_on_a_narrow_screen(monkeypatch, measured):
    screen = Console(width=60, file=io.StringIO())
    monkeypatch.setattr(command, "out", screen)
    command._show(measured)
    words = screen.file.getvalue()
    assert "…" not in words
    assert measured.use.replace(" ", "") in "".join(line[13:].strip() for line in words.splitlines()).replace(" ", "")


def test_the_command_for_ones_own_model(tmp_path):
    (tmp_path / "mine.py").write_text(ENTRY)
    quick = ("--records", 20, "--auxiliary", 40, "--jobs", 1)
    told = json.loads(good("recommend", "--entry", "mine:parts", "--keep", "class", *quick, "--json", cwd=tmp_path))
    assert told["met"]
    assert told["chosen"]["defense"] == "label-only"
    assert told["chosen"]["attacked"]["guess_normalised"] > 0.5
    assert told["not_protective"][0]["attacked"]["grade"] == "open"
    assert "20 records and 40 auxiliary rows" in told["tried_on"]


def test_wishes_that_cannot_be_met_are_no_error(tmp_path):
    words = good("recommend", "-k", 10, "--max-moved", 0.001, cwd=tmp_path)
    assert words.startswith("Nearest: ordered-dp:epsilon=64\nnot met")
    assert "max moved: the nearest setting moves scores by" in words
    assert recommend(Wishes(max_moved=0.001), n_classes=10).as_dict()["met"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "say what to attack: a run folder"),
        (("--classes", 10, "--entry", "mine:parts"), "give a model or --classes, not both"),
        (("--classes", 10, "--max-moved", -1), "max_moved must be a number above 0, got -1"),
    ],
)
def test_bad_input_gets_one_clear_line(tmp_path, arguments, says):
    code, out, err = run("recommend", *arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert says in err
