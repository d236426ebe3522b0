"""`privee gateway demo`: everything in one command."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_demo_in_one_command_until_it_is_told_to_stop(how, code, tmp_path):
    command = [sys.executable, "-m", "privee", "gateway", "demo", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as demo:  # noqa: S603
        lines = iter(demo.stdout.readline, "")
        next(line for line in lines if "Releases for the entities 17 and 42" in line)
        curl = next(line for line in lines if line.startswith("curl"))
        next(line for line in lines if "Ctrl-C" in line)
        answer = subprocess.run(shlex.split(curl), capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
        pids = [json.loads(file.read_text())["pid"] for file in tmp_path.glob("*.ready")]
        demo.send_signal(how)
        try:
            assert demo.wait(60) == code
        finally:
            demo.terminate()  # else leaving this block would wait for ever
    assert json.loads(answer.stdout)["parameters"]["remaining"] == 8
    assert len(pids) == 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)  # nothing is left running
