"""What the page says beside its tables of the released code: OPE's second form, and what PRIVEE-U adds for many."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from privee.paper.base import load_outcome
from privee.paper.measure.contradictions import ReleasedSchedule, as_released, largest_residual
from privee.paper.outcomes import Outcome, Row, Value
from privee.paper.printed import printed_tables
from privee.paper.released.kept_rows import attributed, where_of
from privee.paper.released.parts import chosen, written
from privee.paper.released.releases import released
from privee.paper.released.scenes import Figure, figures
from privee.paper.report.attribution_notes import how_to_read
from privee.paper.report.many_parties import differences
from privee.paper.report.surrogate import with_surrogate

PAGE = Path(__file__).parents[2] / "docs" / "paper"


def row(figure: Figure, **by_parts: float) -> Row:
    measured = {
        written(chosen(name.replace("__", ",").replace("_", "-"))): Value(value=v) for name, v in by_parts.items()
    }
    return Row(where=where_of(figure), measured=measured, printed={"loss": Value(value=figure.printed)})


def one(table: str, defense: str, **scene: object) -> Figure:
    (found,) = [
        f
        for f in figures()
        if (f.table, f.defense) == (table, defense) and all(getattr(f.scene, k) == v for k, v in scene.items())
    ]
    return found


def as_outcome(name: str, rows: list[Row]) -> Outcome:
    return dataclasses.replace(load_outcome(PAGE / f"{name}.json"), rows=tuple(rows))


def test_ope_stands_in_both_forms_below_its_table():
    figure = one("grna-50", "ope", dataset="mnist")
    near = row(figure, rank_surrogate=figure.printed * 1.1, double_softmax__rank_surrogate=9.0)
    held = {"as-released": as_outcome("as-released", [near])}
    table = as_outcome("grna-50", [])
    (line,) = [line for line in str(with_surrogate(table, "x.json", held)).splitlines() if line.startswith("| mnist")]
    assert f"| {figure.printed * 1.1:.3g} | `rank-surrogate` | yes |" in line
    far = {"as-released": as_outcome("as-released", [row(figure, rank_surrogate=9.0)])}
    assert "| no |" in str(with_surrogate(table, "x.json", far))
    assert with_surrogate(table, "x.json", {}) is None
    assert with_surrogate(as_outcome("grna-25", []), "x.json", held) is None


def test_what_privee_adds_on_many_parties_is_compared_with_what_it_adds_here():
    scene = {"parties": 5}
    none, protected = (one("grna-mnist-clients", name, **scene) for name in ("none", "privee-u"))
    added = protected.printed - none.printed
    rows = [
        row(none, six_epochs=0.02, six_epochs__logits_matched=1.0),
        row(protected, six_epochs__draws_to_3=0.02 + added * 1.1, six_epochs__logits_matched__draws_to_3=1.0),
    ]
    text = differences(attributed(rows))
    assert "Of its 1 undefended figures 0 are met by parts that were read: 1 are above 0.2" in text
    assert "within 15% are 1 with six-epochs + draws-to-3 and 0 with six-epochs + draws-to-3 + logits-matched" in text
    assert f"| {added:.3g} | {added * 1.1:.3g} | 0 |" in text
    assert differences(attributed(rows[:1])) == ""


def test_what_is_printed_without_stands_in_the_line_of_its_own_rho():
    found = attributed(load_outcome(PAGE / "as-released.json").rows)
    (line,) = [line for line in differences(found).splitlines() if "25 parties, rho 0.05" in line]
    printed = printed_tables()["grna_mnist_privee_u_by_rho_25_clients"]["0.05"]
    assert f"| {printed['mse_without']:.3g} | {printed['mse_with']:.3g} |" in line


def test_conjectures_are_counted_where_they_were_played():
    figure = one("grna-50", "none", dataset="mnist")
    played = one("grna-mnist-clients", "none", parties=5)
    found = attributed([row(figure, double_softmax=1.0), row(played, six_epochs__unfitted=1.0)])
    assert "which were played for 1 figures alone" in how_to_read(found)


@pytest.mark.parametrize("classes", [2, 10])
def test_no_release_of_the_released_code_goes_beyond_the_bound_of_its_schedule(classes):
    """Its formula, on corners and on scores at random, against the bound that the page prints."""
    bound = largest_residual(ReleasedSchedule(), classes)
    random = np.random.default_rng(0)
    scores = np.concatenate([random.dirichlet(np.full(classes, 0.2), 20_000), np.eye(classes)])
    release = released(scores, "privee-u+", chosen("reversed-schedule"), rho=0.1, seed=0)
    guess = np.roll(np.eye(classes)[scores.argmax(axis=1)], 1, axis=1)
    assert ((guess - release) ** 2).mean(axis=1).max() <= bound
    reached = released(np.eye(classes)[[0] * 20_000], "privee-u+", chosen("reversed-schedule"), rho=0.1, seed=1)
    assert ((np.eye(classes)[1] - reached) ** 2).mean(axis=1).max() == pytest.approx(bound, rel=1e-2)


def test_privee_u_draws_to_three_and_privee_u_plus_to_one():
    assert as_released("none") is None
    assert (as_released("privee-u", 0.3).rho, as_released("privee-u").draw_range) == (0.3, 3.0)
    assert (as_released("privee-u+").draw_range, as_released("privee-u+").rho_by_rank(3)[[0, -1]].tolist()) == (
        1.0,
        [0.1, 0.05],
    )
