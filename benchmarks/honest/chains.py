"""The promises about chains: how many are stuck, and whether warnings are rare and true."""

import time
from typing import Any

import numpy as np
from benchmarks.checks import Check, Line
from benchmarks.matrices import MATRICES, load
from benchmarks.peers.problems import simulated

import maxentry
from maxentry.model.priors import Priors
from maxentry.posterior import chains, gibbs
from maxentry.posterior.rhat_ess import ess_bulk, split_rhat

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


def fit_all_chains(Y: np.ndarray, rank: int, **options: Any) -> maxentry.Posterior:
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
    """30 x 20, rank 2, half observed, six matrices of 32 chains; and R-hat of X where nothing is left out."""
    seeds, lines = range(2 if quick else 6), []
    for noise, effects in ((0.01, 1.0), (0.1, 1.0), (0.3, 1.0), (0.01, 0.0)):
        fits = [fit_all_chains(planted(seed, noise, effects), 2, seed=seed) for seed in seeds]
        stuck, among = sum(count_stuck(fit, 2) for fit in fits), 32 * len(fits)
        rhat = np.median([fit.diagnostics.median_rhat for fit in fits])
        what = f"noise {noise}, effects of sd {effects:g}"
        lines += [
            Line(f"stuck chains, {what}", f"{stuck} of {among}", "at most 1 of 192"),
            Line(f"median R-hat of X, {what}", f"{rhat:.3f}", "below 1.02 (12 draws a chain)"),
        ]
    return lines


def convergence_warnings(quick: bool) -> list[Line]:
    """Default fits of the real matrices at 5 and 15% observed that warn, and planted failures that do."""
    names = list(MATRICES)[:2] if quick else list(MATRICES)
    short = maxentry.Sampling(anneal=10, settle=0, draws=12, thin=1)
    told: dict[str, list[bool]] = {"default": [], "too short": [], "too few chains": []}
    for name in names:
        for share in (0.05, 0.15):
            M = load(name, 0)
            known = np.argwhere(np.isfinite(M))
            np.random.default_rng(1).shuffle(known)
            i, j = known[: int(share * M.size)].T
            Y = np.full(M.shape, np.nan)
            Y[i, j] = M[i, j]
            options: dict[str, Any] = {"seed": 0, "threads": 1, "progress": False}
            fits = {
                "default": maxentry.complete(Y, **options),
                "too short": maxentry.complete(Y, 2, sampling=short, **options),
                "too few chains": maxentry.complete(Y, 2, sampling=maxentry.Sampling(chains=4), **options),
            }
            for kind, fit in fits.items():
                told[kind].append(not fit.diagnostics.converged)
    asked = {"default": "at most 5%"}
    return [
        Line(f"fits that warn, {kind}", f"{sum(seen)} of {len(seen)}", asked.get(kind, "at least 95%"))
        for kind, seen in told.items()
    ]


def trace_chains(
    effects: bool, chains: int, sweeps: tuple[int, int, int], seed: int
) -> dict[str, np.ndarray]:
    """Draws of every sweep (chain, sweep, quantity) after annealing and settling: entries and scales, and seconds."""
    anneal, settle, kept = sweeps
    problem = simulated((1000, 1000), 8, 50_000, 20_000, 0.3)
    data = gibbs.prepare(
        maxentry.Observations((1000, 1000), problem["rows"], problem["cols"], problem["values"]),
        effects, "gaussian", True, None,
    )  # fmt: skip
    priors = Priors.weak(data.shape, 8)
    i = np.concatenate([problem["watched_rows"], problem["rows"][:200]])
    j = np.concatenate([problem["watched_cols"], problem["cols"][:200]])
    betas = maxentry.Sampling("long", 1, anneal=anneal, settle=settle, draws=1, thin=1).betas()
    found: dict[str, list[Any]] = {"entries": [], "scales": [], "strengths": [], "seconds": []}
    for chain in range(chains):
        rng, hyper = np.random.default_rng([seed, chain]), gibbs.hyperparameters(priors)
        nothing, buffers = (
            gibbs.DrawBuffers(
                *(np.empty((n, *shape)) for shape in ((1000, 8), (1000, 8), (1000,), (1000,), (8,)))
            )
            for n in (0, kept)
        )
        begin = time.process_time()
        state = gibbs.init(data, 8, priors, rng)
        state = gibbs.step(state, data, 8, hyper, rng, betas, nothing, 0)
        gibbs.step(state, data, 8, hyper, rng, np.ones(kept), buffers, 1)
        found["seconds"].append(time.process_time() - begin)
        left, right, row, col, scalars = buffers
        X = np.einsum("nkr,nkr->nk", left[:, i], right[:, j])
        found["entries"].append(X + row[:, i] + col[:, j] + scalars[:, :1])
        found["scales"].append(np.log(scalars[:, list(SCALES.values()) if effects else [1, 2]]))
        gram = np.einsum("nir,nis->nrs", left, left) @ np.einsum("nir,nis->nrs", right, right)
        found["strengths"].append(np.sort(np.linalg.eigvals(gram).real, axis=1)[:, :1])
    return {name: np.array(values) for name, values in found.items()}


def mixing(quick: bool) -> list[Line]:
    """1,000 x 1,000, 50,000 entries, rank 8: sweeps an effective sample after 20 sweeps of annealing, 80 to settle."""
    lines = []
    for effects in (True, False):
        chains, sweeps = (2, (20, 30, 50)) if quick else (8, (20, 80, 300))
        trace = trace_chains(effects, chains, sweeps, seed=1)
        kept, seconds = (
            chains * sweeps[2],
            trace["seconds"][1:].sum() / (chains - 1),
        )  # the first one compiles
        times = kept / ess_bulk(trace["entries"])
        rhat = np.median(split_rhat(trace["entries"])[:200])
        what = f"{'with' if effects else 'without'} effects"
        spent = f"{1e3 * seconds / sum(sweeps):.2f} ms of processor time a sweep"
        lines += [
            Line(
                f"sweeps an effective sample of 200 unobserved entries, {what}",
                f"{np.median(times[:200]):.2f}, worst {times[:200].max():.1f}, R-hat {rhat:.3f} ({spent})",
                "below 3",
            ),
            Line(
                f"of 200 observed ones, {what}",
                f"{np.median(times[200:]):.2f}, worst {times[200:].max():.1f}",
            ),
            Line(
                f"chains of {chains} in which a component is missing, {what}",
                f"{int((np.sqrt(trace['strengths'][:, -1, 0]) < 100).sum())}",
                "0",
            ),
        ]
        slow = kept / ess_bulk(trace["scales"])
        names = list(SCALES) if effects else list(SCALES)[:2]
        value = ", ".join(f"{name} {time:.1f}" for name, time in zip(names, slow, strict=True))
        lines.append(Line(f"of the scales, {what}", value))
    return lines


CHECKS: dict[str, Check] = {
    "stuck_chains": stuck_chains,
    "mixing": mixing,
    "convergence_warnings": convergence_warnings,
}
