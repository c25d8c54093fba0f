"""Our link beside SMURFF's Macau prior: error of warm and cold rows, coverage, time and memory."""

from pathlib import Path

import numpy as np
from benchmarks.checks import Line, recall
from benchmarks.side_information import peers
from benchmarks.side_information.problems import PROBLEMS, Problem

KNOWN = Path(__file__).parent / "results" / "macau.jsonl"
RANK, SWEEPS = 8, 1200
SEEDS = {"fingerprints": 3, "MovieLens 100K": 12, "AutoML error": 20}  # as many as half an hour allows
SOLVERS = ("Macau, direct", "Macau, CG")
NOISES = {"noise by column": "columns", "noise by row": "rows"}
OWN_NOISE = {
    "AutoML error": ("noise by column", "noise by row"),
    "MovieLens 100K": ("noise by row",),
}  # further lines, of tables whose columns or rows differ in it
COLUMNS = ("warm", "warm covered", "cold", "cold covered", "seconds", "MB")


def measure(problem: Problem, way: str, seed: int) -> list[float]:
    """The figures of `COLUMNS`."""
    features = {"row_features": problem.row_features, "col_features": problem.col_features}
    if way == "plain":
        features = dict.fromkeys(features)
    method = "macau" if way.startswith("Macau") else "ours"
    settings = {"rank": RANK, "sweeps": SWEEPS, "seed": seed, "direct": way == "Macau, direct"}
    settings["noise"] = NOISES.get(way, "gaussian")
    found = peers.run(method, problem.task, **features, **settings)
    parts = [found.judge(problem.truth, at) for at in (~problem.cold, problem.cold)]
    return [*parts[0], *parts[1], found.seconds, found.memory / 1024]


def macau(quick: bool) -> list[Line]:
    """A few lines for each table, means over seeds."""
    lines = []
    for name in PROBLEMS:
        solver = SOLVERS[0]  # few features
        if name == "fingerprints":
            solver = min(SOLVERS, key=lambda way: find("fingerprints", way, 0)["seconds"])
        ways = ("features", "plain", solver, *OWN_NOISE.get(name, ()))
        seeds = range(1 if quick else SEEDS[name])
        found = [
            {way: find(name, way, seed) for way in ways} for seed in seeds
        ]  # in turn, so that times compare
        runs = {way: {key: np.array([one[way][key] for one in found]) for key in COLUMNS} for way in ways}
        lines += describe(name, solver, runs)
    return lines


def find(name: str, way: str, seed: int) -> dict[str, float]:
    """The figures of a run, measured if they are not known."""
    figures = recall(KNOWN, [name, way, seed], lambda: measure(PROBLEMS[name](seed), way, seed))
    return dict(zip(COLUMNS, figures, strict=True))


def describe(name: str, solver: str, runs: dict[str, dict[str, np.ndarray]]) -> list[Line]:
    ours, plain, peer = runs["features"], runs["plain"], runs[solver]
    lines = []
    for part in ("warm", "cold"):
        ratio = ours[part] / peer[part]
        spread = f" ± {ratio.std(ddof=1) / np.sqrt(ratio.size):.4f}" if ratio.size > 1 else " (one seed)"
        means = ", ".join(f"{run[part].mean():.4f}" for run in (ours, peer, plain))
        text = f"{ratio.mean():.4f}{spread} ({means})"
        what = f"{name}: error of {part} rows over Macau's (ours, Macau, ours without features)"
        lines.append(Line(what, text, "<= 1"))
    for part in ("warm", "cold"):
        shares = [run[f"{part} covered"].mean() for run in (ours, peer, plain)]
        what = f"{name}: 90% predictive intervals of {part} rows cover (ours, Macau, ours without features)"
        lines.append(Line(what, ", ".join(f"{share:.3f}" for share in shares), "0.88 to 0.92"))
    ratio = peer["seconds"].mean() / ours["seconds"].mean()
    text = f"{ratio:.1f} ({ours['seconds'].mean():.1f} s and {peer['seconds'].mean():.1f} s, {solver[7:]})"
    lines.append(Line(f"{name}: time of Macau over ours", text, ">= 3"))
    memory = f"{ours['MB'].mean():.0f}, {peer['MB'].mean():.0f}"
    lines.append(Line(f"{name}: peak memory in MB (ours, Macau)", memory))
    for way in [way for way in NOISES if way in runs]:
        run = runs[way]
        for part in ("warm", "cold"):
            ratio = run[part] / peer[part]
            spread = f" ± {ratio.std(ddof=1) / np.sqrt(ratio.size):.4f}" if ratio.size > 1 else ""
            text = f"{ratio.mean():.4f}{spread} of Macau's error, {run[f'{part} covered'].mean():.3f} covered"
            lines.append(
                Line(f'{name}, {way} (noise="{NOISES[way]}"): {part} rows', text, "<= 1, 0.88 to 0.92")
            )
        ratio = peer["seconds"].mean() / run["seconds"].mean()
        text = f"{ratio:.1f} ({run['seconds'].mean():.1f} s)"
        lines.append(Line(f'{name}, {way} (noise="{NOISES[way]}"): time of Macau over ours', text, ">= 3"))
    return lines


CHECKS = {"macau": macau}
