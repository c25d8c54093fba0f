"""Every way to choose on the paper's simulations and on ten real matrices: error curves, ten replicates.

    .venv/bin/python -m benchmarks.strategies            # all cells not in the cache, then strategies.md and .png
    .venv/bin/python -m benchmarks.strategies --report   # only write what is there

Each run is a campaign as a user has it (`Campaign`, in memory): ask, tell, and the error of the posterior's mean over
all known entries. Simulations ask one entry at a time and are fitted as in the paper (rank known, its priors, no
effects); real matrices ask in batches with everything at its default (rank="auto"). Uniform is uniform from the first
entry on; the others begin with the balanced initial design.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks import matrices, strategies_report
from benchmarks.results_cache import Cache, fingerprint

ROOT = Path(__file__).parents[1]
PART = (100, 40)  # of the longer and the shorter side; random, another one for each replicate
STRATEGIES = ("uniform", "balanced", "maxent", "maxent_nearest", "predictive_variance", "integrated_variance")
REPLICATES = 10


class Case(NamedTuple):
    """A matrix, and how much of it is measured: n0 first, then `batches` of `batch`."""

    name: str
    n0: int
    batch: int
    batches: int
    look_every: int = 1  # batches between two looks at the error
    rank: int | None = None  # of a simulation
    shape: tuple[int, int] | None = None


SIMULATIONS = {
    "simulated 30 x 30": Case("simulated 30 x 30", 30, 1, 50, 5, 3, (30, 30)),
    "simulated 60 x 60": Case("simulated 60 x 60", 60, 1, 100, 10, 4, (60, 60)),
    "simulated 30 x 30, long": Case("simulated 30 x 30, long", 30, 2, 135, 5, 3, (30, 30)),
}


def truth_of(name: str, seed: int) -> tuple[np.ndarray, float, Case]:
    """The matrix (NaN where unknown), the sd of the noise to add to it, and the case."""
    if name in SIMULATIONS:
        from maxentry.model.smg import draw_smg

        case = SIMULATIONS[name]
        X = draw_smg(*case.shape, case.rank, 1.0, np.random.default_rng([seed, 30])).matrix()
        return X, 1e-2, case
    M = part(matrices.load(name, seed), np.random.default_rng([seed, 60]))
    m = max(M.shape)
    return M, 0.0, Case(name, m, m, 4)


def part(M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    long, short = PART
    sizes = (long, short) if M.shape[0] >= M.shape[1] else (short, long)
    i, j = (np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(M.shape, sizes, strict=True))
    return M[np.ix_(i, j)]


def run(name: str, seed: int, strategy: str) -> dict:
    """One campaign from its first batch to its last."""
    from maxentry.campaign.campaign import Campaign

    M, noise, case = truth_of(name, seed)
    known = ~np.isnan(M)
    rng = np.random.default_rng(
        [seed, 90]
    )  # of the noise: the same entry has the same value in all strategies
    Y = M + noise * rng.standard_normal(M.shape)
    model = {"rank": case.rank, "effects": False, "priors": "paper"} if case.rank else {}
    campaign = Campaign.create(
        "sqlite://", "run", *M.shape, seed=seed, acquisition=strategy, n_initial=case.n0,
        mask=None if known.all() else known, **model,
    )  # fmt: skip
    scale = np.sqrt(np.mean((M[known] - (0.0 if case.rank else M[known].mean())) ** 2))
    curve, started = [], time.process_time()
    for k in range(case.batches + 1):
        asked = campaign.ask(case.n0 if k == 0 else case.batch, frame="columns", progress=False)
        campaign.tell(asked["id"], Y[asked["row"], asked["col"]])
        if k % case.look_every == 0 or k == case.batches:
            estimate = campaign.posterior(progress=False).mean
            error = np.sqrt(np.mean((estimate - M)[known] ** 2)) / scale
            curve.append([int(campaign.status().told), float(error)])
    campaign.close()
    return {
        "matrix": name, "fraction": 0, "seed": seed, "method": strategy, "curve": curve, "shape": list(M.shape),
        "cpu_s": time.process_time() - started,
    }  # fmt: skip


def cells(quick: bool) -> list[tuple[str, int, str]]:
    names = [*SIMULATIONS, *matrices.MATRICES]
    if quick:
        names = ["simulated 30 x 30", "direct arylation"]
    wanted = [
        (name, seed, s) for name in names for seed in range(2 if quick else REPLICATES) for s in STRATEGIES
    ]
    skipped = ("maxent_nearest", "balanced")
    return [cell for cell in wanted if not (cell[0].endswith("long") and cell[2] in skipped)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two matrices, two replicates, nothing written")
    parser.add_argument("--report", action="store_true", help="write the tables from what is in the cache")
    parser.add_argument("--only", default="", help="matrices whose name contains this")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    source = ROOT / "src" / "maxentry"
    folders = ("acquisition", "design", "kernels", "posterior", "campaign/fits.py", "campaign/policy.py")
    settings = fingerprint(Path(__file__), *(source / part for part in folders))
    cache = Cache("strategies")
    todo = [c for c in cells(args.quick) if args.only in c[0]]
    todo = [] if args.report else [c for c in todo if cache.get((c[0], 0, c[1]), c[2], settings) is None]
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(run, *cell) for cell in todo]
        for k, future in enumerate(as_completed(futures), 1):
            record = future.result() | {"settings": settings}
            cache.add([record])
            last = record["curve"][-1]
            print(f"{k}/{len(todo)} {record['matrix']} {record['seed']} {record['method']}: {last[0]} {last[1]:.3f}"
                  f" ({record['cpu_s']:.0f} s)", flush=True)  # fmt: skip
    if not args.quick:
        strategies_report.write(list(cache.known.values()), ROOT / "benchmarks")


if __name__ == "__main__":
    main()
