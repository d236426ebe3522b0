"""`privee attacks`: the listing, and one attack in detail."""

import json

import pytest
from typer.testing import CliRunner

from privee.attacks import known_attacks
from privee.cli.app import app
from privee.cli.output import out
from privee.errors import PriveeError


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A screen on which no cell of the table is broken into lines."""
    monkeypatch.setattr(out, "width", 200)


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["attacks", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_listing_names_every_attack_and_what_it_needs():
    listed = said()
    assert all(name in listed for name in known_attacks())
    assert "gradients, auxiliary rows" in listed
    assert "2 queries per record" in listed


def test_json_holds_needs_settings_and_source():
    found = {one["attack"]: one for one in json.loads(said("--json"))}
    assert list(found) == list(known_attacks())
    assert found["repeated-query"]["needs"] == {
        "gradients": False,
        "linear_model": False,
        "auxiliary": False,
        "queries": 2,
        "oracle": False,
        "codes": False,
        "embeddings": False,
    }
    assert found["repeated-query"]["settings"] == {"inner": None, "estimator": "likelihood"}
    assert found["grna-generator"]["settings"]["hidden"] == [600, 200, 100]
    assert "ICDE 2021" in found["equation-solving"]["published"]


def test_one_attack_in_detail_with_the_settings_given():
    shown = said("prior-informed:iterations=3")
    assert "needs: gradients, auxiliary rows" in shown
    assert "iterations = 3" in shown
    assert "learning_rate = 0.02" in shown
    assert "adaptive: undoes what is public of the defense, and measures" in shown
    assert "inner = (must be given)" in said("repeated-query")


def test_a_name_that_is_not_known_is_refused_with_those_that_are():
    with pytest.raises(PriveeError, match="no attack is called 'nope'; there are equation-solving, chebyshev-centre"):
        said("nope")


def test_a_long_name_of_a_guess_does_not_run_into_its_figure(capsys):
    from types import SimpleNamespace

    from privee.cli.attack import _print

    guess = SimpleNamespace(attack="boosted-trees guess", feature_mse=0.0428)
    finding = SimpleNamespace(
        attack="learned-inversion", attacker="adaptive", defense="none", feature_mse=0.01, guess_normalised=0.2,
        confidence_residual=0.1, seconds=1.0, records=10, queries=1, questions=0, status="ok", reason="", after=(),
    )  # fmt: skip
    _print("digits", finding, [guess])
    assert "boosted-trees guess 0.0428" in capsys.readouterr().out
