"""The promises about chains: how many are stuck, and whether warnings are rare and true."""

import time
from typing import Any

import numpy as np
from benchmarks.checks import Check, Line
from benchmarks.matrices import MATRICES, load
from benchmarks.peers.problems import simulated

import maxentry
from maxentry.posterior import chains

try:
    from maxentry.posterior.diagnostics import ess_bulk, split_rhat
except ImportError:  # its name in commit b121af5
    from maxentry.posterior.convergence import ess_bulk, split_rhat

STUCK_RATIO, STUCK_NATS = 2.0, 30.0  # a chain is stuck if its noise is that large and its mode has no mass

SCALES = {
    "sigma2": 1,
    "eta2": 2,
    "tau2 of rows": 3,
    "tau2 of columns": 4,
    "s2 of rows": 6,
    "s2 of columns": 7,
}


def planted(
    seed: int, noise: float, effects: float, shape: tuple[int, int] = (30, 20), rank: int = 2
) -> np.ndarray:
    """Half of a matrix of low rank with row and column effects of sd `effects`, NaN elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    X = X + effects * (rng.standard_normal((shape[0], 1)) + rng.standard_normal(shape[1]))
    Y = X + noise * rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.5, Y, np.nan)


def fit_all_chains(Y: Any, rank: int, **options: Any) -> maxentry.Posterior:
    """A fit that keeps its stuck chains; the second name is that of commit b121af5."""
    for name in ("drop_stuck_chains", "without_stuck"):
        if hasattr(chains, name):
            setattr(chains, name, lambda run, data: run)
    return maxentry.complete(Y, rank, threads=1, progress=False, **options)


def count_stuck(posterior: maxentry.Posterior, rank: int) -> int:
    (m1, m2), log_eta = posterior.shape, 0.5 * np.log(posterior.draws.eta2).mean(1)
    free = posterior.observations.n - rank * (m1 + m2 - rank) - (m1 + m2)
    above = log_eta - np.median(log_eta)
    return int(((above > np.log(STUCK_RATIO)) & (free * above > STUCK_NATS)).sum())


def stuck_chains(quick: bool) -> list[Line]:
    """30 x 20, rank 2, half observed, 24 matrices of 32 chains (before: six); R-hat of X where nothing is left out."""
    seeds, lines = range(2 if quick else 24), []
    for noise, effects in ((0.01, 1.0), (0.1, 1.0), (0.3, 1.0), (0.01, 0.0)):
        fits = [fit_all_chains(planted(seed, noise, effects), 2, seed=seed) for seed in seeds]
        stuck, among = sum(count_stuck(fit, 2) for fit in fits), 32 * len(fits)
        rhat = np.median([fit.diagnostics.median_rhat for fit in fits])
        what = f"noise {noise}, effects of sd {effects:g}"
        lines += [
            Line(f"stuck chains, {what}", f"{stuck} of {among}", "at most 1 of 192"),
            Line(f"median R-hat of X, {what}", f"{rhat:.4f}", "below 1.01 (independent draws: 1.0076)"),
        ]
    return lines


def known_part(name: str, share: float, seed: int) -> np.ndarray:
    """A random part of a real matrix, NaN elsewhere."""
    M = load(name, seed)
    known = np.argwhere(np.isfinite(M))
    np.random.default_rng(seed + 1).shuffle(known)
    i, j = known[: int(share * M.size)].T
    Y = np.full(M.shape, np.nan)
    Y[i, j] = M[i, j]
    return Y


def is_too_short(short: maxentry.Posterior, long: maxentry.Posterior) -> bool:
    """Whether a run was too short in truth: 90% intervals of a typical entry, or the noise, 5% off a long run's."""
    widths = [np.median(np.subtract(*fit.interval(0.9)[::-1])) for fit in (short, long)]
    noises = [np.sqrt(fit.draws.eta2).mean() for fit in (short, long)]
    return any(abs(np.log(a / b)) > 0.05 for a, b in (widths, noises))


