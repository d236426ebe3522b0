"""Without the library of an adapter, one line says what to install; the core imports none of them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1].split(',')))\n"
LIBRARIES = "sklearn,torch,onnxruntime,xgboost,lightgbm,art,pandas,polars,pyarrow,mlflow"


def python(code: str, absent: str) -> str:
    command = [sys.executable, "-c", BLOCK + code, absent]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("library", "call", "line"),
    [
        ("sklearn", "import privee.adapters.sklearn", "privee.adapters.sklearn needs scikit-learn: privee[sklearn]"),
        ("torch", "import privee.adapters.torch", "privee.adapters.torch needs torch: privee[torch]"),
        ("art", "import privee.adapters.art", "privee.adapters.art needs adversarial-robustness-toolbox: privee[art]"),
        (
            "onnxruntime",
            "from privee.adapters.onnx import protect_session; protect_session('m.onnx', 'none')",
            "an ONNX model needs onnxruntime: privee[onnx]",
        ),
    ],
)
def test_one_line_names_the_extra(library, call, line):
    told = python(f"try:\n    {call}\nexcept ImportError as error: print(error)", library)
    assert told == re.sub(r"(privee\[\w+\])$", r"pip install '\1'", line)
    extra = line.rpartition("[")[2][:-1]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    package = line.split(": ")[0].rpartition(" ")[2]
    assert any(one.startswith(package) for one in extras[extra])


def test_the_core_imports_none_of_them():
    told = python(
        "import privee, privee.adapters; print(privee.OrderedDP(epsilon=4).release([0.7, 0.3]).shape)", LIBRARIES
    )
    assert told == "(2,)"


def test_boosters_need_nothing_until_there_is_one():
    code = "from privee.adapters.boosters import protect_booster\ntry: protect_booster(1, 'none')\n"
    assert "expected an xgboost.Booster" in python(code + "except ValueError as error: print(error)", LIBRARIES)
