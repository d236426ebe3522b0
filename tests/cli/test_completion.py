"""Completion in a real bash, and what zsh asks for; without PyTorch, which alone would take seconds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from privee.attacks import known_attacks
from privee.cli import names
from privee.vfl.models import ARCHITECTURES

SCRIPT = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_privee_completion privee
printf '%s\\n' "${COMPREPLY[@]}"
"""

PRESS_TAB = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; source $HOME/.zshrc'
zpty -w shell 'show() { print -r -- "<$BUFFER>"; BUFFER=; zle .accept-line }'
zpty -w shell 'zle -N show; bindkey "^X" show; print rea""dy'
zpty -r shell heard '*ready*'
zpty -w -n shell "$1"$'\t\t\C-x'
zpty -r shell heard '*<privee *>*'
print -r -- "<${heard##*<}"
"""
"""A terminal of zsh's own: what stands in the line after two tabs is printed between < and >. The first tab of a shell
loads what Typer wrote, and does no more."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """A `privee` on the path that complains if PyTorch was loaded; a home that nobody minds."""
    home = tmp_path_factory.mktemp("home")
    command = home / "privee"
    watch = "atexit.register(lambda: 'torch' in sys.modules and print('torch', file=sys.stderr))"
    command.write_text(f"#!{sys.executable}\nimport atexit, sys\n{watch}\nfrom privee.cli import main\nmain()\n")
    command.chmod(0o755)
    return os.environ | {"HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.fixture(scope="module")
def script(environment) -> Path:
    """What `--install-completion` writes for bash."""
    bash = [shutil.which("bash"), "--norc", "-c", "privee --install-completion; exit $?"]
    told = subprocess.run(bash, env=environment, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert "bash completion installed" in told.stdout
    assert ".bash_completions/privee.sh" in Path(environment["HOME"], ".bashrc").read_text()
    return Path(environment["HOME"], ".bash_completions", "privee.sh")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("re", {"report", "recommend"}),
        ("keys ", {"create", "list", "quota", "revoke"}),
        ("recommend --ke", {"--keep"}),
        ("protect s.csv --defense or", {"ordered-dp"}),
        ("gateway serve run -d privee", {"privee-u", "privee-u+"}),
        ("audit run -a pri", {"prior-informed"}),
        ("attack --model m", {"mlp"}),
        ("train di", {"digits"}),
        ("data fetch cifar", {"cifar10", "cifar100"}),
        ("defenses lab", {"label-only"}),
        ("attacks eq", {"equation-solving"}),
    ],
)
def test_bash_is_told_what_can_follow(environment, script, typed, offered):
    command = [shutil.which("bash"), "--norc", "-c", SCRIPT, "bash", str(script), "privee", *typed.split(" ")]
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert ({*told.stdout.split()}, told.stderr) == (offered, "")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
@pytest.mark.parametrize(
    ("typed", "offered"), [("rec", "recommend"), ("keys quo", "quota"), ("audit r -d gau", "gaussian")]
)
def test_zsh_completes_what_is_typed(environment, tmp_path, typed, offered):
    """A real zsh with what `--install-completion` wrote: a line is typed, the tab key pressed, and the line read."""
    home = environment | {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
    zsh = [shutil.which("zsh"), "-f", "-c", "privee --install-completion; exit $?"]
    told = subprocess.run(zsh, env=home, check=True, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert "zsh completion installed" in told.stdout
    assert (tmp_path / ".zfunc" / "_privee").read_text().lstrip().startswith("#compdef privee")
    typing = [shutil.which("zsh"), "-f", "-c", PRESS_TAB, "zsh", f"privee {typed}"]
    told = subprocess.run(typing, env=home, check=True, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert f"<{'privee ' + typed.rpartition(' ')[0]}".rstrip() in told.stdout
    assert offered in told.stdout.partition("<")[2].partition(">")[0], told


def test_zsh_is_told_what_can_follow(environment):
    asked = {"_PRIVEE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "privee audit -d gau"}
    told = subprocess.run(["privee"], env=environment | asked, check=False, capture_output=True, text=True, timeout=60)  # noqa: S607
    assert "gaussian" in told.stdout
    assert told.stderr == ""


def test_names_read_from_files_are_those_of_what_is_there():
    assert sorted(names.attack_names()) == sorted(known_attacks())
    assert sorted(names.model_names()) == sorted(ARCHITECTURES)
