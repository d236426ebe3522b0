"""Audits: a saved run attacked, and the report written from its templates."""

import subprocess
import sys
from pathlib import Path


def run(*words: str) -> str:
    return subprocess.run([sys.executable, "-m", "privee", *words], capture_output=True, text=True, check=True).stdout


run("train", "digits", "--model", "logistic", "--epochs", "1", "--out", "run")
attacked = ("-d", "none", "-a", "equation-solving", "-a", "boosted-trees", "--records", "40", "--seeds", "1")
run("audit", "run", *attacked, "--questions", "1", "--jobs", "1", "--out", "found")
assert "<html" in Path("found/report.html").read_text(encoding="utf-8")
run("paper", "list")  # its table of printed results is a file of the package
