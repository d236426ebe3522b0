"""A table of people, models of it in every format, and gateways in front of them."""

import contextlib

import numpy as np
import pytest

from privee.defenses import new_key
from privee.gateway.scorers.settings import ScorerSettings
from tests._support.local_gateway import Local
from tests._support.oip_server import OipServer

ROWS, COLUMNS = 60, ("age", "income", "debt", "years")


class People:
    """Sixty people with four columns, in three classes."""

    def __init__(self, place):
        draw = np.random.default_rng(5)
        self.ids = [f"p{number:03d}" for number in range(ROWS)]
        self.x = draw.normal(size=(ROWS, len(COLUMNS))).round(3)
        self.y = (self.x @ [1.0, -2.0, 0.5, 1.5] + draw.normal(size=ROWS)).argsort().argsort() // (ROWS // 3)
        self.csv = place / "people.csv"
        lines = [",".join(["person", *COLUMNS]), *(f"{one},{','.join(map(str, row))}" for one, row in self)]
        self.csv.write_text("\n".join(lines) + "\n")
        self.place = place

    def __iter__(self):
        return iter(zip(self.ids, self.x.tolist(), strict=True))


@pytest.fixture(scope="session", autouse=True)
def servers():
    """None is started here."""


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    return People(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="session")
def fitted(people):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500).fit(people.x, people.y)


@pytest.fixture(scope="session")
def skops_file(people, fitted):
    import skops.io

    skops.io.dump(fitted, people.place / "model.skops")
    return people.place / "model.skops"


@pytest.fixture
def key_folder(tmp_path):
    (tmp_path / "ledger.key").write_bytes(new_key())
    (tmp_path / "ledger.key").chmod(0o600)
    return tmp_path


@pytest.fixture
def serve(key_folder, people):
    """Start gateways in front of scorers; they end with the test."""
    with contextlib.ExitStack() as stack:

        def start(given, *, rows="people", defense=None, place="one", **settings):
            from privee.defenses import defense as make

            scorer = {"rows": str(people.csv), "id_column": "person"} if rows == "people" else {"rows": rows}
            names = ("id_column", "table", "columns", "classes", "features", "input", "output", "logits", "token")
            scorer |= {name: settings.pop(name) for name in names if name in settings}
            folder = key_folder / place
            folder.mkdir()
            given = {
                "scorer": ScorerSettings(given=str(given), **scorer),
                "defense": make(defense or "none"),
            } | settings
            return stack.enter_context(Local(key_folder, folder, **({"run": None, "parties": {}} | given)))

        yield start


@pytest.fixture
def upstream(fitted):
    def score(inputs):
        (tensor,) = inputs
        return fitted.predict_proba(np.array(tensor["data"]).reshape(-1, len(COLUMNS)))

    with OipServer(score) as server:
        yield server