def convergence_warnings(quick: bool) -> list[Line]:
    """Default fits of the real matrices at 5 and 15% observed that warn, and planted failures that do."""
    names = list(MATRICES)[:2] if quick else list(MATRICES)
    short = maxentry.Sampling(anneal=10, settle=0, draws=12, thin=1)
    told: dict[str, list[bool]] = {"default": [], "too short": [], "too few chains": []}
    in_truth = 0
    for seed in range(1 if quick else 3):
        for name in names:
            for share in (0.05, 0.15):
                Y = known_part(name, share, seed)
                options: dict[str, Any] = {"seed": seed, "threads": 1, "progress": False}
                few = maxentry.Sampling(chains=4)
                fits = {
                    "default": maxentry.complete(Y, **options),
                    "too short": maxentry.complete(Y, 2, sampling=short, **options),
                    "too few chains": maxentry.complete(Y, 2, sampling=few, **options),
                }
                for kind, fit in fits.items():
                    told[kind].append(not fit.diagnostics.converged)
                long = maxentry.complete(Y, 2, sampling=maxentry.Sampling(), **options)
                in_truth += is_too_short(fits["too short"], long)
    asked = {"default": "at most 5%"}
    lines = [
        Line(f"fits that warn, {kind}", f"{sum(seen)} of {len(seen)}", asked.get(kind, "at least 95%"))
        for kind, seen in told.items()
    ]
    what = "too short in truth: widths or noise 5% off those of a run twenty times as long"
    return [*lines, Line(what, f"{in_truth} of {len(told['too short'])}")]


def mixing(quick: bool) -> list[Line]:
    """1,000 x 1,000, 50,000 entries, rank 8: sweeps an effective sample after 20 sweeps of annealing and 80 more.

    Some chains still lack a component then, and what counts is when they find it; so the same 200 sweeps later, too.
    """
    later = [line._replace(what=f"{line.what}, 200 sweeps later") for line in _mix(quick, 280)]
    return [*_mix(quick, 80), *later]


def _mix(quick: bool, settle: int) -> list[Line]:
    problem, lines = simulated((1000, 1000), 8, 50_000, 20_000, 0.3), []
    i = np.concatenate([problem["watched_rows"], problem["rows"][:200]])
    j = np.concatenate([problem["watched_cols"], problem["cols"][:200]])
    data = problem["rows"], problem["cols"], problem["values"]
    plan = maxentry.Sampling("long", 4, anneal=20, settle=settle, draws=60 if quick else 300, thin=1)
    for effects in (True, False):
        what = "with effects" if effects else "without effects"
        traces: dict[str, list[np.ndarray]] = {"entries": [], "eta2": [], "sigma2": [], "weakest": []}
        seconds = []
        for seed in range(1 if quick else 3):
            begin = time.process_time()
            fit = fit_all_chains(data, 8, shape=(1000, 1000), sampling=plan, effects=effects, seed=seed)
            seconds.append(time.process_time() - begin)
            d = fit.draws
            X = np.einsum("cdkr,cdkr->cdk", d.left[:, :, i], d.right[:, :, j])
            traces["entries"].append(X + d.row[:, :, i] + d.col[:, :, j] + d.mu[:, :, None])
            traces["eta2"].append(d.eta2)
            traces["sigma2"].append(d.sigma2)
            squares = [np.einsum("cir,cis->crs", A[:, -1], A[:, -1]) for A in (d.left, d.right)]
            traces["weakest"].append(np.sqrt(np.linalg.eigvals(squares[0] @ squares[1]).real.min(axis=1)))
        joined = {name: np.concatenate(parts) for name, parts in traces.items()}
        n = len(joined["eta2"])
        times = {name: n * plan.draws / ess_bulk(joined[name]) for name in ("entries", "eta2", "sigma2")}
        unseen, seen = times["entries"][:200], times["entries"][200:]
        missing = int((joined["weakest"] < 0.3 * joined["weakest"].max()).sum())
        lines += [
            Line(
                f"sweeps an effective sample of 200 unobserved entries, {what}",
                f"{np.median(unseen):.2f} (worst {unseen.max():.1f})",
                "below 3",
            ),
            Line(
                f"the same of 200 observed entries, {what}", f"{np.median(seen):.2f} (worst {seen.max():.1f})"
            ),
            Line(f"the same of eta2 and of sigma2, {what}", f"{times['eta2']:.1f}, {times['sigma2']:.1f}"),
            Line(
                f"median R-hat of X, {what}", f"{np.median(split_rhat(joined['entries'])):.3f}", "below 1.01"
            ),
            Line(f"chains that lack a component, {what}", f"{missing} of {n}", "0"),
            Line(f"processor time of a fit, least, {what}", f"{min(seconds):.1f} s"),
        ]
    return lines


CHECKS: dict[str, Check] = {
    "stuck_chains": stuck_chains,
    "mixing": mixing,
    "convergence_warnings": convergence_warnings,
}
