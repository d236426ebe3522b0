"""The core alone: releases keep the order, guarantees speak, the command says what it needs."""

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import numpy as np

import privee

assert privee.__version__ == version("privee")
assert files("privee").joinpath("py.typed").is_file()
scores = np.random.default_rng(0).dirichlet(np.ones(10), 100)
for spec in ("privee-u:rho=0.1", "ordered-dp:epsilon=4", "ranking-only"):
    release = privee.defense(spec).release(scores)
    assert np.array_equal(privee.ranking(release), privee.ranking(scores)), spec
assert privee.OrderedDP(epsilon=4).guarantee(n_classes=10).not_covered
told = subprocess.run([sys.executable, "-m", "privee"], capture_output=True, text=True, check=False)
assert (told.returncode, told.stderr) == (1, "privee: the command line needs typer: pip install 'privee[cli]'\n"), told
told = subprocess.run([sys.executable, "-m", "privee", "--version"], capture_output=True, text=True, check=True)
assert told.stdout == f"privee {privee.__version__}\n", told
