"""maxentry against SMURFF 1.1 (BPMF), in one run, on one thread each.

A simulated matrix of rank 4, where the truth of every entry is known, and MovieLens 100K, split 80/20.

    python benchmarks/against_smurff.py            # writes benchmarks/against_smurff.md
    python benchmarks/against_smurff.py --quick    # fewer seeds
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import matrices
import numpy as np
from measures import Estimate, Task, covered, mean_and_error, ours, rmse, sweep_seconds, table
from smurff_peer import Smurff
from threadpoolctl import threadpool_limits

from maxentry.model.smg import draw_smg

HERE = Path(__file__).parent
Method = Callable[[Task, int], Estimate]

SIDE, RANK, SHARE, NOISE_SD = 60, 4, 0.25, 0.05
BURNIN, NSAMPLES = 400, 800


def simulated(seed: int) -> tuple[Task, np.ndarray]:
    """The model's own matrix with entries of sd 1: Var x_ij = sigma2 R^2 / (m1 m2). The truth is X, without noise."""
    rng = np.random.default_rng([60, seed])
    X = draw_smg(SIDE, SIDE, RANK, SIDE * SIDE / RANK**2, rng).matrix()
    order = rng.permutation(SIDE * SIDE)
    n = round(SHARE * order.size)
    (rows, test_rows), (cols, test_cols) = (np.split(index, [n]) for index in np.divmod(order, SIDE))
    values = X[rows, cols] + NOISE_SD * rng.standard_normal(n)
    return Task((SIDE, SIDE), rows, cols, values, test_rows, test_cols), X[test_rows, test_cols]


def movielens(seed: int) -> tuple[Task, np.ndarray]:
    """A random 80/20 split of the 100,000 ratings."""
    shape, rows, cols, values = matrices.movielens_100k()
    order = np.random.default_rng([100, seed]).permutation(values.size)
    train, test = np.split(order, [round(0.8 * order.size)])
    return Task(shape, rows[train], cols[train], values[train], rows[test], cols[test]), values[test]


def peer(smurff: Smurff, k: int) -> Method:
    def fit(task: Task, seed: int) -> Estimate:
        estimate = smurff(task, k, BURNIN, NSAMPLES, seed + 1)
        return estimate._replace(sweep_seconds=smurff.sweep_seconds(task, k))

    return fit


def mine(**options) -> Method:
    def fit(task: Task, seed: int) -> Estimate:
        estimate = ours(task, seed, **options)
        if options["rank"] == "auto":
            return estimate
        timed = sweep_seconds(task.observations, options["rank"], options.get("noise", "gaussian"))
        return estimate._replace(sweep_seconds=timed)

    return fit


def simulated_methods(smurff: Smurff) -> dict[str, Method]:
    return {
        "maxentry, rank 4": mine(rank=RANK),
        'maxentry, rank "auto"': mine(rank="auto"),
        "SMURFF, k = 4": peer(smurff, RANK),
    }


def movielens_methods(smurff: Smurff) -> dict[str, Method]:
    return {
        "maxentry, rank 10": mine(rank=10),
        "maxentry, rank 10, Student": mine(rank=10, noise="student"),
        'maxentry, rank "auto"': mine(rank="auto"),
        **{f"SMURFF, k = {k}": peer(smurff, k) for k in (10, 32)},
    }


def compared(
    problem: Callable[[int], tuple[Task, np.ndarray]], methods: dict[str, Method], seeds: int, truth_of: str
) -> Iterator[list[object]]:
    """One line a method; the methods take turns on each seed."""
    found: dict[str, list[tuple[Estimate, np.ndarray]]] = {name: [] for name in methods}
    for seed in range(seeds):
        task, truth = problem(seed)
        for name, method in methods.items():
            estimate = method(task, seed)
            found[name].append((estimate, truth))
            print(
                f"{truth_of}, seed {seed}, {name}: {rmse(estimate, truth):.4f} {estimate.seconds:.1f} s "
                f"{1000 * estimate.sweep_seconds:.3f} ms {estimate.note}",
                flush=True,
            )
    for name, runs in found.items():
        ends = [(e.low, e.high) if truth_of == "entry" else (e.new_low, e.new_high) for e, _ in runs]
        coverage = [covered(*pair, truth) for pair, (_, truth) in zip(ends, runs, strict=True)]
        widths = [float(np.mean(high - low)) for low, high in ends]
        sweep = [1000 * e.sweep_seconds for e, _ in runs if np.isfinite(e.sweep_seconds)]
        yield [
            name,
            mean_and_error([rmse(*run) for run in runs], 4),
            mean_and_error([100 * c for c in coverage], 1),
            f"{np.mean([abs(100 * c - 90) for c in coverage]):.1f}",
            f"{np.mean(widths):.3f}",
            f"{min(sweep):.3g}" if sweep else "–",
            f"{np.mean([e.seconds for e, _ in runs]):.1f}",
            "; ".join(e.note for e, _ in runs) if '"auto"' in name else "",
        ]


HEADER = f"""# maxentry against SMURFF 1.1

Written by `python benchmarks/against_smurff.py`: all methods in one run, in turns, on one thread each.
SMURFF: BPMF ("normal" priors), `num_threads=1`, `AdaptiveNoise(1.0, 1000.0)`, {BURNIN} sweeps of burn-in and {NSAMPLES}
draws, given the values less their global mean; it computes in single precision. Its intervals are quantiles of
`pred_all`, with noise added for a measurement: the noise precision, which it does not keep, is drawn from the
conditional that SMURFF itself uses. maxentry: the defaults but for what is named.
Mean ± standard error over the seeds. "ms a sweep" is CPU time of the sampler alone, best of a few blocks; "s a fit" is
everything on the clock, `rank="auto"` with its trials of all ranks.

"""
COLUMNS = [
    "method",
    "RMSE",
    "90% intervals cover, %",
    "off 90, mean of seeds",
    "mean width",
    "ms a sweep",
    "s a fit",
    "chains by rank",
]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="3 and 1 seeds instead of 10 and 3")
    options.add_argument("--out", type=Path, default=HERE / "against_smurff.md")
    given = options.parse_args()
    seeds = (3, 1) if given.quick else (10, 3)
    threadpool_limits(1)
    smurff, begin = Smurff(), time.perf_counter()
    text = HEADER
    text += (
        f"## {SIDE} x {SIDE}, rank {RANK}, {SHARE:.0%} observed, entry sd 1, noise sd {NOISE_SD}\n\n"
        f"{seeds[0]} seeds; error and intervals of the unobserved entries themselves, without noise.\n\n"
    )
    text += table(COLUMNS, list(compared(simulated, simulated_methods(smurff), seeds[0], "entry")))
    given.out.write_text(text)
    text += (
        "\n## MovieLens 100K, random 80/20 split\n\n"
        f"{seeds[1]} seed(s); error and predictive intervals of the held-out ratings.\n\n"
    )
    text += table(COLUMNS, list(compared(movielens, movielens_methods(smurff), seeds[1], "measurement")))
    text += f"\n{time.perf_counter() - begin:.0f} s in all.\n"
    given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
