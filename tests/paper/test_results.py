"""The paper's results: printed numbers, the contract every result keeps, and what the accounts say."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from privee.cli import app
from privee.data.partition import split_columns
from privee.errors import PriveeError
from privee.paper import (
    Bench,
    Case,
    Row,
    Value,
    find_result,
    known_results,
    load_outcome,
    measure_result,
    printed,
    save_outcome,
)
from privee.paper.measure import attack_rows as attack_rows_module
from privee.paper.measure.agreement import compare
from privee.paper.measure.attack_rows import AttackResult
from privee.paper.measure.bench import Scores
from privee.paper.outcomes import mean_interval, quartiles
from privee.paper.printed import PRINTED_AS, PRIVEE_U, PRIVEE_U_AS_RELEASED, printed_tables, privee_u
from privee.paper.results.by_rho import GrnaByRho
from privee.paper.results.runtime import time_in_turn

PUBLISHED = ("mnist", "cifar10", "cifar100", "drive", "adult")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench("quick", tmp_path_factory.mktemp("paper"), jobs=1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(attack_rows_module.EFFORT, "quick", {"": (8, 2)})


# ------------------------------------------------------------------------------------------------- printed numbers


def test_printed_numbers_are_those_of_the_tables() -> None:
    found = printed("grna_mse_strength_50", "mnist", "privee-u")
    assert found is not None
    assert found.value == pytest.approx(20.5, abs=0.2)  # the figure the design page speaks of
    assert printed("runtime_by_classes", "10", "he_top5") == Value(value=420.0)
    assert printed("grna_mse_strength_50", "mnist", "no such defense") is None
    with_deviation = printed("grna_mse_strength_25", "mnist", "none")
    assert with_deviation == Value(value=0.062, low=pytest.approx(0.053), high=pytest.approx(0.071))


def test_every_printed_table_has_a_result_that_shows_it() -> None:
    """A printed number that no result compares with would be left out quietly."""
    shown = {
        (entry.where["dataset"], value.value)
        for result in known_results().values()
        if isinstance(result, AttackResult)
        for entry in result.entries("full")
        for value in entry.defenses.values()
        if value is not None
    }
    tables = printed_tables()
    for table in (name for name in tables if "_mse_strength_" in name and "clients" not in name):
        for dataset, cells in tables[table].items():
            for cell in cells.values():
                assert (dataset, float(cell["mean"])) in shown, (table, dataset)
    for cells in tables["gia_mse_mnist_strength_50_by_clients"].values():
        assert all(("mnist", cell["after"]) in shown for cell in cells.values())
    for table in ("grna_mnist_privee_u_by_clients_rho_0.1", "grna_mnist_privee_u_by_rho_25_clients"):
        assert all(("mnist", cell["mse_with"]) in shown for cell in tables[table].values())


def test_the_strengths_of_the_tables_are_the_attackers_share() -> None:
    for kind in ("grna", "gia"):
        for strength in (25, 50, 75):
            for entry in find_result(f"{kind}-{strength}").entries("full"):  # type: ignore[attr-defined]
                share = entry.case.attacked_fraction or entry.case.fraction
                assert share == strength / 100


# --------------------------------------------------------------------------------------------------- the contract


def test_names_are_unique_and_unknown_ones_are_refused() -> None:
    assert len({result.title for result in known_results().values()}) == len(known_results())
    with pytest.raises(PriveeError, match=r"no result called 'nothing'; there are runtime"):
        find_result("nothing")


@pytest.mark.parametrize("name", [n for n, r in known_results().items() if isinstance(r, AttackResult)])
def test_attack_results_give_three_figures_for_both_attackers(name: str, bench: Bench, small: None) -> None:
    result = find_result(name)
    assert isinstance(result, AttackResult)
    result = _fast(result)
    rows = result.rows(bench)
    entries = result.entries("quick")
    assert len(rows) == 2 * sum(len(entry.defenses) for entry in entries)
    for row in rows:
        assert set(row.measured) == {"confidence_residual", "feature_mse", "guess_normalised"} or row.note
        assert all(np.isfinite(value.value) for value in row.measured.values())
    assert {row.where["attacker"] for row in rows} == {"naive", "adaptive"}
    result.account(rows)


def _fast(result: AttackResult) -> AttackResult:
    """Fewer entries and steps: the contract does not need good attacks."""
    entries = result.entries

    def few(size: str) -> list[attack_rows_module.AttackEntry]:
        return [dataclasses.replace(entry, attack=_short(entry.attack)) for entry in entries(size)[:2]]  # type: ignore[arg-type]

    result = type(result).__new__(type(result))
    result.__dict__.update(entries.__self__.__dict__)  # type: ignore[attr-defined]
    object.__setattr__(result, "entries", few)
    return result


def _short(spec: str) -> str:
    name = spec.partition(":")[0]
    steps = {"grna-paper": "epochs=2", "gradient-inversion": "iterations=2", "prior-informed": "iterations=2"}
    return f"{name}:{steps[name]}" if name in steps else name


def test_a_model_is_trained_once_and_its_scores_are_those_of_the_run(bench: Bench) -> None:
    case = Case(dataset="digits")
    first = bench.scores(case)
    files = {path: path.stat().st_mtime_ns for path in bench.folder.glob("models/*/*") if path.is_file()}
    again = bench.scores(case)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert isinstance(first, Scores)
    np.testing.assert_array_equal(first.test, again.test)
    (subject,) = bench.subjects([case])
    sample = subject.sample(0, None, 10)
    np.testing.assert_allclose(np.sort(sample.scores.max(axis=1)), np.sort(first.test.max(axis=1)), atol=1e-5)


def test_different_models_have_different_places() -> None:
    cases = [
        Case(dataset="digits"),
        Case(dataset="digits", parties=3),
        Case(dataset="digits", fraction=0.25),
        Case(dataset="digits", seed=1),
        Case(dataset="digits", model="logistic"),
        Case(dataset="digits", how="random"),
    ]
    assert len({case.key for case in cases}) == len(cases)


def test_accuracy_does_not_change_where_the_leading_class_stays(bench: Bench) -> None:
    rows = find_result("accuracy-change").rows(bench)
    exact = [row for row in rows if PRINTED_AS[row.where["defense"]] in ("privee-u", "privee-u+", "ope")]
    assert len(exact) == 4 * 2  # PRIVEE-U+ with draws to 3 is compared with nothing
    for row in exact:
        for value in row.measured.values():
            assert value.value == 0.0
            assert not value.low
            assert not value.high
    noisy = [row for row in rows if row.where["defense"] == "gaussian:epsilon=0.5"]
    assert all(row.measured["test_change"].value < -5 for row in noisy)  # the measurement can see a loss


def test_outcomes_survive_their_file(tmp_path: Path, bench: Bench) -> None:
    outcome = measure_result(find_result("baseline-accuracy"), bench)
    files = save_outcome(outcome, tmp_path)
    assert json.dumps(load_outcome(files["json"]).as_dict()) == json.dumps(outcome.as_dict())
    files["json"].write_text("{}")
    with pytest.raises(PriveeError, match="does not hold a result"):
        load_outcome(files["json"])


# ------------------------------------------------------------------------------------------------------- accounts


def test_a_printed_change_of_accuracy_counts_once() -> None:
    """PRIVEE is measured in two settings and printed once."""
    specs = {PRIVEE_U: 0.0, PRIVEE_U_AS_RELEASED: 0.0, "rounding:digits=1": -0.2, "gaussian:epsilon=0.5": -40.0}
    rows = [
        Row(where={"dataset": "cifar10", "defense": spec}, measured={"train_change": Value(value=ours)})
        for spec, ours in specs.items()
    ]
    result = find_result("accuracy-change")
    account = result.account(result.beside(rows))
    assert "2 of 3 printed changes lie within one point of ours" in account.measured
    assert account.agrees is False
    assert "1 figures show noise that adds accuracy" in account.printed


def _row(defense: str, ours: float, theirs: float | None, features: float = 0.05) -> Row:
    return Row(
        where={"defense": defense, "attacker": "naive"},
        measured={"confidence_residual": Value(value=ours), "feature_mse": Value(value=features)},
        printed={} if theirs is None else {"confidence_residual": Value(value=theirs)},
    )


def test_an_account_counts_what_is_met() -> None:
    account = compare([_row("a", 20.0, 21.0), _row("b", 1.0, 2.0), _row("c", 3.0, None)])
    assert account.agrees is False
    assert account.measured == "within 15% of our confidence residual: 1 (a 1 of 1; no others), of our feature MSE: 0"
    assert compare([_row("a", 20.0, 21.0)]).agrees is True
    assert compare([_row("a", 1.0, None)]).agrees is None
    assert "of our feature MSE: 1" in compare([_row("a", 9.0, 0.05)]).measured


def test_a_printed_figure_counts_once_though_privee_is_measured_in_two_settings() -> None:
    rows = [_row("none", 0.2, 1.0), _row(PRIVEE_U, 2.0, 20.0), _row(PRIVEE_U_AS_RELEASED, 19.0, 20.0)]
    account = compare(rows)
    assert account.printed == "2 figures called feature MSE"
    assert "residual: 1 (PRIVEE-U as released 1 of 1; no others)" in account.measured
    assert "ours 0.2 times theirs" in account.reason
    assert compare(rows[1:]).agrees is True
    assert compare(rows[1:2]).agrees is False


def test_by_rho_the_reason_is_what_stays_without_noise() -> None:
    rows = [_row("none", 0.125, 4.0), *(_row(privee_u(rho, as_released=True), 20.0, 5.0) for rho in (0.1, 0.9))]
    assert GrnaByRho().account(rows).reason.endswith("the undefended figure: 4 printed, 0.125 here")
    assert GrnaByRho().account([_row("none", 4.0, 4.0)]).reason == ""


def test_an_account_says_if_the_attack_is_worthless_undefended() -> None:
    def undefended(share: float) -> Row:
        return Row(where={"defense": "none", "attacker": "naive"}, measured={"guess_normalised": Value(value=share)})

    assert (
        "undefended it errs 3 to 1,200 times as much as a guess"
        in compare([undefended(3.0), undefended(1204.0)]).measured
    )
    assert compare([undefended(0.4), undefended(30.0)]).measured == "2 rows"


def test_specs_are_written_as_audits_write_them() -> None:
    from privee.defenses import defense

    for spec in (*PRINTED_AS, privee_u(0.05), privee_u(0.9, as_released=True)):
        assert defense(spec).spec == spec


# ------------------------------------------------------------------------------------------------ figures and time


def test_intervals() -> None:
    assert mean_interval([1.0]) == Value(value=1.0)
    found = mean_interval([1.0, 2.0, 3.0])
    assert (found.value, found.count) == (2.0, 3)
    assert found.high == pytest.approx(2 + 4.302653 / np.sqrt(3))
    assert quartiles([4.0, 1.0, 2.0, 3.0, 5.0]) == Value(value=3.0, low=2.0, high=4.0, count=5)


def test_a_t_interval_covers_the_mean_as_often_as_it_says() -> None:
    """2,000 intervals of 4 normal values: 95 % cover; the bounds are five standard deviations of that count."""
    values = np.random.default_rng(1).normal(size=(2000, 4))
    covered = sum(1 for row in values if (v := mean_interval(row)).low <= 0 <= v.high)  # type: ignore[operator]
    assert 1900 - 5 * 9.75 <= covered <= 1900 + 5 * 9.75


def test_timing_sees_which_call_is_slower() -> None:
    import time

    found = time_in_turn({"short": lambda: time.sleep(0.001), "long": lambda: time.sleep(0.02)}, 5)
    assert {name: len(samples) for name, samples in found.items()} == {"short": 5, "long": 5}
    assert min(found["long"]) > 0.02 > min(found["short"]) > 0.001  # a busy machine only ever adds time


def test_run_times_without_encryption(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("privee.paper.results.runtime.find_spec", lambda name: None)
    monkeypatch.setattr("privee.paper.results.runtime.CLASSES", (10,))
    outcome = measure_result(find_result("runtime"), bench)
    (left_out,) = [row for row in outcome.rows if row.where["defense"].startswith("he-top-k")]
    assert (left_out.measured, left_out.note) == ({}, "not run: pip install 'privee[baselines]'")
    assert outcome.account.agrees is True
    assert save_outcome(outcome, tmp_path)["picture"].stat().st_size > 10_000


# ----------------------------------------------------------------------------------------------------- the command


def test_list(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["privee", "paper", "list", "--json"])
    assert app.run() == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(known_results())


def test_an_unknown_result_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["privee", "paper", "run", "nothing"])
    assert app.run() == 2
    assert capsys.readouterr().err.startswith("privee: the paper has no result called 'nothing'")


@pytest.mark.parametrize("name", ["gia-mnist-clients", "grna-mnist-clients", "grna-mnist-rho"])
def test_the_attacker_knows_half_of_mnist_however_many_parties_share_it(name):
    result = find_result(name)
    assert isinstance(result, AttackResult)
    for entry in result.entries("full"):
        case = entry.case
        assert (case.split, case.attacked_fraction) == ("contiguous", None)
        held = split_columns(784, parties=case.parties, adversary_fraction=case.fraction).parts[0]
        assert len(held.features) / 784 == 0.5, case.parties


def test_gradient_inversion_takes_fewer_records_in_sweeps_and_says_so():
    sweep, table = find_result("rho-all"), find_result("gia-50")
    efforts = {entry.attack.partition(":")[0]: sweep._effort("full", entry) for entry in sweep.entries("full")[:2]}
    assert efforts == {"grna-paper": (256, 10), "gradient-inversion": (64, 3)}
    assert table._effort("full", table.entries("full")[0]) == (256, 10)
    for result in (sweep, table):
        said = [(one["records"], one["seeds"]) for one in result.settings("full")["entries"]]
        assert said == [result._effort("full", entry) for entry in result.entries("full")]
