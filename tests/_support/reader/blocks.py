"""The fenced blocks of a page, and what each one is.

- `python` runs, all of a page in one namespace; if its first line is a comment with a file's name, it is that file.
- No language, `sh` or `console`: commands, if the first word is one of SHELL or the line begins with `$ `.
- No language and no command: what the last commands or Python before it print. So is `json` right after commands.
- Any other language: not run.

A block after `<!-- not run: the reason -->` is not run; its commands must exist all the same.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[3]
PAGES = {
    "README": ROOT / "README.md",
    "CONTRIBUTING": ROOT / "CONTRIBUTING.md",
    **{path.stem: path for path in sorted((ROOT / "docs").glob("*.md"))},
}
PROGRAMS = {"privee", "make", "pip", "python3.11", "curl", "openssl", "tar", "createdb", "sqlite3", "docker", "podman"}
SHELL = PROGRAMS | {"umask", "export", "ask", "for", "printf", "sh", "cat", "mkdir", "cp", "kubectl", "systemctl", "$"}
FENCE = re.compile(r"^( *)```[ ]*([\w+-]*)[^\n]*\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run:(.*?)-->\s*\Z", re.DOTALL)

Kind = Literal["python", "file", "commands", "output", "data"]


@dataclasses.dataclass(frozen=True)
class Block:
    """One block of a page."""

    page: str
    line: int
    language: str
    text: str
    kind: Kind
    reason: str | None = None  # why it is not run

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str:
        """The name of the file that it is."""
        return self.text.split("\n", 1)[0].removeprefix("#").strip()

    def statements(self) -> list["Statement"]:
        """Its commands, one by one, with what is shown right below or behind them."""
        return list(_statements(self.text))


@dataclasses.dataclass(frozen=True)
class Statement:
    """One command as it is written, and what the page shows of what it prints."""

    text: str
    shown: str = ""


def blocks(page: str, text: str | None = None) -> list[Block]:
    """All of a page's."""
    text = PAGES[page].read_text(encoding="utf-8") if text is None else text
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        between, language, inside = text[end : match.start()], match[2], _undented(match[3], len(match[1]))
        marked = NOT_RUN.search(between)
        after_commands = bool(found) and found[-1].kind == "commands" and not between.strip()
        line = text.count("\n", 0, match.start()) + 1
        kind = _kind(language, inside, after_commands=after_commands)
        found.append(Block(page, line, language, inside, kind, marked and " ".join(marked[1].split())))
        end = match.end()
    return found


def _undented(text: str, by: int) -> str:
    return "".join(line[by:] if line[:by].isspace() else line for line in text.splitlines(keepends=True))


def _kind(language: str, text: str, *, after_commands: bool) -> Kind:
    if language == "python":
        return "file" if re.match(r"# \S+\.py$", text.split("\n", 1)[0]) else "python"
    if language in {"", "sh", "console"}:
        first = text.split(maxsplit=1)[0] if text.strip() else ""
        return "commands" if first.removesuffix("()") in SHELL else "output"
    return "output" if language == "json" and after_commands else "data"


def _statements(text: str) -> Iterator[Statement]:
    if text.startswith("$ "):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield Statement(command, shown)
        return
    taken: list[str] = []
    for line in text.splitlines():
        taken.append(line)
        whole = "\n".join(taken)
        if whole.strip() and not line.endswith("\\") and _closed(whole):
            shown = re.search(r"  # (\{.*\})(?:, or .*)?$", whole)
            yield Statement(whole, shown[1] if shown else "")
            taken = []
    assert not taken, f"a command does not end: {taken}"


def _closed(text: str) -> bool:
    """Whether every quote has its fellow; comments have none."""
    quote = ""
    for line in text.splitlines():
        for place, letter in enumerate(line):
            if not quote and letter == "#" and (place == 0 or line[place - 1] == " "):
                break
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "'\"":
                quote = letter
    return not quote
