"""The command line: version, help, and a file of scores protected."""

import subprocess
import sys
from pathlib import Path

import privee


def run(*words: str) -> str:
    return subprocess.run([sys.executable, "-m", "privee", *words], capture_output=True, text=True, check=True).stdout


assert run("--version") == f"privee {privee.__version__}\n"
assert "protect" in run("--help")
Path("scores.csv").write_text("a,b,c\n0.7,0.2,0.1\n0.1,0.3,0.6\n", encoding="utf-8")
run("protect", "scores.csv", "--defense", "ordered-dp:epsilon=4", "--out", "releases.csv")
assert len(Path("releases.csv").read_text(encoding="utf-8").splitlines()) == 3
assert "ordered-dp" in run("defenses")
