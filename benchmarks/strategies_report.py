"""strategies.md and strategies.png from the records of `benchmarks.strategies`."""

from collections import defaultdict
from pathlib import Path

import numpy as np

ORDER = ("uniform", "balanced", "maxent", "maxent_nearest", "predictive_variance", "integrated_variance")
LONG = "simulated 30 x 30, long"
REACHED = 0.2  # relative error at which samples are counted

Curves = dict[str, dict[str, np.ndarray]]  # matrix -> strategy -> (replicates, looks, 2)


def write(records: list[dict], folder: Path) -> None:
    curves = gathered(records)
    tables = [final_table(curves), wins(curves), quantile_table(curves), reached_table(curves)]
    parts = [HEADER, made_by(records), *tables, FOOTER]
    (folder / "strategies.md").write_text("\n\n".join(part for part in parts if part) + "\n")
    figure(curves, folder / "strategies.png")


def gathered(records: list[dict]) -> Curves:
    """The latest record of every cell, replicates that all strategies of the matrix have."""
    cells: dict[str, dict[str, dict[int, list]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        cells[record["matrix"]][record["method"]][record["seed"]] = record["curve"]
    curves: Curves = {}
    for matrix, by_method in cells.items():
        common = sorted(set.intersection(*(set(seeds) for seeds in by_method.values())))
        if common:
            methods = [m for m in ORDER if m in by_method]
            curves[matrix] = {m: np.array([by_method[m][s] for s in common]) for m in methods}
    return curves


def made_by(records: list[dict]) -> str:
    """Which code the cells are of: a cell is not made again when only other parts have changed."""
    counts: dict[str, int] = defaultdict(int)
    for record in {(r["matrix"], r["method"], r["seed"]): r for r in records}.values():
        counts[record["settings"]] += 1
    versions = ", ".join(f"{code} ({n} runs)" for code, n in counts.items())
    return f"Fingerprints of the code that made the runs: {versions}."


def final(curve: np.ndarray) -> np.ndarray:
    return curve[:, -1, 1]


def final_table(curves: Curves) -> str:
    lines = ["## Error at the end", "",
             "Mean of the replicates; in brackets the ratio to uniform's mean, and its standard error (replicates are "
             "paired).", "",
             f"| matrix | replicates | N | {' | '.join(ORDER)} |",
             f"|---|---|---|{'---|' * len(ORDER)}"]  # fmt: skip
    for matrix, by in curves.items():
        base = final(by["uniform"])
        n = by["uniform"][0, :, 0].astype(int)
        cells = [_cell(final(by[m]), base) if m in by else "" for m in ORDER]
        lines.append(f"| {matrix} | {len(base)} | {n[0]} to {n[-1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(errors: np.ndarray, base: np.ndarray) -> str:
    ratio = errors.mean() / base.mean()
    spread = (
        (errors - ratio * base).std(ddof=1) / base.mean() / np.sqrt(len(base)) if len(base) > 1 else np.nan
    )
    return f"{errors.mean():.3f} ({ratio:.2f} ± {spread:.2f})"


def wins(curves: Curves) -> str:
    """Over all matrices: mean ratio to uniform, and on how many it is the best."""
    lines = ["## Over the real matrices and the simulations", "",
             "Geometric mean over the matrices of the ratio to uniform: at the end, and over the whole curve (the area "
             "under the error); worst matrix; on how many it has the least error.", "",
             "| strategy | real, end | real, whole curve | worst | least error on | simulated, end |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    real = {m: by for m, by in curves.items() if not m.startswith("simulated")}
    simulated = {m: by for m, by in curves.items() if m.startswith("simulated") and m != LONG}
    for method in ORDER:
        ends = [
            final(by[method]).mean() / final(by["uniform"]).mean() for by in real.values() if method in by
        ]
        areas = [
            by[method][:, :, 1].mean() / by["uniform"][:, :, 1].mean() for by in real.values() if method in by
        ]
        sims = [
            final(by[method]).mean() / final(by["uniform"]).mean()
            for by in simulated.values()
            if method in by
        ]
        best = sum(min(by, key=lambda m: final(by[m]).mean()) == method for by in real.values())
        shown = [
            _geometric(ends),
            _geometric(areas),
            f"{max(ends):.2f}" if ends else "",
            f"{best} of {len(real)}",
            _geometric(sims),
        ]
        lines.append(f"| {method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _geometric(ratios: list[float]) -> str:
    return f"{np.exp(np.mean(np.log(ratios))):.3f}" if ratios else ""


def quantile_table(curves: Curves) -> str:
    lines = ["## The paper's simulations: quantiles over the replicates", "",
             "| matrix | strategy | mean | 25% | 50% | 75% | uniform's mean above this 75% quantile |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for matrix, by in curves.items():
        if matrix.startswith("simulated") and matrix != LONG:
            base = final(by["uniform"]).mean()
            for method, curve in by.items():
                e = final(curve)
                q = np.quantile(e, [0.25, 0.5, 0.75])
                above = "" if method == "uniform" else ("yes" if base > q[2] else "no")
                lines.append(
                    f"| {matrix} | {method} | {e.mean():.3f} | {' | '.join(f'{x:.3f}' for x in q)} | {above} |"
                )
    return "\n".join(lines)


def samples_to(curve: np.ndarray, level: float) -> float:
    """The first N at which one replicate's error is at most `level`, between looks by interpolation; inf if never."""
    n, error = curve.T
    below = np.flatnonzero(error <= level)
    if not below.size:
        return np.inf
    k = below[0]
    if k == 0:
        return float(n[0])
    return float(np.interp(level, [error[k], error[k - 1]], [n[k], n[k - 1]]))


def reached_table(curves: Curves) -> str:
    if LONG not in curves:
        return ""
    lines = [f"## Past the degrees of freedom (30 x 30, R = 3: 171): samples until the relative error is {REACHED}", "",
             "| strategy | median | mean of those that reach it | reached by N = 300 | error at 300 |",
             "|---|---|---|---|---|"]  # fmt: skip
    for method, by in curves[LONG].items():
        n = np.array([samples_to(c, REACHED) for c in by])
        reached = np.isfinite(n)
        median = np.sort(n)[(len(n) - 1) // 2 : len(n) // 2 + 1].mean()
        mean = f"{n[reached].mean():.0f}" if reached.any() else ""
        lines.append(
            f"| {method} | {median:.0f} | {mean} | {reached.sum()} of {len(n)} | {final(by).mean():.3f} |"
        )
    return "\n".join(lines)


def figure(curves: Curves, path: Path) -> None:
    import matplotlib.pyplot as plt

    across = 4
    down = -(-len(curves) // across)
    fig, axes = plt.subplots(down, across, figsize=(4 * across, 3 * down), squeeze=False)
    for ax in axes.flat[len(curves) :]:
        ax.axis("off")
    for ax, (matrix, by) in zip(axes.flat, curves.items(), strict=False):
        for method, curve in by.items():
            n, error = curve[0, :, 0], curve[:, :, 1]
            style = {"color": f"C{ORDER.index(method)}", "label": method, "lw": 1.5}
            ax.plot(n, error.mean(0), **style)
            if method in ("uniform", "predictive_variance"):
                low, high = np.quantile(error, [0.25, 0.75], axis=0)
                ax.fill_between(n, low, high, color=style["color"], alpha=0.15, lw=0)
        ax.set_title(matrix, fontsize=10)
        ax.set_xlabel("entries measured")
    axes[0, 0].set_ylabel("relative error")
    axes[0, 0].legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(path, dpi=110)
    plt.close(fig)


HEADER = """# Ways to choose the next entries

Made by `.venv/bin/python -m benchmarks.strategies`. Every run is a campaign as a user has it: ask, tell, and the error
of the posterior's mean over all known entries, relative to the matrix's norm (simulations) or standard deviation (real
ones). Simulations ask one entry at a time (the long one two), fitted as in the paper: rank known, its priors, no
effects. Real matrices (random parts of at most 100 x 40, another for each replicate) ask in four batches as large as
their longer side, with everything at its default. Uniform is uniform from the first entry on, the others begin with the
balanced initial design. Curves with quartiles of uniform and predictive variance: strategies.png."""

FOOTER = "What follows from it is in [docs/results.md](../docs/results.md)."
