"""Count what travels between devices in a sweep, and reckon how sweeps scale over real links.

    python -m benchmarks.gpu devices     # counts by compiling for virtual devices; writes devices.json and gpu.md

Counted: the collectives of the compiled program, for 2, 4 and 8 virtual devices. Measured: the time of a sweep on one
GPU (h200.json). Reckoned: everything else, by

    time(D) = time(1) / D + bytes * (D - 1) / D / bandwidth + collectives * latency,

with rings, the same work on all devices, and no overlap of work and links.
"""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BYTES = {"f32": 4, "f64": 8, "s32": 4, "u32": 4, "pred": 1}
COLLECTIVE = re.compile(
    r"= (?P<out>\(?[a-z]+\d*\[.*?) (?P<kind>all-gather|all-reduce|all-to-all|collective-permute)(?:-start)?\("
)
SHAPE = re.compile(r"([a-z]+\d*)\[([\d,]*)\]")
COUNTED = (2, 4, 8)
GATHERED = 1  # numbers of a row beside its R coefficients: its effect
FIXED = 12  # collectives of a sweep: 4 all-gathers, 5 sums of the half-sweeps and scales, 3 of the effects
EVALUATIONS = 2  # of a slice step: of all ends of its bracket, and of all points inside
MACHINE = 8  # GPUs
NVLINK, NVLINK_LATENCY = 450e9, 15e-6  # bytes a second into a GPU, seconds a collective
ADAPTER, ADAPTER_LATENCY = 50e9, 30e-6  # InfiniBand, 400 Gbit/s; between machines


def problem(devices, rank=4, shape=(64, 48)):
    """The compiled program of a sweep on virtual devices, as text, and the places of its rows and columns."""
    import jax
    from benchmarks.gpu.measure import start_run

    from maxentry import Observations
    from maxentry.gpu.device import CHUNK, Observed, compile_sweeps
    from maxentry.model.likelihood import GAUSSIAN
    from maxentry.posterior import gibbs

    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random(shape) < 0.3)
    data = gibbs.prepare(Observations(shape, i, j, rng.standard_normal(i.size)), True, GAUSSIAN, True, None)
    with jax.enable_x64(True):
        observed = Observed(data, 1, jax.devices()[:devices])
        run = start_run(data, rank, 1, observed)
        put = observed.put
        rest = (
            put(np.ones(CHUNK)),
            put(np.int32(0)),
            put(np.int32(1)),
            put(run.batch.hyper),
            run.keys,
            run.coins,
            run.ends,
        )
        lowered = compile_sweeps(run.setup, observed.devices).lower(run.state, *observed.sides, *rest)
        return lowered.compile().as_text(), sum(order.rows.size for order in observed.orders)


def count(text):
    """What a sweep sends that takes every branch once: of each kind, the number and the bytes of the results."""
    found = {}
    for match in COLLECTIVE.finditer(text):
        size = sum(
            BYTES[kind] * math.prod(int(n) for n in dims.split(",") if n)
            for kind, dims in SHAPE.findall(match["out"])
        )
        n, total = found.get(match["kind"], (0, 0))
        found[match["kind"]] = n + 1, total + size
    return found


def gathered_bytes(places, rank):
    """Bytes of the factors and effects that every device must see in a sweep, in single precision."""
    return 4 * places * (rank + GATHERED)


def measure():
    """Count for each number of devices, each in a process of its own with as many virtual devices."""
    result = {}
    for devices in COUNTED:
        flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
        words = [sys.executable, "-m", "benchmarks.gpu.devices", str(devices)]
        run = subprocess.run(words, env=os.environ | flags, capture_output=True, text=True, check=True)
        result[str(devices)] = json.loads(run.stdout.splitlines()[-1])
        print(devices, result[str(devices)], flush=True)
    (HERE / "devices.json").write_text(json.dumps(result, indent=1) + "\n")


def collectives():
    """How many collectives a sweep has on average: those of every sweep, and of slices (`RATE`: how often)."""
    from maxentry.kernels.gibbs import RATE

    return FIXED + EVALUATIONS + 2 * RATE * (1 + EVALUATIONS)


def reckon(ms, shape, rank, devices, adapters=MACHINE):
    """Milliseconds of a sweep on so many devices, and how many of them on the links.

    A ring through all machines enters each once for every adapter, so that a machine's adapters share the bytes.
    """
    if devices == 1:
        return ms, 0.0
    across = devices > MACHINE
    bandwidth = min(NVLINK, adapters * ADAPTER) if across else NVLINK
    latency = ADAPTER_LATENCY if across else NVLINK_LATENCY
    received = gathered_bytes(sum(shape), rank) * (devices - 1) / devices
    sent = 1e3 * (received / bandwidth + collectives() * latency)
    return ms / devices + sent, sent


def tables(one):
    """Lines of the tables: (title, shape, rank, milliseconds on one device, lines)."""
    for title, shape, rank, ms in one:
        lines = []
        for devices in (1, 2, 4, 8, 16, 32, 64):
            received = gathered_bytes(sum(shape), rank) * (devices - 1) / devices / 1e6
            cells = [devices, f"{received:,.0f}"]
            for adapters in (MACHINE, 1):
                whole, sent = reckon(ms, shape, rank, devices, adapters)
                cells += [f"{whole:.1f}", f"{sent:.1f}", f"{ms / whole:.1f}"]
            lines.append(cells if devices > MACHINE else [*cells[:5], "", "", ""])
        yield title, shape, rank, ms, lines


def main(devices):
    text, places = problem(devices)
    print(json.dumps({"places": places, "rank": 4} | count(text)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
