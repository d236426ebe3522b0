"""`privee demo`, and the story it tells."""

import json
import sys

import pytest

import privee.demo
from privee.cli import app
from tests._support.commands import good


def check_story(told: dict) -> dict:
    """The expected shape: PRIVEE-U looks safe to a naive attacker and gives everything to one who knows it."""
    plain = [card for card in told["cards"] if not card["subject"].endswith("sealed")]
    cards = {(card["subject"].split(", ")[1], card["defense"]): card for card in plain}
    none, privee_u, ranking = (cards["logistic", spec] for spec in ("none", "privee-u:rho=0.1", "ranking-only"))
    assert none["headline"]["error"]["mean"] < 1e-6
    assert privee_u["ranking_kept"] == 1
    assert privee_u["mean_l1_moved"] > 5
    assert privee_u["naive"]["error"]["mean"] > 0.2
    assert privee_u["adaptive"]["error"]["mean"] < 0.002
    assert ranking["guess_normalised"] > 0.8
    assert privee_u["attainable_protection"] < 0.1
    assert 0.045 < none["mean_guess"]["mean"] < 0.065
    ordered = cards["logistic", "ordered-dp:epsilon=4"]
    assert ordered["attainable_protection"] > 0.9
    assert ordered["mean_l1_moved"] < 0.35
    again = ranking["asked_again"][-1]  # the third act
    assert (again["questions"], again["grade"]) == (5, "open")
    assert again["guess_normalised"] < 0.05
    (sealed,) = [card for card in told["cards"] if card["subject"].endswith("sealed")]  # the fourth
    assert sealed["defense"] == "none"
    assert sealed["without_end"]["grade"] != "open", sealed["without_end"]
    assert sealed["without_end"]["guess_normalised"] > 0.7, sealed["without_end"]["guess_normalised"]
    assert sealed["asked_again"][-1]["guess_normalised"] > 0.7
    assert "one of 8 codes" in sealed["without_end"]["proven"]
    return cards


@pytest.mark.slow
def test_one_model_tells_the_story(tmp_path, monkeypatch, capsys):
    """In this process, with the logistic model, and with attacks that take less time."""
    monkeypatch.setattr(privee.demo, "MODELS", ("logistic",))
    quick = ("equation-solving", "learned-inversion:simulations=1", "prior-informed:iterations=100")
    monkeypatch.setattr(privee.demo, "ATTACKS", quick)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["privee", "demo", "--seeds", "1", "--jobs", "1", "--json"])
    assert app.run() == 0
    told = json.loads(capsys.readouterr().out)
    check_story(told)
    page = (tmp_path / told["files"]["report"]).read_text()
    assert page.count("<img") >= 10  # strips of reconstructions beside the truth


@pytest.mark.slow
def test_demo_tells_the_story(tmp_path):
    told = json.loads(good("demo", "--seeds", 1, "--json", cwd=tmp_path))
    cards = check_story(told)
    assert cards["mlp", "none"]["guess_normalised"] < 0.6  # 0.49 to 0.51, by the processor's last bits
    page = (tmp_path / told["files"]["report"]).read_text()
    assert page.count("<img") >= 20  # strips of reconstructions beside the truth
