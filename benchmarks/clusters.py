"""Chains on a Dask cluster of two workers, beside threads of one process: the same draws, and what it costs.

    python benchmarks/clusters.py            # writes benchmarks/clusters.md

A worker of the last line is killed while it runs a chain. Times are of one run after another on the same two cores, so
only their ratio means something.
"""

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed
import numpy as np
from measures import table

import maxentry
from maxentry.posterior.posterior import Posterior

HERE = Path(__file__).parent
CASES = {
    "1,000 x 600, 30,000 values, rank 8": ((1000, 600), 30_000, 8),
    "60 x 40, 700 values, rank auto": ((60, 40), 700, "auto"),
}


def simulate(shape: tuple[int, int], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    entries = rng.choice(shape[0] * shape[1], n, replace=False)
    rows, cols = np.divmod(entries, shape[1])
    left, right = rng.normal(size=(shape[0], 3)), rng.normal(size=(shape[1], 3))
    return rows, cols, np.sum(left[rows] * right[cols], axis=1) + rng.normal(0, 0.5, n)


def same(a: Posterior, b: Posterior) -> str:
    pairs = (
        (getattr(a.draws, name), getattr(b.draws, name)) for name in ("left", "right", "row", "col", "eta2")
    )
    return "yes" if all(np.array_equal(x, y) for x, y in pairs) else "NO"


def kill_in_the_middle(mark: str) -> None:
    """Let the first worker that has annealed a chain die before it draws from it."""
    from maxentry.posterior import chains

    step, calls = chains.gibbs.step, []

    def dying_step(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            try:
                Path(mark).touch(exist_ok=False)
            except FileExistsError:
                return step(*args)
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args)

    chains.gibbs.step = dying_step


def main() -> None:
    lines = []
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):

        def fit(case: str, **options: Any) -> tuple[Posterior, float]:
            shape, n, rank = CASES[case]
            start = time.perf_counter()
            posterior = maxentry.complete(
                simulate(shape, n), rank, shape=shape, seed=1, progress=False, **options
            )
            return posterior, time.perf_counter() - start

        for case in CASES:
            for options in ({"threads": 2}, {"cluster": client}):
                fit(case, **options)  # kernels are loaded, here and there
            here, in_threads = fit(case, threads=2)
            there, on_cluster = fit(case, cluster=client)
            lines.append([case, "", same(here, there), f"{on_cluster / in_threads:.2f}"])
        case = next(iter(CASES))
        here, in_threads = fit(case, threads=2)
        client.run(kill_in_the_middle, str(Path(folder) / "mark"))
        there, on_cluster = fit(case, cluster=client)
        lines.append([case, "one, in its first chain", same(here, there), f"{on_cluster / in_threads:.2f}"])
    heads = ["table", "workers killed", "same draws, bit for bit", "time over that of 2 threads"]
    (HERE / "clusters.md").write_text(
        "# Chains on a Dask cluster\n\nWritten by `python benchmarks/clusters.py`: a local cluster of two workers with "
        "one thread each, beside two threads of one process, on the same two cores.\n\n"
        + table(heads, lines)
        + "\nOther work ran on these cores at the same time, so that the ratios are rough. A chain that was lost "
        "begins again, on another worker or on the same one after its restart.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
