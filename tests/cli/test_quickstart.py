"""`privee quickstart`: a plan is checked before anything is done, and nothing is done twice."""

import json
import stat

import pytest

from privee.errors import PriveeError
from privee.quickstart import steps
from privee.quickstart.example import write_example
from privee.quickstart.plan import read_plan
from privee.quickstart.steps import Quickstart
from tests._support.messy_tables import write_messy_tables

PLAN = """
parties:
  shop: {file: shop.csv, id: Kundennummer, drop: [Notiz]}
  bank: {file: bank.csv, id: customer, label: risk, categorical: branch}
name: risk
missing_labels: drop
model: logistic
training: {epochs: 2, learning_rate: 0.01}
defense: label-only
releases: 3
"""


def write(folder, text=PLAN):
    (folder / "privee.yaml").write_text(text)
    return folder / "privee.yaml"


def test_a_plan_is_read_as_it_is_written(tmp_path):
    plan = read_plan(write(tmp_path, PLAN.replace("risk\nmissing", "0123\nmissing")))
    assert list(plan.parties) == ["bank", "shop"]  # the active party comes first
    assert plan.name == "0123"
    assert plan.files == {"bank": tmp_path / "bank.csv", "shop": tmp_path / "shop.csv"}
    assert plan.choices.drop == ("shop:Notiz",)
    assert plan.choices.categorical == ("bank:branch",)
    assert (plan.labels.missing, plan.training.epochs, plan.training.learning_rate) == ("drop", 2, 0.01)
    assert (plan.releases, plan.port, plan.out) == (3, 8080, tmp_path / "quickstart")


def test_the_example_is_a_plan_and_all_its_comments_are_settings(tmp_path):
    write_example(tmp_path / "privee.yaml")
    assert read_plan(tmp_path / "privee.yaml").active == "bank"
    lines = (tmp_path / "privee.yaml").read_text().splitlines()
    opened = [
        line.replace("# ", "", 1) if line.lstrip().startswith("# ") and ": " in line else line for line in lines[2:]
    ]
    plan = read_plan(write(tmp_path, "\n".join(line for line in opened if "label_is" not in line)))
    assert (plan.labels.threshold, plan.parties["shop"].delimiter, plan.sensitive) == (500, ";", ("shop:basket",))
    with pytest.raises(PriveeError, match="exists already"):
        write_example(tmp_path / "privee.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("releases", "relases", "the plan has no setting `relases`; did you mean `releases`?"),
        ("id: customer", "ids: customer", "bank has no setting `ids`; did you mean `id`?"),
        ("id: customer, ", "", "bank needs `id`"),
        (", label: risk", "", "a label at exactly one of them"),
        ("releases: 3", "releases: many", "`releases` must be a whole number, got 'many'"),
        ("epochs: 2", "epochs: 0", "epochs must be a whole number from 1 on"),
        ("missing_labels: drop", "missing_labels: keep", "missing labels are to be refused or dropped"),
        ("bank:", "../bank:", "a party's name is letters"),
        ("parties:", "parties: [", "is not readable YAML; look at line"),
        ("file: bank.csv", "file: [bank.csv]", "`file` must be one value"),
        ("name: risk", "name: service", "and none of audit, service, alignment; got 'service'"),
        ("label-only", "label-ony", "no defense is called 'label-ony'"),
        ("defense:", "keep: order\ndefense:", "privee.yaml: keep must be ranking, class, order-of-records"),
        ("model: logistic", "model: forest", "no model is called 'forest'; there are"),
        ("releases: 3", "releases: 0", "`releases` must be 1 or more"),
        ("releases: 3", "port: 65534", "`port` and the next 2 must lie between 1 and 65535; got 65534"),
        ("releases: 3", "test_share: 1.5", "`test_share` must lie between 0 and 1"),
        ("name: risk", "name: a/b", "`name` is letters, digits"),
        ("  bank:", "  shop:", "privee.yaml: `shop` stands there twice, the second time in line 4"),
    ],
)
def test_a_plan_that_cannot_work(tmp_path, old, new, message, privee):
    write(tmp_path, PLAN.replace(old, new))
    code, _, err = privee("quickstart")
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "quickstart").exists()


