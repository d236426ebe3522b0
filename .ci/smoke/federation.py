"""Federation: NVFlare makes the certificates and start-up kits of a small study."""

import subprocess
import sys
from pathlib import Path

command = [sys.executable, "-m", "privee", "federation", "init", "study", "--dataset", "digits", "--epochs", "1"]
subprocess.run(command, capture_output=True, text=True, check=True)
assert any(Path("study").rglob("*.crt"))
