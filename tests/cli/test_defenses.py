"""`privee defenses`."""

import json

import privee
from tests._support.commands import good


def test_defenses_lists_all_with_their_guarantees(tmp_path):
    listed = json.loads(good("defenses", "--json", cwd=tmp_path))
    assert {one["defense"]["name"] for one in listed} == set(privee.known_defenses())
    assert all(one["guarantee"]["proven"] for one in listed)
    assert "ranking-only" in good("defenses", cwd=tmp_path)
    assert "epsilon any two score vectors: 6.825" in good("defenses", "gaussian:epsilon=0.5", cwd=tmp_path)
