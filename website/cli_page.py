"""The reference of the command line, read off the commands themselves."""

import inspect
import re
from collections.abc import Iterator

import click

from privee.cli.app import app

INTRODUCTION = """# Command line

Every command and option, as `--help` shows them. Options marked * must be given; the last one counts where an option
is given twice, unless it may be given several times. `privee --install-completion` teaches your shell commands, options
and names.

"""


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words, and every group that does something by itself."""
    from typer.main import get_command

    yield from _walk((), get_command(app))


def cli_page() -> str:
    """The page: a list, then a section for each command."""
    return INTRODUCTION + "".join(_section(words, command) for words, command in commands())


def _walk(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    inner = getattr(command, "commands", None)
    if inner is None or command.invoke_without_command or not words:  # type: ignore[attr-defined]
        yield words, command
    for name, found in (inner or {}).items():
        yield from _walk((*words, name), found)


def _section(words: tuple[str, ...], command: click.Command) -> str:
    name = " ".join(("privee", *words))
    lines = [f"## {name}", "", _plain(inspect.cleandoc(command.help or "")), ""]
    arguments = [p for p in command.params if isinstance(p, click.Argument) or p.param_type_name == "argument"]
    options = [p for p in command.params if p not in arguments and p.name != "help"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(_argument(p) for p in arguments)])
    lines += [f"`{usage}`", ""]
    if arguments or options:
        lines += ["| | |", "|---|---|"]
        lines += [f"| `{_argument(p)}` | {_words(p)} |" for p in arguments]
        lines += [f"| {_names(p)} | {_words(p)} |" for p in options]
        lines.append("")
    return "\n".join(lines) + "\n"


def _argument(parameter: click.Parameter) -> str:
    name = (parameter.metavar or (parameter.name or "").upper()) + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _names(parameter: click.Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return names + (" *" if parameter.required else "")


def _words(parameter: click.Parameter) -> str:
    words = _plain(getattr(parameter, "help", "") or "").replace("\n", " ").replace("|", "\\|")
    default = parameter.default
    if (
        getattr(parameter, "show_default", False)
        and default not in (None, "", False, True, ())
        and not callable(default)
    ):
        words += f" Default: `{default}`."
    again = parameter.multiple and "repeatable" not in words.lower()  # type: ignore[attr-defined]
    return words + (" May be given several times." if again else "")


def _plain(text: str) -> str:
    """Without marks of rich, such as [bold], and with what would be HTML as it is."""
    return re.sub(r"<(\w)", r"&lt;\1", re.sub(r"\[/?(?:bold|dim|italic|cyan|yellow)\]", "", text))
