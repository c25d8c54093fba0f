"""Rows and columns spread over several devices give the draws of one device, up to rounding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

ROOT = Path(__file__).parents[2]
SCRIPT = """
import jax
import numpy as np
from maxentry import Sampling, complete
from maxentry.gpu import device

rng = np.random.default_rng(0)
Y = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 21)) + rng.normal(size=(30, 1)) + 0.3 * rng.normal(size=(30, 21))
Y = np.clip(np.where(rng.random(Y.shape) < 0.4, np.nan, Y), -1.0, 1.5)
devices = jax.devices()
assert len(devices) == 8
plan = Sampling("long", chains=2, anneal=3, settle=3, draws=2, thin=2)
for options in ({}, {"noise": "student"}, {"limits": (-1.0, 1.5)}):
    found = []
    for n, seed in ((8, 1), (1, 1), (1, 2)):
        device.jax.devices = lambda n=n: devices[:n]
        found.append(complete(Y, 2, **options, sampling=plan, seed=seed, engine="gpu", progress=False).draws)
    many, one, other = found
    for name in ("left", "right", "row", "col", "eta2"):
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), rtol=1e-3, atol=1e-4)
        assert not np.allclose(getattr(one, name), getattr(other, name), rtol=1e-3, atol=1e-4)
print("the same")
"""


@pytest.mark.process
def test_eight_devices_give_the_draws_of_one():
    """Sweeps are in single precision, so that rounding is 1e-7 and grows over ten sweeps."""
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=os.environ | flags, capture_output=True, text=True, timeout=900
    )
    assert run.stdout.strip() == "the same", run.stderr[-2000:]


@pytest.mark.process
def test_only_factors_effects_and_small_sums_travel():
    """As benchmarks/gpu.md counts: 4 bytes for each of R coefficients and the effect of every row and column."""
    from benchmarks.gpu.devices import gathered_bytes

    from maxentry.gpu import laws

    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    words = [sys.executable, "-m", "benchmarks.gpu.devices", "2"]
    run = subprocess.run(
        words, env=os.environ | flags, cwd=ROOT, capture_output=True, text=True, timeout=900, check=True
    )
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["all-gather"] == [4, gathered_bytes(found["places"], found["rank"])]
    points = 4 * (laws.STEPS + laws.MOST_TRIES)  # of four slice steps
    assert found["all-reduce"][1] < 8 * (20 * found["rank"] ** 2 + points)
    assert set(found) == {"places", "rank", "all-gather", "all-reduce"}
