"""Features that say nothing must not hurt, and features must not cost much: error and time over those without."""

import time
from pathlib import Path

import numpy as np
from benchmarks.checks import Line, recall
from benchmarks.matrices import load

import maxentry
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.link import Basis
from maxentry.model.priors import Priors
from maxentry.posterior import gibbs

KNOWN = Path(__file__).parent / "results" / "useless.jsonl"
TABLES = ("direct arylation", "Buchwald-Hartwig", "kinase pKd")
SIMULATED = "simulated 30 x 20, rank 3"
WITH_LEVELS = {  # rows, columns, rank, share known, noise; components weaken, rows and columns have levels
    "simulated 60 x 40, rank 3, levels": (60, 40, 3, 0.3, 0.3),
    "simulated 100 x 60, rank 3, levels": (100, 60, 3, 0.15, 0.3),
    "simulated 80 x 30, rank 2, levels": (80, 30, 2, 0.2, 0.5),
}
SEEDS, SPLITS = 12, 300
SHORTEST = maxentry.Sampling(chains=2, anneal=2, settle=1, draws=2, thin=1)


def useless(quick: bool) -> list[Line]:
    """Ten random features of rows, and one of them; everything else by default."""
    lines, all_ratios = [], dict[str, list[float]](ten=[], one=[])
    for name in (SIMULATED,) if quick else (*TABLES, SIMULATED, *WITH_LEVELS):
        ratios = dict[str, list[float]](ten=[], one=[])
        for seed in range(1 if quick else SEEDS):
            plain, ten = recall(KNOWN, [name, seed], lambda at=(name, seed): errors(*at, (0, 10)))
            one = recall(KNOWN, [name, seed, "one"], lambda at=(name, seed): errors(*at, (1,)))[0]
            ratios["ten"].append(ten / plain)
            ratios["one"].append(one / plain)
        lines.append(Line(f"{name}: error with ten random features over that without", spread(ratios["ten"])))
        lines.append(Line(f"{name}: with one random feature", spread(ratios["one"])))
        for way, found in ratios.items():
            all_ratios[way] += found if quick or name in TABLES else []
    lines.append(
        Line("all three real tables, with ten random features", spread(all_ratios["ten"]), "<= 1.01")
    )
    return [*lines, Line("all three real tables, with one random feature", spread(all_ratios["one"]))]


def spread(ratios: list[float]) -> str:
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else float("nan")
    return f"{np.mean(ratios):.4f} ± {error:.4f} (worst of {len(ratios)}: {max(ratios):.3f})"


def errors(name: str, seed: int, widths: tuple[int, ...]) -> list[float]:
    """Errors of held-out entries with so many features, 0: without."""
    Y, M, F = make_table(name, seed)
    found, held = [], ~np.isnan(M) & np.isnan(Y)
    for p in widths:
        features = F[:, :p] if p else None
        posterior = maxentry.complete(Y, row_features=features, seed=seed, threads=1, progress=False)
        found.append(float(np.sqrt(np.mean((posterior.arrays.mean - M)[held] ** 2))))
    return found


def many_splits(quick: bool) -> list[Line]:
    """Ten random features on the smallest table, of which twelve splits are few: one in ten uses them by chance.

    Where they are left out the fit is that without them, to the bit (tests/posterior/test_idle_features.py).
    """
    ratios = []
    for seed in range(10 if quick else SPLITS):
        Y, _, F = make_table(SIMULATED, seed)
        tested = maxentry.complete(Y, 0, row_features=F, sampling=SHORTEST, threads=1, progress=False)
        if tested.fit.idle[0] is not None:
            ratios.append(1.0)
            continue
        plain, ten = recall(KNOWN, [SIMULATED, seed], lambda at=seed: errors(SIMULATED, at, (0, 10)))
        ratios.append(ten / plain)
    used = f"; used in {np.count_nonzero(np.array(ratios) != 1.0)}"
    what = f"{SIMULATED}, {len(ratios)} splits: error with ten random features over that without"
    return [Line(what, spread(ratios) + used, "<= 1.01")]


def make_table(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is known of a table, the table, and ten random features of its rows."""
    rng = np.random.default_rng([51, seed])
    if name in WITH_LEVELS:
        m1, m2, rank, share, noise = WITH_LEVELS[name]
        M = (rng.standard_normal((m1, rank)) * 0.7 ** np.arange(rank)) @ rng.standard_normal((rank, m2))
        M += 0.7 * rng.standard_normal((m1, 1)) + 0.7 * rng.standard_normal(m2)
        known = rng.random(M.shape) < share
    elif name == SIMULATED:
        M = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)) + 0.5 * rng.standard_normal(20)
        known, noise = rng.random(M.shape) < 0.4, 0.5
    else:
        M, noise = load(name, seed), 0.0
        known = ~np.isnan(M) & (rng.random(M.shape) < 0.3)
    Y = np.where(known, M, np.nan)
    if noise:
        Y += noise * rng.standard_normal(M.shape)
    return Y, M, rng.standard_normal((M.shape[0], 10))


def sweep(quick: bool) -> list[Line]:
    """A sweep with 100 features over one without, the least of many blocks of each in turn."""
    m, rank, rng = 1000, 8, np.random.default_rng(0)
    places = np.sort(rng.permutation(m * m)[:50_000])
    data = maxentry.Observations.of((*np.divmod(places, m), rng.standard_normal(places.size)), shape=(m, m))
    sides = [Basis(m, rng.standard_normal((m, 100))) for _ in range(2)]
    cases = {
        "plain": None,
        "features of rows": (sides[0], Basis(m)),
        "features of both": (sides[0], sides[1]),
    }
    took = dict.fromkeys(cases, np.inf)
    runs = {case: sweeps_of(data, bases, rank) for case, bases in cases.items()}
    for _ in range(5 if quick else 40):
        for case, run in runs.items():
            begin = time.process_time()
            run()
            took[case] = min(took[case], time.process_time() - begin)
    return [
        Line(f"{case}, p = 100: a sweep over a plain one", f"{took[case] / took['plain']:.2f}", "<= 1.5")
        for case in list(cases)[1:]
    ]


def sweeps_of(data: maxentry.Observations, bases: tuple[Basis, Basis] | None, rank: int, settle: int = 0):
    """A function that runs four sweeps, from a state after `settle` of them."""
    rng, priors = np.random.default_rng(1), Priors.weak(data.shape, rank)
    prepared = gibbs.prepare(data, True, GAUSSIAN, True, None, bases)
    state, hyper = gibbs.init(prepared, rank, priors, rng), gibbs.hyperparameters(priors)
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))
    space = gibbs.Workspace.allocate(prepared, rank)
    if settle:
        state = gibbs.step(state, prepared, rank, hyper, rng, np.ones(settle), nothing, 0, space)

    def run() -> None:
        gibbs.step(state, prepared, rank, hyper, rng, np.ones(4), nothing, 0, space)

    run()
    return run


CHECKS = {"useless": useless, "useless_often": many_splits, "sweep": sweep}
