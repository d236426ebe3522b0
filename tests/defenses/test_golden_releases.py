"""What seeds and keys give is pinned to the last bit: a repeated experiment or query gets what it got before.

`golden_releases.json` was written with the code before releases were made faster; record-order's part of it when its
windows no longer depended on the processor. Elementary functions differ in their last bits between processors: specs
that use them list the digests of each kind of x86 (AVX-512, AVX2 and SSE), and are left out elsewhere. If a digest
changes on purpose, that is another version of the draws: CHANGELOG.md says so.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests._support.golden import KINDS, SPECS, digests

ROOT = Path(__file__).parents[2]
PINNED = json.loads((Path(__file__).parent / "golden_releases.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", SPECS)
def test_seeded_and_keyed_releases_are_those_of_the_first_version(spec, kind):
    for way, digest in digests(spec, kind).items():
        known = PINNED[spec][kind][way]
        if len(known) > 1 and platform.machine().lower() not in ("x86_64", "amd64"):
            pytest.skip("its elementary functions were pinned on x86 alone")
        assert digest in known, f"{way} releases of {spec} changed"


def test_different_draws_would_be_noticed():
    """Digests tell seeds, keys and specs apart: no two entries agree, but where no draws are used."""
    found = [digest for kinds in PINNED.values() for ways in kinds.values() for way in ways.values() for digest in way]
    assert len(set(found)) > 0.9 * len(found)


@pytest.mark.parametrize("kernel", ["Nehalem", "Haswell"])
def test_record_order_is_the_same_whatever_the_processor_adds_up_first(kernel):
    """With the kernels that OpenBLAS takes on other processors, and without what newer ones have."""
    code = "from tests._support.golden import digests; print(*digests('record-order:epsilon=4', 'mild').values())"
    features = "X86_V4 AVX512_ICL AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
    older = {"OPENBLAS_CORETYPE": kernel, "NPY_DISABLE_CPU_FEATURES": features}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=os.environ | older,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [[digest] for digest in done.stdout.split()] == list(PINNED["record-order:epsilon=4"]["mild"].values())
