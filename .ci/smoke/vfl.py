"""Joint training on bundled data, and predictions of it."""

import subprocess
import sys
from pathlib import Path


def run(*words: str) -> str:
    return subprocess.run([sys.executable, "-m", "privee", *words], capture_output=True, text=True, check=True).stdout


run("train", "digits", "--model", "logistic", "--epochs", "1", "--out", "run")
run("predict", "run", "--defense", "ordered-dp:epsilon=4", "--out", "releases.csv")
assert Path("releases.csv").stat().st_size > 1000
