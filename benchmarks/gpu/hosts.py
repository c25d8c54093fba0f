"""Try `jax.distributed` on this machine: two processes of two virtual devices beside one process of four.

    python -m benchmarks.gpu.hosts

Prints how far the draws differ, and writes it to hosts.json. On processors JAX's processes wait 30 seconds for each
other, of which a busy machine can take more to compile a sweep: the flags below let them wait longer. GPUs need none of
this.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PATIENCE = 600  # seconds
WAITS = ("collective_timeout", "collective_call_warn_stuck_timeout", "collective_call_terminate_timeout")


def fit(port, number, hosts, out):
    """Fit a small table on all devices of all hosts; every host writes what it got."""
    import jax
    from jax.experimental import multihost_utils

    from maxentry import Sampling, complete

    if hosts > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", hosts, number, initialization_timeout=PATIENCE)
        multihost_utils.sync_global_devices("all are here")  # they meet before one of them is busy compiling
    assert len(jax.devices()) == 4
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 21)) + rng.normal(size=(30, 1))
    Y += 0.3 * rng.normal(size=Y.shape)
    plan = Sampling("long", chains=2, anneal=3, settle=3, draws=2, thin=2)
    draws = complete(Y, 2, sampling=plan, seed=1, engine="gpu", progress=False).draws
    np.savez(out, left=draws.left, right=draws.right, row=draws.row, col=draws.col, eta2=draws.eta2)


def main():
    """Start all processes and compare what they wrote."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as held:
        held.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEPORT, 1
        )  # kept from others, shared with the coordinator
        held.bind(("127.0.0.1", 0))
        started = []
        for number, hosts in ((0, 2), (1, 2), (0, 1)):
            flags = [f"--xla_force_host_platform_device_count={4 // hosts}"]
            flags += [f"--xla_cpu_{wait}_seconds={PATIENCE}" for wait in WAITS]
            environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": " ".join(flags)}
            out = Path(folder) / f"{hosts}-{number}.npz"
            words = [
                sys.executable,
                "-m",
                "benchmarks.gpu.hosts",
                *map(str, (held.getsockname()[1], number, hosts, out)),
            ]
            started.append((subprocess.Popen(words, env=environment), out))
        assert [process.wait() for process, _ in started] == [0, 0, 0]
        first, second, alone = (dict(np.load(out)) for _, out in started)
    apart = {}
    for name, expected in alone.items():
        apart[name] = max(float(np.abs(found[name] - expected).max()) for found in (first, second))
        print(f"{name}: largest difference {apart[name]:.1e}, of numbers up to {np.abs(expected).max():.2g}")
    Path(__file__).with_name("hosts.json").write_text(json.dumps(apart, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        fit(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main()
