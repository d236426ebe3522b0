"""A short training for all, and one small board for each file of tests."""

import pytest

from privee.bench import cases as bench_cases
from tests.bench.small import SHORT, measure, plan


@pytest.fixture(autouse=True)
def short_training(monkeypatch):
    monkeypatch.setattr(bench_cases, "_training", lambda case, data: SHORT)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A board of two defenses and a seal, and the folder it is kept in."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_cases, "_training", lambda case, data: SHORT)
        wanted = plan(protections=("seal:codes=4",))
        return folder, wanted, *measure(folder, wanted)
