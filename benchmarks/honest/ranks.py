"""Ranks: do default intervals of X cover, does the default end, do weights of ranks grow old or depend on chance?"""

import os
import resource
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Check, Line, read, recall

import maxentry
from maxentry import Campaign, Observations
from maxentry.model.smg import simulate

RESULTS = Path(__file__).parent / "results"
CELLS = Path(os.environ.get("REAL_CELLS", "build/honest/real.jsonl"))
SIZES = {30: (3, (40, 80, 140, 220)), 60: (4, (160, 320, 640))}  # m: rank of the truth, numbers of entries
FRACTIONS = (0.03, 0.10, 0.30)
MOST_TESTED = 3000
OLD_CELLS = Path(os.environ.get("OLD_CELLS", "build/honest/old_weights.jsonl"))
OLD_CASES = int(os.environ.get("OLD_CASES", "10"))  # matrices
CASES = int(os.environ.get("COVERAGE_CASES", "40"))  # simulated, of each size
LARGE = int(os.environ.get("LARGE_OBSERVATIONS", "20000000"))
SEEDS = int(os.environ.get("REAL_SEEDS", "5"))  # of each matrix and share
UNSURE, MANY_SEEDS = ("direct arylation", 0.10), 20  # where five seeds leave it open


def coverage(quick: bool) -> list[Line]:
    """90% intervals of all entries of the paper's simulated matrices, entries at random, everything default."""
    lines = []
    for m, (rank, sizes) in SIZES.items():
        for n in sizes:
            found = np.array([_covered(m, rank, n, case) for case in range(2 if quick else CASES)])
            text = f"{found.mean():.3f}, 5% quantile {np.quantile(found, 0.05):.3f} ({found.size} cases)"
            lines.append(Line(f"coverage of 90% intervals, {m} x {m}, N = {n}", text, ">= 0.85, >= 0.70"))
    return lines


def _covered(m: int, rank: int, n: int, case: int) -> float:
    sim = simulate((m, m), rank, n, np.random.default_rng([m, n, case]))
    data = Observations.of((sim.rows, sim.cols, sim.values), shape=(m, m))
    low, high = maxentry.complete(data, seed=case, progress=False, threads=1).interval(0.9)
    X = sim.X.matrix()
    print(f"  {m} {n} {case} {np.mean((low <= X) & (high >= X)):.3f}", flush=True)
    return float(np.mean((low <= X) & (high >= X)))


def real(quick: bool) -> list[Line]:
    """Error on entries of ten real matrices that were not observed, over that of row-and-column means (rank 0).

    Each result is kept as it comes in the file REAL_CELLS, so that an interrupted run goes on; seeds come last, so that
    a run with fewer of them is a part of the whole one.
    """
    names, shares = list(matrices.MATRICES)[: 2 if quick else None], FRACTIONS[: 2 if quick else None]
    found: dict[tuple[str, float], list[list[float]]] = {}
    for seed, share, name in product(range(1 if quick else SEEDS), shares, names):
        cell = recall(CELLS, [name, share, seed], partial(_errors, name, share, seed))
        found.setdefault((name, share), []).append(cell)
    lines = []
    for (name, share), cells in found.items():
        ratio, error = np.mean(cells, axis=0)
        text = f"{error:.4f} (over rank 0: {ratio:.3f}; {len(cells)} seeds)"
        lines.append(Line(f"error, {name}, {share:.0%}", text, "<= 1.02 of before; <= 1.01 of means"))
    return lines + _over_before(lines) + ([] if quick else _look_closer())


def _look_closer() -> list[Line]:
    """The cell that five seeds leave open, with more of them."""
    name, share = UNSURE
    cells = np.array(
        [
            recall(CELLS, [name, share, seed], partial(_errors, name, share, seed))
            for seed in range(MANY_SEEDS)
        ]
    )
    ratio, error = cells.mean(0)
    spread = cells[:, 0].std(ddof=1) / MANY_SEEDS**0.5
    text = f"{error:.4f} (over rank 0: {ratio:.3f} ± {spread:.3f}; {MANY_SEEDS} seeds)"
    what = f"error, {name}, {share:.0%}, more seeds"
    return [Line(what, text, "<= 1.02 of before; <= 1.01 of means")]


def _over_before(lines: list[Line]) -> list[Line]:
    """Errors over those of before, where these are known."""
    before = {line.what: float(line.value.split()[0]) for line in read(RESULTS, "real", "before") or []}
    ratios = {
        line.what: float(line.value.split()[0]) / before[line.what] for line in lines if line.what in before
    }
    if not ratios:
        return []
    worst = max(ratios, key=lambda what: ratios[what])
    mean = np.exp(np.mean(np.log(list(ratios.values()))))
    text = f"{mean:.4f} in the mean, worst {ratios[worst]:.4f} ({worst.removeprefix('error, ')})"
    return [Line(f"error over that of before, {len(ratios)} cells", text, "<= 1.005, worst <= 1.02")]