def test_what_the_tables_tell_is_refused_before_the_training(tmp_path, privee):
    """And in the words of a plan, not in options of commands that nobody typed."""
    write_messy_tables(tmp_path, 80)
    for old, new, message in (
        (
            "defense:",
            "sensitive: shop:Warenkorp\ndefense:",
            "no private column is called 'shop:Warenkorp'; there are Waren",
        ),
        ("defense:", "sensitive: bank:age\ndefense:", "no private column is called 'bank:age'"),
        ("missing_labels: drop", "", "give `missing_labels: drop` to train without them"),
        ("label: risk", "label: income", "Give `label_is: class` if so, or `label_threshold: X`"),
    ):
        write(tmp_path, PLAN.replace(old, new))
        code, _, err = privee("quickstart", "--dry-run")
        assert code == 2
        assert message in err
    lines = (tmp_path / "bank.csv").read_text().splitlines()
    (tmp_path / "bank.csv").write_text("\n".join(lines[:25]))
    write(tmp_path)
    assert "records with a label are held by all parties, and 30 is the least" in privee("quickstart")[2]


@pytest.fixture(name="quick")
def a_short_audit(tmp_path, monkeypatch):
    """Messy tables, a plan, and one attack: what is tested here is which steps are done."""
    pytest.importorskip("fastapi")
    monkeypatch.setattr(steps, "ATTACKS", ("equation-solving",))
    write_messy_tables(tmp_path, 80)

    def work(text=PLAN):
        told, plan = [], read_plan(write(tmp_path, text))
        found = Quickstart(plan, show=lambda report: None, watch=Silent, tell=told.append).work()
        return found, told

    return work


class Silent:
    """A progress that nobody sees."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        return lambda done, size, words="": None

    def __exit__(self, *_):
        return None


def test_no_step_is_done_twice(tmp_path, quick):
    first, _ = quick()
    assert first.steps == dict.fromkeys(["train", "audit", "service"], "done")
    assert (first.defense, first.met, first.recommendation) == ("label-only", True, None)
    service = tmp_path / "quickstart" / "service"
    kept = {name: (service / name).read_bytes() for name in ("ledger.key", "consumer.key", "certs/ca.pem", "ledger.db")}
    weights = (first.run / "parties" / "shop" / "model.safetensors").read_bytes()
    again, told = quick()
    assert again.steps == dict.fromkeys(first.steps, "unchanged")
    assert (again.seconds, len(told)) == ({}, 3)

    other, _ = quick(PLAN.replace("label-only", "ranking-only"))
    assert other.steps == {"train": "unchanged", "audit": "unchanged", "service": "done"}
    assert "--defense ranking-only --releases 3" in (service / "gateway.sh").read_text()

    head, *rows = (tmp_path / "bank.csv").read_text().splitlines()
    (tmp_path / "bank.csv").write_text("\n".join([head, *rows[:-3]]) + "\n")
    changed, told = quick()
    assert changed.steps == dict.fromkeys(first.steps, "done")
    assert "other ids than before at bank: aligning again" in told
    old = tmp_path / "quickstart" / "risk.1"
    assert (old / "parties" / "shop" / "model.safetensors").read_bytes() == weights
    for name, held in kept.items():
        if name != "ledger.db":
            assert (service / name).read_bytes() == held  # what was handed out goes on to be good
    assert json.loads((tmp_path / "quickstart" / "tables.json").read_text())["alignment"] == "made"


def test_what_is_private_stays_so(tmp_path, quick):
    quick()
    made = tmp_path / "quickstart"
    for name in ("steps.json", "service/consumer.key", "service/ledger.key", "alignment/bank/alignment.parquet"):
        assert stat.S_IMODE((made / name).stat().st_mode) == 0o600, name
    steps_file = (made / "steps.json").read_text()
    assert "Kundennummer" not in steps_file
    assert str(tmp_path) not in "".join(file.read_text() for file in (made / "service").glob("*.sh"))


def test_a_step_that_fails_is_done_again_and_those_before_it_are_not(quick, monkeypatch):
    monkeypatch.setattr(steps, "save_audit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        quick()
    monkeypatch.undo()
    monkeypatch.setattr(steps, "ATTACKS", ("equation-solving",))
    found, _ = quick()
    assert found.steps == {"train": "unchanged", "audit": "done", "service": "done"}
