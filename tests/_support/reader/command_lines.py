"""Command lines of pages, looked up in the tree of commands: a word that is no command or option is found."""

import re
import shlex
from collections.abc import Iterator

import click
from website.cli_page import commands

from tests._support.reader.blocks import PAGES, blocks

TREE = dict(commands())
GROUPS = {words[:length] for words in TREE for length in range(len(words))}
INLINE = re.compile(r"`(privee(?:\s+[^`]+)?)`")
ANYTHING = re.compile(r"^(?:\.\.\.|…|[A-Z_]+)$")  # a word of the page's own, or left out


def command_lines() -> Iterator[tuple[str, str]]:
    """Every `privee ...` of every page, in blocks and in sentences, with where it stands."""
    for page, path in PAGES.items():
        for block in blocks(page):
            if block.kind == "commands":
                for statement in block.statements():
                    text = statement.text.replace("\\\n", " ")
                    for line in re.findall(r"(?:^|&& |; |\| |\()\s*(privee [^\n]*)", text, flags=re.MULTILINE):
                        yield block.where, line
        text = re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for line in INLINE.findall(text):
            yield page, " ".join(line.split())


def wrong(line: str) -> str | None:
    """What of it does not exist; None if all of it does."""
    try:
        words = shlex.split(re.split(r"\s(?:&&|;|\||>|&|2>)(?:\s|$)", line)[0], comments=True)[1:]
    except ValueError as error:
        return str(error)
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in GROUPS | set(TREE):
        path = (*path, words.pop(0))
    if path not in TREE or (path in GROUPS and words and not words[0].startswith("-")):
        return _of_a_group(path, words)
    return _options(path, TREE[path], words)


def named(line: str) -> set[tuple[str, ...]]:
    """The commands that it names; `privee ledger show|reset` has two."""
    path: tuple[str, ...] = ()
    for word in line.split()[1:]:
        if (*path, word) not in GROUPS | set(TREE):
            return {(*path, choice) for choice in word.split("|")} & set(TREE) or {path}
        path = (*path, word)
    return {path}


def _of_a_group(path: tuple[str, ...], words: list[str]) -> str | None:
    """`privee keys` alone, or `privee ledger show|reset`, names commands without using one."""
    for word in words[:1]:
        for choice in word.split("|"):
            if not ANYTHING.match(choice) and (*path, choice) not in TREE and choice != "--help":
                return f"there is no command {' '.join((*path, choice))!r}"
    return None


def _options(path: tuple[str, ...], command: click.Command, words: list[str]) -> str | None:
    known = {name: p for p in command.params for name in (*p.opts, *p.secondary_opts) if name.startswith("-")}
    arguments = [p for p in command.params if not any(name.startswith("-") for name in p.opts)]
    room = sum(100 if p.nargs == -1 else p.nargs for p in arguments)
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            name = word.split("=", 1)[0]
            if name not in known and name != "--help":
                return f"{' '.join(path)!r} has no option {name}"
            skip = name in known and not getattr(known[name], "is_flag", False) and "=" not in word
        elif not ANYTHING.match(word):
            room -= 1
            if room < 0:
                return f"{' '.join(path)!r} takes no {word!r}"
    return None
