"""The demo's parts are there: run whole it takes minutes, so its data and its plan are looked at."""

import subprocess
import sys

from privee.demo import acts, run_demo

assert callable(run_demo)
assert callable(acts)
command = [sys.executable, "-m", "privee", "demo", "--help"]
assert "digits" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
