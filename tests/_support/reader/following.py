"""Following a page from its first block to its last."""

import ast
import contextlib
import dataclasses
import io
import linecache
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from tests._support.reader.blocks import ROOT, Block, Statement, blocks
from tests._support.reader.same import missing
from tests._support.reader.shell import Shell
from tests._support.reader.warm_privee import warm_privee

CHECKED_ONLY = re.compile(r"^(?:make|pip|python3\.11 -m venv)\b")
"""Installing needs a network, and `make` sets up and would run these tests again: targets and extras are looked up."""


@dataclasses.dataclass
class Place:
    """What a page finds when its reader begins; its entry in `tests/docs/pages` fills it."""

    folder: Path
    shared: Path  # for what several pages need and is made once
    names: dict[str, object] = dataclasses.field(default_factory=dict)
    replace: dict[str, str | Callable[[], str]] = dataclasses.field(default_factory=dict)
    smaller: Mapping[str, str] = dataclasses.field(default_factory=dict)
    before: Mapping[str, Callable[["Place"], None]] = dataclasses.field(default_factory=dict)
    shell: Shell | None = None  # once there was a command
    until_the_end: contextlib.ExitStack = dataclasses.field(default_factory=contextlib.ExitStack)

    def patch(self, owner: object, name: str, value: object) -> None:
        """Until the page ends, this in place of that."""
        self.until_the_end.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def replaced(self, text: str) -> str:
        """With the names of this machine in place of the page's."""
        for shown in sorted(self.replace, key=len, reverse=True):
            if shown in text:
                used = self.replace[shown]
                text = text.replace(shown, used if isinstance(used, str) else used())
        return text

    def command(self, text: str) -> str:
        """As it is typed here: with names of this machine, and with options that make it small."""
        text = self.replaced(text)
        options = [more for start, more in self.smaller.items() if text.startswith(start)]
        if not options:
            return text
        bare, comment, words = text.partition("  #")
        bare = bare.rstrip()
        end = " &" if bare.endswith("&") else ""
        return f"{bare.removesuffix('&').rstrip()} {' '.join(options)}{end}{comment}{words}"


def follow(page: str, entry: ModuleType | None, place: Place) -> int:
    """Do what the page says; how many blocks there were to do."""
    place.smaller, place.before = getattr(entry, "SMALLER", {}), getattr(entry, "BEFORE", {})
    with place.until_the_end as stack:
        if hasattr(entry, "prepare"):
            entry.prepare(place)
        reader = _Reader(place)
        stack.enter_context(contextlib.chdir(place.folder))
        stack.callback(reader.close)
        done = [reader.read(block) for block in blocks(page) if block.reason is None]
    return sum(done)


class _Reader:
    def __init__(self, place: Place) -> None:
        self._place, self._space, self._printed = place, {"__name__": "page"} | place.names, ""
        self._stack, self._run = contextlib.ExitStack(), False

    def close(self) -> None:
        self._stack.close()
        sys.path[:] = [path for path in sys.path if path != str(self._place.folder)]

    def read(self, block: Block) -> bool:
        try:
            return getattr(self, f"_{block.kind}")(block)
        except Exception as error:
            raise AssertionError(f"{block.where}: {type(error).__name__}: {error}") from error

    def _file(self, block: Block) -> bool:
        (self._place.folder / block.file).write_text(self._place.replaced(block.text), encoding="utf-8")
        return True

    def _python(self, block: Block) -> bool:
        """Its statements; of an expression with a comment that is a value, that value is compared."""
        text, name = self._place.replaced(block.text), f"<{block.where}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        if str(self._place.folder) not in sys.path:
            sys.path.insert(0, str(self._place.folder))
        out, lines = io.StringIO(), text.splitlines()
        with contextlib.redirect_stdout(out):
            for node in ast.parse(text).body:
                if isinstance(node, ast.Expr):
                    code = compile(ast.Expression(node.value), name, "eval")
                    _compare_value(eval(code, self._space), lines[node.end_lineno - 1])  # noqa: S307 (our own page)
                else:
                    exec(compile(ast.Module([node], []), name, "exec"), self._space)  # noqa: S102
        self._printed, self._run = out.getvalue(), True
        return True

    def _commands(self, block: Block) -> bool:
        self._printed, self._run = "", True
        return sum(self._command(statement) for statement in block.statements()) > 0

    def _command(self, statement: Statement) -> bool:
        if CHECKED_ONLY.match(statement.text):
            return False
        if self._place.shell is None:
            path = self._stack.enter_context(warm_privee(self._place.folder / ".bin"))
            self._place.shell = Shell(self._place.folder, path)
            self._stack.callback(self._place.shell.close)
        for start, what in self._place.before.items():
            if statement.text.startswith(start):
                what(self._place)
        printed = self._place.shell.run(self._place.command(statement.text))
        _compare(statement.shown, printed, json=statement.shown.startswith("{"))
        self._printed += printed
        return True

    def _output(self, block: Block) -> bool:
        assert self._run, "it shows what nothing printed; what is no output needs a language, and commands one of SHELL"
        _compare(block.text, self._printed, json=block.language == "json")
        return True

    def _data(self, block: Block) -> bool:
        return False


def _compare(shown: str, printed: str, *, json: bool = False) -> None:
    line = missing(shown, printed, json=json)
    assert line is None, f"the page shows\n{line}\nand this was printed:\n{printed}"


def _compare_value(found: object, line: str) -> None:
    shown = re.search(r"  # (.*)$", line)
    with contextlib.suppress(ValueError, SyntaxError):
        if shown:
            expected = ast.literal_eval(shown[1])
            assert found == expected, f"{line}\nand it is {found!r}"


__all__ = ["ROOT", "Place", "follow"]