def _errors(name: str, fraction: float, seed: int) -> list[float]:
    """Error over that of rank 0, and in units of the sd of the values."""
    M = matrices.load(name, seed)
    rows, cols = np.nonzero(~np.isnan(M))
    order = np.random.default_rng([seed, round(1000 * fraction)]).permutation(rows.size)
    n = round(fraction * M.size)
    train, test = order[:n], order[n : n + MOST_TESTED]
    values = M[rows, cols]
    data = Observations.of((rows[train], cols[train], values[train]), shape=M.shape)
    errors = [
        float(np.sqrt(np.mean((p.belief.mean_at(rows[test], cols[test]) - values[test]) ** 2)))
        for p in (maxentry.complete(data, rank, seed=seed, progress=False, threads=1) for rank in ("auto", 0))
    ]
    return [errors[0] / errors[1], errors[0] / float(values[test].std())]


def movielens(quick: bool) -> list[Line]:
    """Processor time and held-out error of the default on 90% of MovieLens 1M, and of a given rank."""
    shape, rows, cols, values = matrices.movielens_1m()
    order = np.random.default_rng(0).permutation(values.size)
    n = int((0.1 if quick else 0.9) * values.size)
    train, test = order[:n], order[n : n + 97_784]
    lines = []
    for rank, asked in (("auto", "<= 120 s, no loss"), (10, "")):
        begin = time.process_time()
        data = (rows[train], cols[train], values[train])
        posterior = maxentry.complete(data, rank, shape=shape, seed=0, threads=1)
        took = time.process_time() - begin
        error = np.sqrt(np.mean((posterior.belief.mean_at(rows[test], cols[test]) - values[test]) ** 2))
        text = f"{took:.0f} s of processor time, RMSE {error:.4f}, ranks {posterior.rank_weights}"
        lines.append(Line(f"MovieLens 1M, rank {rank}", text, asked))
    return lines


def large(quick: bool) -> list[Line]:
    """2e7 observations: processor time of the default over that of a fit with the rank given."""
    n = 200_000 if quick else LARGE
    m = n // 400
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(m, size=(2, n)).astype(np.int32)
    A, B = rng.standard_normal((2, m, 4))
    values = np.einsum("nr,nr->n", A[rows], B[cols]) + rng.standard_normal(n)
    data = Observations.of((rows, cols, values), shape=(m, m))
    took = {}
    for rank in (4, "auto"):
        begin = time.process_time()
        maxentry.complete(data, rank, seed=0, threads=1, dtype=np.float32)
        took[rank] = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    text = f"{took['auto'] / took[4]:.2f} ({took['auto']:.0f} s over {took[4]:.0f} s; {memory:.1f} GiB)"
    return [Line(f"{n:,} observations, default over rank 4", text, "<= 2")]


def old_weights(quick: bool) -> list[Line]:
    """Error of a campaign's posterior over that of a fresh fit, as far from the last anchor as can be.

    Both are of a few chains, so that two fits of the same weights differ, too; kept as those of `real` are.
    """
    sizes, cases = ((42, 170), 2) if quick else ((42, 70, 102, 130, 150, 170, 190, 230, 290), OLD_CASES)
    found: dict[int, list[float]] = {}
    for case, n in product(range(cases), sizes):
        found.setdefault(n, []).extend(recall(OLD_CELLS, [n, case], partial(_over_fresh, n, case)))
    return [
        Line(
            f"campaign over fresh fit, 30 x 30, N = {n}",
            f"{np.exp(np.log(ratios).mean()):.3f} ({min(ratios):.2f} to {max(ratios):.2f}; {cases} matrices)",
            "<= 1.03",
        )
        for n, ratios in found.items()
    ]


def _over_fresh(n: int, case: int) -> list[float]:
    sim = simulate((30, 30), 3, n, np.random.default_rng([30, case]))
    X = sim.X.matrix()
    campaign = Campaign.create("sqlite://", "x", 30, 30, seed=case, acquisition="uniform")
    labels = campaign.state.row_labels, campaign.state.col_labels
    row, col = ([names[k] for k in index] for names, index in zip(labels, (sim.rows, sim.cols), strict=True))
    for told in zip(row, col, sim.values, strict=True):  # one by one: what is told at once is fitted at once
        campaign.tell(**{name: [x] for name, x in zip(("row", "col", "value"), told, strict=True)})
    told = campaign.posterior(progress=False)
    fresh = maxentry.complete(told.observations, seed=case, progress=False)
    errors = [np.sqrt(np.mean((np.asarray(p.mean) - X) ** 2)) for p in (told, fresh)]
    return [float(errors[0] / errors[1])]


def chance(quick: bool) -> list[Line]:
    """How much weights of ranks would vary if parts and chains were other ones."""
    from maxentry.posterior import rank as module

    lines = []
    for n in (80, 140):
        sim = simulate((30, 30), 3, n, np.random.default_rng([30, 1]))
        data = Observations.of((sim.rows, sim.cols, sim.values), shape=(30, 30))
        found = []
        for stream in range(2 if quick else 8):
            module.STREAM = stream
            choice = maxentry.complete(data, seed=0, progress=False, threads=1).rank_choice
            found.append(choice.weights)
        most = np.std(found, axis=0, ddof=1).max()
        text = f"{most:.3f} (means {', '.join(f'{w:.2f}' for w in np.mean(found, axis=0))})"
        lines.append(
            Line(f"largest sd of a weight over other parts and streams, 30 x 30, N = {n}", text, "said")
        )
    return lines


CHECKS: dict[str, Check] = {
    "coverage": coverage, "real": real, "movielens": movielens, "large": large, "old_weights": old_weights,
    "chance": chance,
}  # fmt: skip
