"""Where the milliseconds of a sweep go on a GPU: kernels by part from JAX's profiler, and the time between them."""

import tempfile
import time
from pathlib import Path

import numpy as np

SUMS, DRAWS = "_sum_line", "_draw_line"  # the kernels of `maxentry.gpu.fused`


def profile_sweeps(run, ms, n=32):
    """Parts of a sweep in milliseconds: sums and draws of rows, all other kernels and their number, and waiting.

    ms: of a sweep without the profiler, which slows down what waits between kernels but not the kernels.
    """
    import jax

    with tempfile.TemporaryDirectory() as folder, jax.enable_x64(True):
        begin = time.perf_counter()
        with jax.profiler.trace(folder):
            run.sweep(np.ones(n))
            jax.block_until_ready(run.state)
        took = (time.perf_counter() - begin) / n * 1e3
        path = next(Path(folder).rglob("*.xplane.pb"))
        kernels = read_kernels(jax.profiler.ProfileData.from_file(str(path)))
    by_part = {"sums": [0, 0.0], "draws": [0, 0.0], "others": [0, 0.0]}
    for name, (count, spent) in kernels.items():
        part = "sums" if name.startswith(SUMS) else "draws" if name.startswith(DRAWS) else "others"
        by_part[part][0] += count / n
        by_part[part][1] += spent / n
    largest = sorted(kernels.items(), key=lambda item: -item[1][1])[:12]
    result = {name: {"kernels": count, "ms": spent} for name, (count, spent) in by_part.items()}
    waiting = ms - sum(spent for _, spent in by_part.values())
    listed = [[name, count / n, spent / n] for name, (count, spent) in largest]
    return result | {"ms": ms, "waiting": waiting, "ms with the profiler": took, "largest": listed}


def read_kernels(data):
    """How often each kernel ran on the GPU, and its milliseconds in all."""
    found = {}
    for plane in data.planes:
        if plane.name.startswith("/device:GPU"):
            for line in plane.lines:
                if line.name.startswith("Stream"):
                    for event in line.events:
                        count, spent = found.get(event.name[:60], (0, 0.0))
                        found[event.name[:60]] = count + 1, spent + event.duration_ns / 1e6
    return found
