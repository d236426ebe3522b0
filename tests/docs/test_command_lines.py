"""Commands of pages exist, commands that exist have a page, and every option has its words."""

import pytest

from tests._support.reader.command_lines import TREE, command_lines, named, wrong

LINES = list(command_lines())


def test_every_command_and_option_on_a_page_exists():
    assert len(LINES) > 200
    assert {f"{where}: {line}": wrong(line) for where, line in LINES if wrong(line)} == {}


def test_every_command_is_on_a_page():
    shown = set().union(*(named(line) for _, line in LINES))
    assert sorted(" ".join(words) for words in set(TREE) - shown) == []


def test_every_option_has_its_words():
    silent = [
        f"privee {' '.join(words)} {parameter.opts[0]}"
        for words, command in TREE.items()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    assert silent == []


def test_the_reference_has_every_command_and_option():
    from website.cli_page import cli_page

    page = cli_page()
    for words, command in TREE.items():
        section = page.split(f"## {' '.join(('privee', *words))}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            for name in (*parameter.opts, *parameter.secondary_opts):
                if name.startswith("-") and name != "--help":
                    assert f"`{name}`" in section, f"{words} {name}"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("privee audit runs/risk --party bank=bank.csv -o out", None),
        ("privee ledger show|reset|log", None),
        ("privee party serve RUN --data shop.csv ... --bits 3 &", None),
        ("privee keys create web --role consumer > web.key", None),
        ("privee audti runs/risk", "there is no command 'audti'"),
        ("privee ledger shown", "there is no command 'ledger shown'"),
        ("privee audit runs/risk --atack x", "'audit' has no option --atack"),
        ("privee ledger verify ledger.db", "'ledger verify' takes no 'ledger.db'"),
    ],
)
def test_what_does_not_exist_is_found(line, told):
    assert wrong(line) == told
