"""Triton itself, on loopback: the server in nvidia-pytriton's wheel, with models of iris that scikit-learn fits.

It needs a Python with nvidia-pytriton and scikit-learn, which VARIABLE names. Nothing of it is imported here.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

VARIABLE = "PRIVEE_TRITON_PYTHON"
WHERE = """
import json, pathlib, sys, pytriton, sklearn
home = pathlib.Path(pytriton.__file__).parent
about = {"home": str(home), "base": sys.base_prefix, "python": "%d.%d" % sys.version_info[:2]}
print(json.dumps(about | {"packages": str(home.parent)}))
"""
MODEL = """
import numpy as np
import triton_python_backend_utils as pb
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression


class TritonPythonModel:
    def initialize(self, args):
        import json
        self.gives = json.loads(args["model_config"])["output"]
        self.fitted = LogisticRegression(max_iter=500).fit(*load_iris(return_X_y=True))

    def execute(self, requests):
        return [pb.InferenceResponse(self.answer(request)) for request in requests]

    def answer(self, request):
        rows = np.column_stack([tensor.as_numpy().astype(np.float64) for tensor in request.inputs()])
        made = {
            "scores": self.fitted.predict_proba,
            "log": self.fitted.predict_log_proba,
            "label": lambda rows: self.fitted.predict(rows).reshape(-1, 1),
        }
        made = {one["name"]: made[one["name"]](rows) for one in self.gives}
        types = {one["name"]: pb.triton_string_to_numpy(one["data_type"]) for one in self.gives}
        return [pb.Tensor(name, found.astype(types[name])) for name, found in made.items()]
"""


def config(inputs, outputs, *, batch=64, more=""):
    """A model's config.pbtxt, of tensors as (name, type, dims); unless `batch` is 0, dims are those of one row."""

    def tensors(kind, them):
        return [f'{kind} {{ name: "{name}" data_type: TYPE_{dtype} dims: {dims} }}' for name, dtype, dims in them]

    lines = ['backend: "python"', f"max_batch_size: {batch}", *tensors("input", inputs), *tensors("output", outputs)]
    return "\n".join([*lines, "instance_group { count: 1 kind: KIND_CPU }", more, ""])


class TritonServer:
    """Started and stopped as often as one likes, always at the same ports.

    Args:
        folder: for server and models, empty.
        models: their configs by name.
        versions: of each model.
    """

    def __init__(self, folder, models, versions=("1",)):
        found = subprocess.run([os.environ[VARIABLE], "-c", WHERE], capture_output=True, check=True)  # noqa: S603
        self._about = json.loads(found.stdout)
        self._folder, self._running = Path(folder), None
        self._copy()
        for name, text in models.items():
            for version in versions:
                place = self._folder / "models" / name / version
                place.mkdir(parents=True)
                (place / "model.py").write_text(MODEL)
            (place.parent / "config.pbtxt").write_text(text)
        self.http, self.grpc = _free_port(), _free_port()

    def address(self, model):
        """What --scorer takes."""
        return f"http://127.0.0.1:{self.http}/v2/models/{model}"

    def start(self):
        """Until it is ready; RuntimeError with its log if it ends before."""
        base, server = Path(self._about["base"]), self._folder / "server"
        packages = Path(self._about["packages"])
        paths = {"PATH": f"{Path(os.environ[VARIABLE]).parent}:{os.environ['PATH']}"}  # where it finds its packages
        paths |= {"LD_LIBRARY_PATH": f"{base / 'lib'}:{packages / 'nvidia_pytriton.libs'}"}
        given = {"model-repository": self._folder / "models", "backend-directory": server / "backends"}
        given |= {"http-address": "127.0.0.1", "http-port": self.http, "grpc-address": "127.0.0.1"}
        given |= {"grpc-port": self.grpc, "allow-metrics": "false", "exit-timeout-secs": 10}
        command = [str(server / "bin" / "tritonserver"), *(f"--{name}={value}" for name, value in given.items())]
        with (self._folder / "log").open("ab") as log:
            self._running = subprocess.Popen(command, env=os.environ | paths, stdout=log, stderr=log)  # noqa: S603
        for _ in range(1800):
            if self._running.poll() is not None:
                raise RuntimeError((self._folder / "log").read_text()[-2000:])
            if self._ready():
                return
            time.sleep(0.1)
        self.stop()
        raise RuntimeError("Triton was not ready within three minutes")

    def stop(self):
        """As an operator would."""
        if self._running is not None:
            self._running.send_signal(signal.SIGTERM)
            try:
                self._running.wait(30)
            except subprocess.TimeoutExpired:
                self._running.kill()
                self._running.wait()
            self._running = None

    def _ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/v2/health/ready", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _copy(self):
        """The wheel keeps one helper for each Python elsewhere than where the server looks for it."""
        wheel, server = Path(self._about["home"]) / "tritonserver", self._folder / "server"
        (server / "bin").mkdir(parents=True)
        shutil.copytree(wheel / "backends", server / "backends")
        stub = wheel / "python_backend_stubs" / self._about["python"] / "triton_python_backend_stub"
        shutil.copy(stub, server / "backends" / "python")
        (server / "bin" / "tritonserver").symlink_to(wheel / "bin" / "tritonserver")


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
