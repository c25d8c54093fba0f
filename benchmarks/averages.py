"""Do the intervals of row averages, the answer to `rank rows`, hold what they say? And what of it is the prior's doing?

Shares of the row averages inside their 90% intervals. A row's average is that of all its entries: the pattern, and what
each entry has of its own, without the noise of measurements. Errors are over tables: rows of one table go together.

    simulated   rows and columns that differ (sd 0.7 each) and noise, and yes or no by chance; fits by default
    prior       the same with other priors of how much rows and columns differ, for fits of rank 2; and the error on
                tables in which they do not differ, over that with the prior of before
    real        averages of rows and columns of real tables of which N entries at random are known, rank 0, likewise

    python -m benchmarks.averages [simulated] [prior] [real]    # from the root: writes benchmarks/averages.md
    python -m benchmarks.averages --quick                       # writes nothing
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.checks import Line, main
from benchmarks.goals.tables import table
from scipy.special import ndtr

import maxentry
from maxentry.model.priors import HalfCauchy, InverseGamma, Priors
from maxentry.model.smg import draw_smg

FOLDER = Path(__file__).parent
LEVEL, SD = 0.9, 0.7
BEFORE, USED = "IG(1/2, 0.0001)", "half-Cauchy 0.2"
LAWS: dict[str, InverseGamma | HalfCauchy] = {  # of the effects' variances
    BEFORE: InverseGamma(0.5, 1e-4), "IG(1/2, 0.01)": InverseGamma(0.5, 1e-2), "half-Cauchy 0.1": HalfCauchy(0.1),
    USED: HalfCauchy(0.2), "half-Cauchy 0.3": HalfCauchy(0.3), "half-Cauchy 1": HalfCauchy(1.0),
}  # fmt: skip
REAL = ("SAT11, log s", "SAT20, log s", "kinase pKd", "Jester", "AutoML error", "Buchwald-Hartwig",
        "direct arylation")  # fmt: skip
HEAD = f"""Intervals of row averages (`rank rows`).

Written by `python -m benchmarks.averages`. {__doc__.split(chr(10) * 2)[1].replace(chr(10), " ")}

Tables of `simulated` (fits by default) and `prior` are sums of row effects, column effects (sd 0.7 each) and noise.
All of it is noise of measurements, which answers do not know: they count half of what stands out as the entry's own.
So intervals are a little too short with any prior, and a fit of rank 2 takes some noise for pattern beside that.
Tables drawn from the prior itself are a test (`tests/posterior/test_decisions.py`).

`prior` and `real` fit with other laws of the variances of row and column effects. {USED} is the default: the sd is
half-Cauchy, and its width is in units of the spread of the data. Where noise is large, few values a row do not show
that rows differ. {BEFORE} then believes that they hardly do: averages are drawn together, and intervals are too short.
A larger scale mends that, and rules small effects out, which costs much where rows and columns do not differ and noise
is small, as in the paper's simulations (`prior`, last lines). The half-Cauchy law allows both. Its width was chosen
after seeing these lines with fewer seeds, and the start of a campaign (`starts` in honest.md), where a smaller width
is better in simulations without effects and a larger one on real tables."""


@contextmanager
def effects(law: InverseGamma | HalfCauchy) -> Iterator[None]:
    """Fit with another prior of both effects' variances."""
    usual = Priors.weak

    def weak(shape: tuple[int, int], rank: int, unit_noise: bool = False) -> Priors:
        found = usual(shape, rank, unit_noise)
        return Priors(found.noise, found.signal, law, law, found.mu_var)

    Priors.weak = staticmethod(weak)  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        Priors.weak = usual  # type: ignore[method-assign]


def fit(
    rows: np.ndarray, cols: np.ndarray, values: np.ndarray, rank: Any, **options: Any
) -> maxentry.Posterior:
    return maxentry.complete((rows, cols, values), rank, threads=1, progress=False, **options)


def share_inside(p: maxentry.Posterior, truth: np.ndarray, of: Any = "rows") -> float:
    found = p.ranking(of, level=LEVEL)
    average = truth.mean(1 if of == "rows" else 0)[found["row" if of == "rows" else "col"]]
    whole = np.isfinite(average)  # of lines with values that nobody knows there is no average
    return float(np.mean(((found["low"] <= average) & (average <= found["high"]))[whole]))


