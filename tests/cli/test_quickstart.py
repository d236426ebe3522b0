"""`privee quickstart`: a plan is checked before anything is done, and nothing is done twice."""

import json
import stat

import pyarrow.parquet as pq
import pytest

from privee.errors import PriveeError
from privee.party.ledger.terms import Cost, PartyLimits, SealTerms
from privee.quickstart import steps
from privee.quickstart.example import write_example
from privee.quickstart.plan import read_plan
from privee.quickstart.service_folder import PartyCodes
from privee.quickstart.steps import Quickstart
from privee.vfl.run_format import read_config
from privee.vfl.seal import Seal
from tests._support.messy_tables import write_messy_tables
from tests._support.shell import Shell, free_ports, wait_for

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
    assert (plan.seal, plan.lifetime_codes) == (Seal(codes=8), 1)
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


SEALED = PLAN.replace("defense: label-only\nreleases: 3", "defense: none\nseal: codes=4,epsilon=2\nlifetime_codes: 2")


def test_a_sealed_plan_seals_the_finished_run_and_serves_that(tmp_path, quick):
    plain, _ = quick()
    service = tmp_path / "quickstart" / "service"
    assert "ledger" not in (service / "shop.sh").read_text()
    found, _ = quick(SEALED)
    assert found.steps == {"train": "unchanged", "seal": "done", "audit": "done", "service": "done"}
    assert (found.run, found.defense) == (plain.run.with_name("risk-sealed"), "none")
    assert read_config(found.run)["seals"]["shop"] == Seal(codes=4, epsilon=2.0).as_dict()
    shop, bank, gateway = ((service / f"{name}.sh").read_text() for name in ("shop", "bank", "gateway"))
    assert "risk-sealed/parties/shop" in shop
    assert "--ledger shop-ledger.db --bits 4 --epsilon 4 " in shop  # two codes of two bits and epsilon 2
    assert "one of 4 codes per record, 2 times in its life at most" in shop
    assert "--ledger" not in bank
    assert "--releases" not in gateway
    assert "sealed-code" in (found.report.parent / "findings.csv").read_text()
    again, _ = quick(SEALED)
    assert set(again.steps.values()) == {"unchanged"}
    other, told = quick(SEALED.replace("epsilon=2", "epsilon=3"))
    assert other.steps == {"train": "unchanged", "seal": "done", "audit": "done", "service": "done"}
    assert any(line.endswith("risk-sealed.1") for line in told)
    less, _ = quick(SEALED.replace("epsilon=2", "epsilon=3").replace("lifetime_codes: 2", "releases: 5"))
    assert less.steps == {"train": "unchanged", "seal": "unchanged", "audit": "unchanged", "service": "done"}
    assert "--bits 2 --epsilon 3 " in (service / "shop.sh").read_text()
    assert "--releases 5" in (service / "gateway.sh").read_text()


def test_bits_that_are_no_whole_number_allow_the_code_they_are_for():
    """Written down, they may not be a trillionth less: then every code would be refused."""
    for codes in (3, 5, 6, 7, 200, 255):
        for most in (1, 3):
            words = PartyCodes(Seal(codes=codes, epsilon=1 / 3), most).options("shop")
            limits = PartyLimits(bits=float(words[3]), epsilon=float(words[5]))
            cost = SealTerms("0" * 64, codes, 1 / 3).cost()
            assert limits.allow(Cost(most * cost.bits, most * cost.epsilon))
            assert not limits.allow(Cost((most + 1) * cost.bits))


def test_a_seal_with_more_codes_than_records_is_refused_before_the_training(tmp_path, quick):
    with pytest.raises(PriveeError, match="a seal of 256 codes needs more than"):
        quick(SEALED.replace("codes=4", "codes=256"))
    assert not (tmp_path / "quickstart" / "risk").exists()


@pytest.mark.slow
def test_a_sealed_service_answers_without_end_and_its_party_counts_one_code(tmp_path, quick):
    """What was written, really run: any number of questions, and one code per record in the party's own ledger."""
    port = free_ports()
    found, _ = quick(SEALED.replace("lifetime_codes: 2", f"port: {port}"))
    shell = Shell(tmp_path)
    try:
        shell.run(f"sh {found.service / 'start.sh'}")
        wait_for(found.service / "gateway.ready")
        ids = found.run / "parties" / "shop" / "aligned.parquet"
        entity = pq.read_table(ids).column(0)[0].as_py()
        answers = [json.loads(shell.run(f"sh {found.service / 'ask.sh'} {entity}")) for _ in range(4)]
    finally:
        shell.stop()
    assert len({json.dumps(answer["outputs"]) for answer in answers}) == 1
    part = found.run / "parties" / "shop"
    place = ("--ledger", found.service / "shop-ledger.db")
    status = json.loads(shell.run(f"privee party status {part} {place[0]} {place[1]} --json"))
    assert (status["entities"], status["sealed"]) == (1, 1)
    assert (status["most"]["bits"], status["most"]["epsilon"]) == (2.0, 2.0)
    assert (status["limits"]["bits"], status["limits"]["epsilon"]) == (2.0, 2.0)
