"""`privee budget`."""

import json
import re

import pytest

import privee
from tests._support.commands import good


def test_budget_agrees_with_the_theory(tmp_path):
    plan = json.loads(good("budget", "-d", "privee-u:rho=0.1", "-k", 10, "--within", 0.001, "--json", cwd=tmp_path))
    kappa = privee.theory.relative_rate(privee.PriveeU(rho=0.1), 10, "midrange")
    assert plan["queries"] == privee.theory.query_budget(kappa, tolerance=0.001, probability=0.5).min()
    assert plan["queries"] < plan["queries_minimum"]
    assert plan["curve"][0]["best"] == pytest.approx(float(kappa.max() * 0.001))
    out = good("budget", "--scores", "0.7,0.2,0.1", "--tolerance", 0.001, cwd=tmp_path)
    assert re.search(r"^\d+ queries per record", out)
    assert "█" in out


def test_an_epsilon_is_added_up(told, good):
    found = told("budget", "-d", "ordered-dp:epsilon=0.1", "--epsilon", 1)
    assert (found["queries"], found["kind"], found["total"]) == (10, "epsilon", 1.0)
    assert told("budget", "-d", "ordered-dp:epsilon=0.1", "--epsilon", 8, "--delta", 1e-6)["queries"] == 181
    shown = good("budget", "-d", "record-order:epsilon=4")
    assert shown.startswith("2 releases per record: each costs epsilon 4")
    assert "privee gateway serve --epsilon 8\n" in shown
    assert "privee gateway serve --releases 16\n" in good("budget", "-d", "gaussian:epsilon=0.5")
    assert "more than the total of 8" in good("budget", "-d", "ordered-dp:epsilon=16")


def test_what_no_number_bounds_is_said(good):
    assert good("budget", "-d", "ranking-only").startswith("No limit on queries: ")
    assert good("budget", "-d", "label-only").startswith("No limit on queries: ")
    assert good("budget", "-d", "rounding:digits=2").startswith("No number of queries: the same scores give the same")
