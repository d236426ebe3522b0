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
    assert "no limit" in good("budget", "-d", "ranking-only", cwd=tmp_path)
