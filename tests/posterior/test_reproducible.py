"""The same seed gives the same draws: on the run that compiles and later ones, and for other processors."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from maxentry.kernels import gauge, gibbs, rng, rows

SCRIPT = Path(__file__).with_name("reproducible_script.py")
SAMPLER = (gibbs, gauge, rows, rng)
# Compiled for the least x86-64 processor, with OpenBLAS's kernels for an old one and NumPy's for a middling one.
OLD_PROCESSOR = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "+sse2",
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
# A cache left by an interrupted compilation: inner functions come from disk, outer ones are compiled around them.
PARTLY = """
import numpy as np
from maxentry.kernels.gauge import orthonormalise
orthonormalise(np.eye(3, 8), 3, np.ones(3), np.eye(3))
"""


def careless(module):
    """Functions whose compiled sums may be reordered, so that their rounding depends on processor and cache."""
    functions = [getattr(f, "compiled", f) for f in vars(module).values()]
    return [f.py_func.__qualname__ for f in functions if getattr(f, "targetoptions", {}).get("fastmath")]


@pytest.mark.parametrize("module", SAMPLER, ids=lambda m: m.__name__)
def test_the_samplers_sums_have_one_order(module):
    assert careless(module) == []


def test_the_check_can_fail():
    from maxentry.kernels import ridge  # point estimates: to a tolerance, not to the bit

    assert careless(ridge)


def digests(cache, *, threads=2, seed=7, code=None, **settings):
    arguments = ["-c", code] if code else [str(SCRIPT), str(threads), str(seed)]
    done = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **settings},
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return None if code else json.loads(done.stdout)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """An empty cache, filled by a first run, and the digests of that run."""
    cache = tmp_path_factory.mktemp("cache")
    found = digests(cache)
    assert list(cache.rglob("*.run_sweeps-*.nbc"))  # it did compile
    return cache, found


@pytest.mark.process
@pytest.mark.slow
def test_the_run_that_compiles_draws_as_later_ones_do(first):
    cache, first = first
    assert digests(cache) == first
    assert digests(cache, threads=1) == first
    other = digests(cache, seed=8)  # the control
    assert all(other[name] != first[name] for name in first if name != "careless")


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names x86-64 processors")
def test_an_interrupted_compilation_and_an_older_processor_draw_the_same(first, tmp_path):
    digests(tmp_path, code=PARTLY, **OLD_PROCESSOR)
    assert list(tmp_path.rglob("*.orthonormalise-*.nbc"))
    there, here = digests(tmp_path, **OLD_PROCESSOR), dict(first[1])
    if there.pop("careless") == here.pop("careless"):
        pytest.skip("the processor has no wider vectors than the oldest: nothing could differ")
    assert there == here
