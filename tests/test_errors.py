"""The family of errors: as drawn, and whole on their way between processes."""

import importlib
import pickle
import pkgutil
import re

import pytest

import privee
import privee.errors
from privee.errors import PriveeError, ScoreError, SettingError, UnavailableError

RUN_ON_IMPORT = ("privee.__main__", "privee.gateway.ledger.migrations.env")
BRANCH = re.compile(r"((?:[│ ]   |├── |└── )*)([A-Z]\w+)(?:  +(.*))?\Z")

Path = tuple[str, ...]


@pytest.fixture(scope="module")
def missing() -> set[str]:
    """Every module is imported; these packages are not installed here."""
    missing = set()
    for module in pkgutil.walk_packages(privee.__path__, "privee."):
        if module.name in RUN_ON_IMPORT:
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "privee").startswith("privee"):
                raise
            missing.add(error.name)
    return missing


def tree(kind: type, above: Path = ()) -> dict[Path, type]:
    """Every class below this one, by the names on the way to it."""
    path = (*above, kind.__name__)
    found = {path: kind}
    for below in kind.__subclasses__():
        if below.__module__.startswith("privee."):
            found |= tree(below, path)
    return found


def drawing() -> dict[Path, str]:
    """What the docstring draws: the words beside each class, by the names on the way to it."""
    found: dict[Path, str] = {}
    path: Path = ()
    for line in (privee.errors.__doc__ or "").splitlines():
        match = BRANCH.match(line.removeprefix("    ")) if line.startswith("    ") else None
        if match:
            path = (*path[: len(match[1]) // 4], match[2])
            assert path not in found, f"{path[-1]} is drawn twice"
            found[path] = match[3] or ""
    return found


def test_the_drawing_is_the_tree(missing):
    real, drawn = tree(PriveeError), drawing()
    assert real.keys() <= drawn.keys()
    assert drawn.keys() == real.keys() or missing
    for path, kind in real.items():
        said = re.findall(r"also an? (\w+)", " ".join(words for other, words in drawn.items() if other[-1] == path[-1]))
        parents = {path[-2] for path in real if path[-1] == kind.__name__ and len(path) > 1}
        also = {"ValueError", "ModuleNotFoundError"} & {base.__name__ for base in kind.__mro__} | ({*said} & parents)
        assert {*said} == also, path


def test_the_drawing_is_read():
    """So that the test above compares something."""
    assert {path[-1] for path in drawing() if len(path) == 2} >= {"ScoreError", "SettingError", "UnavailableError"}
    assert ("PriveeError", "UnavailableError", "SiteLostError") in drawing()


def test_bad_settings_and_scores_are_value_errors_and_nothing_else_is(missing):
    assert issubclass(SettingError, ValueError)
    assert issubclass(ScoreError, ValueError)
    others = [kind for kind in tree(PriveeError).values() if not issubclass(kind, SettingError | ScoreError)]
    assert len(others) >= 3
    assert [kind for kind in others if issubclass(kind, ValueError)] == []
    with pytest.raises(ValueError, match="rho"):
        privee.PriveeU(rho=-1)
    with pytest.raises(ValueError, match="row 0"):
        privee.RankingOnly().release([[0.5, float("nan")]])


def test_every_error_survives_the_way_to_another_process(missing):
    for path, kind in tree(PriveeError).items():
        error = kind.__new__(kind, "what went wrong")
        error.place = 3
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what joblib and Ray do with an error of a worker
        assert (type(again), str(again), again.place) == (kind, "what went wrong", 3), path


def test_errors_with_parts_keep_them():
    error = pickle.loads(pickle.dumps(ScoreError("holds a NaN", row=3, column=1)))  # noqa: S301
    assert (str(error), error.what, error.row, error.column) == ("row 3, class 1 holds a NaN", "holds a NaN", 3, 1)


def test_a_lost_site_keeps_its_name_on_the_way():
    lost = pytest.importorskip("privee.federation.errors").SiteLostError("bank", "did not answer in 3 s")
    again = pickle.loads(pickle.dumps(lost))  # noqa: S301
    assert (str(again), again.site) == ("site bank did not answer in 3 s", "bank")
    assert isinstance(again, UnavailableError)


def test_a_party_that_is_away_is_an_outage_and_one_that_says_no_is_not():
    pytest.importorskip("grpc")
    from grpc import StatusCode

    from privee.gateway.channel.connection import PartyTimeouts, failure_of
    from privee.party.errors import PartyError

    outages = {StatusCode.UNAVAILABLE, StatusCode.CANCELLED, StatusCode.DEADLINE_EXCEEDED}
    for code in (*outages, StatusCode.PERMISSION_DENIED, StatusCode.UNIMPLEMENTED, StatusCode.INTERNAL):
        error = failure_of("bank", code, "", PartyTimeouts())
        again = error.again()
        assert isinstance(error, UnavailableError) == (code in outages), code
        assert (type(again), str(again), again.kind, again.party) == (type(error), str(error), error.kind, "bank")
    unknown = PartyError("bank", "unknown-entity", "does not know it", (4,)).again()
    assert (unknown.positions, isinstance(unknown, UnavailableError)) == ((4,), False)
