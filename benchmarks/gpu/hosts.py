"""Try `jax.distributed` on this machine: two processes of two virtual devices beside one process of four.

    python -m benchmarks.gpu.hosts

Prints how far the draws differ. It is a command and no test: on a busy machine JAX's processes on processors may wait
for each other until they give up.
"""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def fit(port, number, hosts, out):
    """Fit a small table on all devices of all hosts; every host writes what it got."""
    import jax

    from maxentry import Sampling, complete

    if hosts > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", hosts, number)
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
            devices = f"--xla_force_host_platform_device_count={4 // hosts}"
            environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": devices}
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
    for name, expected in alone.items():
        apart = max(float(np.abs(found[name] - expected).max()) for found in (first, second))
        print(f"{name}: largest difference {apart:.1e}, of numbers up to {np.abs(expected).max():.2g}")


if __name__ == "__main__":
    if sys.argv[1:]:
        fit(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        main()