def simulate(seed: int, shape: tuple[int, int], known: float, noise: float | None) -> tuple[np.ndarray, ...]:
    """Entries, and the rows, columns and values of what is measured; without a noise yes or no."""
    rng, (m1, m2) = np.random.default_rng([seed, 77]), shape
    X = SD * rng.normal(size=(m1, 1)) + SD * rng.normal(size=(1, m2))
    full = rng.random(shape) < ndtr(X) if noise is None else X + noise * rng.normal(size=shape)
    rows, cols = np.divmod(rng.permutation(m1 * m2)[: round(known * m1 * m2)], m2)
    return (ndtr(X) if noise is None else X), rows, cols, full[rows, cols].astype(float)


def say(shares: list[float]) -> str:
    return f"{np.mean(shares):.3f} ± {np.std(shares, ddof=1) / len(shares) ** 0.5:.3f}"


def simulated(quick: bool) -> list[Line]:
    lines = []
    for shape, known, tables in (((20, 15), 0.3, 24), ((60, 40), 0.1, 8)):
        for noise in (0.5, 1.0, 2.0, None):
            kind = "numbers" if noise is not None else "yes/no"
            shares = []
            for seed in range(2 if quick else tables):
                X, *told = simulate(seed, shape, known, noise)
                shares.append(share_inside(fit(*told, "auto", shape=shape, seed=seed, kind=kind), X))
            what = "yes/no" if noise is None else f"noise {noise:g}"
            size = f"{shape[0]} x {shape[1]}, {known:.0%} known, {what}, {len(shares)} tables"
            lines.append(Line(size, say(shares), f"{LEVEL:g}"))
    return lines


def prior(quick: bool) -> list[Line]:
    lines, shape = [], (20, 15)
    for noise in (0.5, 2.0):
        for name, law in LAWS.items():
            shares = []
            for seed in range(2 if quick else 40):
                X, *told = simulate(seed, shape, 0.3, noise)
                with effects(law):
                    shares.append(share_inside(fit(*told, 2, shape=shape, seed=seed), X))
            lines.append(Line(f"noise {noise:g}, {name}", say(shares), f"{LEVEL:g}"))
    for n in (60, 150, 300):
        ratios: dict[str, list[float]] = {name: [] for name in LAWS}
        for seed in range(2 if quick else 10):
            rng = np.random.default_rng([seed, 3])
            X = draw_smg(30, 30, 3, 100.0, rng).matrix()
            rows, cols = np.divmod(rng.permutation(900)[:n], 30)
            values, error = X[rows, cols] + 0.1 * rng.normal(size=n), {}
            for name, law in LAWS.items():
                with effects(law):
                    p = fit(rows, cols, values, 3, shape=(30, 30), seed=seed, effort="quick")
                error[name] = np.sqrt(np.mean((p.arrays.mean - X) ** 2))
                ratios[name].append(float(error[name] / error[BEFORE]))
        for name in LAWS:
            if name != BEFORE:
                what = (
                    f"no row or column effects, 30 x 30, rank 3, N = {n}, {name}: error over that of before"
                )
                lines.append(Line(what, say(ratios[name])))
    return lines


def real(quick: bool) -> list[Line]:
    lines = []
    for name in REAL:
        for n in (100, 300):
            for law in (BEFORE, USED):
                found = []
                for seed in range(1 if quick else 6):
                    X, rng = table(name, seed), np.random.default_rng([seed, 5])
                    keys = rng.permutation(np.flatnonzero(np.isfinite(X)))[:n]
                    rows, cols = np.divmod(keys, X.shape[1])
                    with effects(LAWS[law]):
                        p = fit(rows, cols, X[rows, cols], 0, shape=X.shape, seed=seed, effort="quick")
                    error = np.sqrt(np.nanmean((p.arrays.mean - X) ** 2)) / np.nanstd(X)
                    found.append((share_inside(p, X), share_inside(p, X, "columns"), float(error)))
                rows_in, cols_in, error = np.mean(found, axis=0)
                value = f"rows {rows_in:.2f}, columns {cols_in:.2f} inside; error {error:.3f}"
                lines.append(Line(f"{name}, N = {n}, {law}", value, f"{LEVEL:g}, {LEVEL:g}"))
    return lines


CHECKS = {"simulated": simulated, "prior": prior, "real": real}

if __name__ == "__main__":
    main(__doc__, HEAD, FOLDER / "averages.md", FOLDER / "averages", CHECKS)
