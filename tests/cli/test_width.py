"""What is listed can be read on a terminal of 80 columns, and a spec can be copied from it."""

import re
import shlex
from pathlib import Path

import pytest

import privee as package
from privee.cli import output
from privee.cli.audit import print_audit
from privee.cli.paper import print_outcome
from privee.defenses import known_defenses
from privee.paper import load_outcome
from tests._support.made_audits import make_audit, make_loans

OUTCOMES = sorted(Path(__file__).parents[2].glob("docs/paper/*.json"))
SPECS = [package.defense(cls.example or name).spec for name, cls in known_defenses().items()]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr(output.out, "width", 80)


def check(text: str) -> str:
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in text
    return text


@pytest.mark.parametrize("command", ["attacks", "data list", "paper list", "budget", "defenses ordered-dp"])
def test_listings_fit(good, command):
    check(good(*command.split()))


def test_help_is_whole(good, commands, monkeypatch):
    """Of every command: an option that is cut cannot be typed."""
    monkeypatch.setenv("COLUMNS", "80")

    def walk(command, *names):
        text = check(good(*names, "--help"))
        written = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        assert {option for option in written if option.startswith("--")} <= set(re.findall(r"--[\w-]+", text)), names
        return 1 + sum(walk(one, *names, name) for name, one in getattr(command, "commands", {}).items())

    assert walk(commands) > 50


def test_specs_of_defenses_are_whole(good):
    lines = check(good("defenses")).splitlines()
    assert {line.split("  ")[0] for line in lines} >= {*SPECS}
    wide = good("defenses", "--wide").splitlines()
    assert all(any(f" {spec} " in line for line in wide) for spec in SPECS)
    assert max(map(len, wide)) > 120


def test_keys_and_the_log_fit(good):
    good("ledger", "init")
    quotas = ("--quota-share", 0.5, "--quota-entities", "500/day", "--expires-days", 90)
    scopes = ("--scope", "risk", "--scope", "fraud-detection-model", "--rate", "5/second;100/hour")
    good("keys", "create", "shop", "--role", "consumer", *scopes, *quotas)
    listed = " ".join(check(good("keys", "list")).split())
    assert "shop: consumer, active until" in listed
    assert "models risk, fraud-detection-model; at most 5/second;100/hour; quotas: 1000/day releases" in listed
    check(good("ledger", "log"))


@pytest.mark.parametrize("audit", [make_audit(subjects=3), make_loans()], ids=["three", "loans"])
def test_an_audit_breaks_specs_between_settings(capsys, audit):
    print_audit(audit)
    text = check(capsys.readouterr().out)
    settings = {part for card in audit.cards for part in re.split("[:,]", card.defense)}
    shown = {part for cell in re.findall(r"^ (\S+)", text, re.MULTILINE) for part in re.split("[:,]", cell)}
    assert shown - {"", "defense"} - {cell for cell in shown if cell.startswith("─")} == settings


@pytest.mark.parametrize("file", OUTCOMES, ids=lambda file: file.stem)
def test_a_result_of_the_paper_fits_or_says_what_it_leaves_out(capsys, file):
    outcome = load_outcome(file)
    print_outcome(outcome)
    text = check(capsys.readouterr().out)
    names = {name.replace("_", " ") for row in outcome.rows for name in row.measured}
    headings = " ".join(text.split("───")[0].split())
    left = re.search(r"Not shown: (.*?); --wide", " ".join(text.split()))
    absent = {name for name in names if not all(word in headings for word in name.split())}
    if absent:
        listing, others = re.fullmatch(r"(.*?)(?: and (\d+) others)?", left[1]).groups(default="0")
        unnamed = absent - set(listing.split(", "))
        assert len(unnamed) <= int(others), unnamed
    print_outcome(outcome, wide=True)
    assert "…" not in capsys.readouterr().out


def test_a_recommendation_ends_with_what_can_be_pasted(good, told):
    for wishes in (("--keep", "top-3", "--calibrated-top"), ("--keep", "order-of-records", "--queries", 3, "--formal")):
        last = good("recommend", "--classes", 10, *wishes).splitlines()[-1]
        option, spec = shlex.split(last)
        assert (option, last[10]) == ("--defense", "'")
        assert spec == told("recommend", "--classes", 10, *wishes)["chosen"]["defense"]
        assert package.defense(spec).spec == spec
        assert max(len(number) for number in re.findall(r"[\d.]+", spec)) <= 5
        assert " " not in spec
