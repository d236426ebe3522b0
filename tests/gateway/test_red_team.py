"""The red team's attacks, small: `python benchmarks/red_team.py` plays them at full size."""

import pytest
from benchmarks._red_team import ATTACKS, Scene, replay

pytestmark = pytest.mark.slow
ELSEWHERE = ("timing", "floods", "kits")
"""Times on a busy machine are measured by the benchmark, not asserted; kits have a test file of their own."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    with Scene(tmp_path_factory.mktemp("red"), 0.1) as found:
        yield found


@pytest.mark.parametrize("name", [name for name in ATTACKS if name not in ELSEWHERE])
def test_it_is_held_off(name, scene):
    outcomes = replay(name, scene)
    assert outcomes
    assert all(outcome.held for outcome in outcomes), outcomes
    assert all(outcome.measured for outcome in outcomes)
