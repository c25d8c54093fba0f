"""Ten real matrices, 3%, 10% and 30% of their entries observed at random: error and coverage on the others.

    python benchmarks/real_matrices.py            # writes benchmarks/real_matrices.md
    python benchmarks/real_matrices.py --quick    # one seed, the small matrices

Every result is kept in benchmarks/.cache as it comes, with a fingerprint of the code that made it: a stopped run
goes on where it was, and a changed sampler runs again while its peers do not.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import matrices
import numpy as np
from measures import Estimate, Task, covered, ours, rmse
from real_matrices_report import report
from results_cache import Cache, fingerprint
from smurff_peer import WORKER, Smurff
from threadpoolctl import threadpool_limits

from maxentry import Sampling, complete
from maxentry.completion import nuclear_norm

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "maxentry"
FRACTIONS = (0.03, 0.10, 0.30)
BURNIN, NSAMPLES = 400, 800
# Held-out entries: quantiles of hundreds of draws of 30,000 of them would take longer than the fits.
MOST_TESTED = 3000
STUDENT_SEEDS = 1  # it takes as long as all the others together
ONE_CHAIN = Sampling("long", chains=1, anneal=100, settle=2000, draws=200, thin=10)
QUICK = ("SAT11, log s", "Buchwald-Hartwig", "direct arylation")


class Cell(NamedTuple):
    matrix: str
    fraction: float
    seed: int


def task_of(cell: Cell) -> tuple[Task, np.ndarray]:
    """Observe a share of all entries, among the known ones; others of the known ones are to be predicted."""
    M = matrices.load(cell.matrix, cell.seed)
    rows, cols = np.nonzero(~np.isnan(M))
    order = np.random.default_rng([cell.seed, round(1000 * cell.fraction)]).permutation(rows.size)
    n = round(cell.fraction * M.size)
    train, test = order[:n], order[n : n + MOST_TESTED]
    values = M[rows, cols]
    task = Task(M.shape, rows[train], cols[train], values[train], rows[test], cols[test])
    return task, values[test]


# The methods


def plain_means(task: Task) -> Estimate:
    """mu + (row mean - mu) + (column mean - mu), nothing shrunk; where nothing is observed the mean stays mu."""
    mu = task.values.mean()

    def deviations(index: np.ndarray, m: int) -> np.ndarray:
        count = np.bincount(index, minlength=m)
        return np.bincount(index, task.values - mu, minlength=m) / np.maximum(count, 1)

    row, col = deviations(task.rows, task.shape[0]), deviations(task.cols, task.shape[1])
    return Estimate(mu + row[task.test_rows] + col[task.test_cols])


def soft_impute(task: Task, seed: int) -> Estimate:
    result = nuclear_norm(task.observations, center=True, seed=seed)
    return Estimate(result.predict(task.test_rows, task.test_cols))


_smurff: Smurff | None = None  # one for each process, started when it is first asked


def smurff(task: Task, k: int, seed: int) -> Estimate:
    global _smurff
    _smurff = _smurff or Smurff()
    return _smurff(task, k, BURNIN, NSAMPLES, seed + 1)


class Method(NamedTuple):
    fit: Callable[[Task, int], Estimate]
    settings: str  # results are kept only as long as this stays the same
    seeds: int | None = None  # only the first so many


def methods() -> dict[str, Method]:
    data = fingerprint(HERE / "matrices.py") + f" {MOST_TESTED} "
    kernels = SOURCE / "kernels"
    sampler = data + fingerprint(SOURCE / "posterior", kernels, SOURCE / "model" / "priors.py")
    solver = data + fingerprint(SOURCE / "completion", kernels / "ridge.py")
    peer = data + fingerprint(WORKER) + f" {BURNIN}+{NSAMPLES}"

    def mine(seeds: int | None = None, **options: object) -> Method:
        return Method(lambda task, seed: ours(task, seed, **options), f"{sampler} {options}", seeds)

    return {
        "plain means": Method(lambda task, seed: plain_means(task), data),
        "rank 0": mine(rank=0),
        "one chain": mine(rank=4, sampling=ONE_CHAIN),
        "population": mine(rank=4),
        "auto": mine(rank="auto"),
        "auto, Student": mine(STUDENT_SEEDS, rank="auto", noise="student"),
        "SMURFF 4": Method(lambda task, seed: smurff(task, 4, seed), peer),
        "SMURFF 10": Method(lambda task, seed: smurff(task, 10, seed), peer),
        "soft-impute": Method(soft_impute, solver),
    }


# The runs


class Work(NamedTuple):
    cell: Cell
    settings: dict[str, str]  # of each wanted method, as the run began: the code may change meanwhile


def perform(work: Work) -> list[dict[str, object]]:
    """All wanted methods on one cell."""
    task, truth = task_of(work.cell)
    known, records = methods(), []
    for name, settings in work.settings.items():
        begin = time.process_time()
        estimate = known[name].fit(task, work.cell.seed)
        record = {
            **work.cell._asdict(),
            "method": name,
            "settings": settings,
            "error": rmse(estimate, truth) / float(truth.std()),
            "coverage": covered(estimate.new_low, estimate.new_high, truth),
            "cpu_seconds": time.process_time() - begin + (estimate.cpu_seconds if "SMURFF" in name else 0.0),
            "note": estimate.note,
        }
        records.append(record)
    return records


def asked(cell: Cell, method: Method) -> bool:
    return method.seeds is None or cell.seed < method.seeds


def wanted(cells: list[Cell], known: dict[str, Method], cache: Cache) -> Iterator[Work]:
    for cell in cells:
        missing = {
            name: method.settings
            for name, method in known.items()
            if asked(cell, method) and cache.get(cell, name, method.settings) is None
        }
        if missing:
            yield Work(cell, missing)


def prepare() -> None:
    """Of each process: one thread for BLAS too, and the kernels compiled before anything is timed."""
    threadpool_limits(1)
    tiny = Sampling("long", chains=1, anneal=1, settle=1, draws=1, thin=1)
    for noise in ("gaussian", "student"):
        complete(np.eye(4), rank=1, noise=noise, sampling=tiny, seed=0, progress=False)


def run(cells: list[Cell], known: dict[str, Method], cache: Cache, processes: int) -> None:
    works = list(wanted(cells, known, cache))
    begin = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(processes, initializer=prepare) as pool:
        for n, records in enumerate(pool.imap_unordered(perform, works), 1):
            cache.add(records)
            took = time.perf_counter() - begin
            print(
                f"{n}/{len(works)} cells, {took:.0f} s, {took / n * (len(works) - n):.0f} s to go: "
                f"{records[0]['matrix']} {records[0]['fraction']:.0%} seed {records[0]['seed']}: "
                + ", ".join(f"{r['method']} {r['error']:.3f} ({r['cpu_seconds']:.1f} s)" for r in records),
                flush=True,
            )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one seed, the small matrices")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--matrices", nargs="*", choices=list(matrices.MATRICES), metavar="NAME")
    options.add_argument("--methods", nargs="*", choices=list(methods()), metavar="NAME")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--out", type=Path, default=HERE / "real_matrices.md")
    given = options.parse_args()
    names = given.matrices or (QUICK if given.quick else list(matrices.MATRICES))
    seeds = range(1 if given.quick else given.seeds)
    # Seeds outermost: a stopped run has all matrices of the first seeds.
    cells = [Cell(name, fraction, seed) for seed in seeds for name in names for fraction in FRACTIONS]
    known = {name: method for name, method in methods().items() if name in (given.methods or methods())}
    cache = Cache("real_matrices")
    run(cells, known, cache, given.processes)
    records = [
        cache.get(cell, name, method.settings)
        for cell in cells
        for name, method in known.items()
        if asked(cell, method)
    ]
    text = report(records)
    given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
