"""One column in other units than the rest: errors of the others, what is chosen, and ordinary matrices untouched."""

import numpy as np
from benchmarks.checks import Check, Line
from benchmarks.matrices import MATRICES, load

import maxentry

ODD, KNOWN, NOISE = 7, 0.3, 0.1
KINDS = {
    "numbers of sd 100": lambda x, rng: 100 * rng.standard_normal(x.size),
    "its values times 100, plus 5000": lambda x, rng: 5000 + 100 * x,
    "its values plus 1000": lambda x, rng: 1000 + x,
}


def table(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A 90 x 50 matrix of rank 2 with one column replaced, and 30% of it with noise."""
    rng = np.random.default_rng([seed, 13])
    X = rng.standard_normal((90, 2)) @ rng.standard_normal((2, 50))
    Y = X + NOISE * rng.standard_normal(X.shape)
    Y[:, ODD] = KINDS[kind](Y[:, ODD], rng)
    return X, np.where(rng.random(X.shape) < KNOWN, Y, np.nan)


def judge(X: np.ndarray, Y: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Error of the ordinary columns in their sd, coverage of their 90% intervals, and the mean width of these in sd."""
    posterior = maxentry.complete(Y, seed=seed, progress=False)
    low, high = posterior.interval(0.9)
    mean, low, high, X = (np.delete(np.asarray(a), ODD, 1) for a in (posterior.mean, low, high, X))
    sd = X.std()
    inside = (low <= X) & (high >= X)
    return (
        float(np.sqrt(np.mean((mean - X) ** 2)) / sd),
        float(inside.mean()),
        float((high - low).mean() / sd),
    )


def summarize(what: str, found: list[tuple[float, float, float]], asked: str) -> list[Line]:
    error, coverage, width = map(np.array, zip(*found, strict=True))
    return [
        Line(
            f"{what}: error of the other columns, in their sd",
            f"{error.mean():.3f}, worst {error.max():.3f}",
            asked,
        ),
        Line(f"{what}: their 90% intervals", f"cover {coverage.mean():.0%}, widest {width.max():.2f} sd"),
    ]


def one_column(quick: bool) -> list[Line]:
    """Error, coverage and widths over data and seeds, and over the seeds of the fit alone."""
    many, some = (range(2), range(1)) if quick else (range(20), range(6))
    first, lines = next(iter(KINDS)), []
    for kind in KINDS:
        seeds = many if kind == first else some
        found = [judge(*table(seed, kind), seed) for seed in seeds]
        lines += summarize(f"{kind}, {len(seeds)} seeds", found, "0.12, worst 0.2")
    X, Y = table(3, first)
    again = [judge(X, Y, seed) for seed in some]
    lines += summarize(f"{first}, the same data, {len(some)} seeds of the fit", again, "0.12, worst 0.2")
    alone = []
    for seed in some:
        X, Y = table(seed, first)
        Y[:, ODD] = np.nan
        alone.append(judge(X, Y, seed))
    return lines + summarize("for comparison, without values of that column", alone, "")


def ordinary_matrices(quick: bool) -> list[Line]:
    """How often scale="auto" does anything on the ten matrices: nowhere, so that draws are as without it."""
    try:
        from maxentry.transform import find_scales
    except ImportError:  # before there were scales
        return []
    cases = scaled = 0
    for name in MATRICES:
        for seed in range(1 if quick else 5):
            M, rng = load(name, seed), np.random.default_rng(seed)
            for known in (1.0, 0.5, 0.3, 0.15, 0.1, 0.05, 0.02):
                rows, cols = np.nonzero((rng.random(M.shape) < known) & ~np.isnan(M))
                triples = rows.astype(np.int32), cols.astype(np.int32), M[rows, cols]
                for effects in (True, False):
                    cases += 2
                    scaled += find_scales("auto", *triples, M.shape, effects) is not None
                    turned = triples[1], triples[0], triples[2]
                    scaled += find_scales("auto", *turned, M.shape[::-1], effects) is not None
    return [
        Line(
            "cases (2 to 100% known, turned, without effects) in which a scale is found",
            f"{scaled} of {cases}",
            "0",
        )
    ]


def run_times(rng: np.random.Generator) -> np.ndarray:
    """Of rows that take up to hundreds of times as long as others, in s, up to a time-out."""
    size = 2 + 1.5 * rng.standard_normal((60, 1)) + 4 * (rng.random((60, 1)) < 0.3)
    X = size + 0.7 * rng.standard_normal(60) + rng.standard_normal((60, 2)) @ rng.standard_normal((2, 60))
    return np.minimum(np.exp(X + 0.2 * rng.standard_normal(X.shape)), 5000)


def concentrations(rng: np.random.Generator) -> np.ndarray:
    X = 0.8 * rng.standard_normal((30, 2)) @ rng.standard_normal((2, 24)) + 0.7 * rng.standard_normal((30, 1))
    return np.exp(X + 0.7 * rng.standard_normal(24) + 0.2 * rng.standard_normal(X.shape))


def hits_in_some_rows(rng: np.random.Generator) -> np.ndarray:
    often = np.where(rng.random((40, 1)) < 0.2, 0.5, 0.02)
    hits = np.where(rng.random((40, 30)) < often, rng.uniform(20, 90, (40, 30)), 0)
    return np.abs(hits + 0.5 * rng.standard_normal(hits.shape))


def yields(rng: np.random.Generator) -> np.ndarray:
    levels = 45 + 12 * rng.standard_normal((30, 1)) + 12 * rng.standard_normal(12)
    return np.clip(levels + 8 * rng.standard_normal((30, 12)), 1, 99)


def activities(rng: np.random.Generator) -> np.ndarray:
    return rng.gamma(1.5, 1, (30, 12)) * np.exp(0.4 * rng.standard_normal((30, 1)))


def scaled_lines(Y: np.ndarray) -> list[int]:
    """The columns (or rows: minus one minus their number) that scale="auto" puts on scales of their own."""
    from maxentry.transform import find_scales

    rows, cols = np.nonzero(~np.isnan(Y))
    found = find_scales("auto", rows.astype(np.int32), cols.astype(np.int32), Y[rows, cols], Y.shape, True)
    return [] if found is None else [int(k) if found.side == "columns" else -1 - int(k) for k in found.own]


def factors(quick: bool) -> list[Line]:
    """Tables without a negative value: lines that differ by factors are in one unit, a column in another is found."""
    lines, seeds = [], 4 if quick else 40
    for make in (run_times, concentrations, hits_in_some_rows):
        split = []
        for known in (0.05, 0.1, 0.25, 0.5):
            tables = (np.random.default_rng([seed, 15]) for seed in range(seeds))
            hidden = (np.where(rng.random((Y := make(rng)).shape) < known, Y, np.nan) for rng in tables)
            split.append(sum(bool(scaled_lines(Y)) for Y in hidden))
        what = f"{make.__name__.replace('_', ' ')}, 5, 10, 25, 50% known: tables of {seeds} in which a scale is found"
        lines.append(Line(what, ", ".join(map(str, split)), "0"))
    for name in ("SAT11, log s", "SAT20, log s", "AutoML log s"):
        split = []
        for known in (0.03, 0.1, 0.3, 1.0):
            hidden = []
            for seed in range(1 if quick else 10):
                Y, rng = np.exp(load(name, seed)), np.random.default_rng([seed, 15])
                hidden.append(np.where(rng.random(Y.shape) < known, Y, np.nan))
            split.append(sum(bool(scaled_lines(Y)) for Y in hidden))
        what = (
            f"{name.replace('log s', 'in s')}, 3, 10, 30, 100% known: tables of 10 in which a scale is found"
        )
        lines.append(Line(what, ", ".join(map(str, split)), "0"))
    for make in (yields, activities):
        found = []
        for factor in (30, 100, 1000):
            hits = 0
            for seed in range(seeds):
                rng = np.random.default_rng([seed, 16])
                Y = make(rng)
                Y[:, ODD] *= factor
                hits += scaled_lines(np.where(rng.random(Y.shape) < 0.6, Y, np.nan)) == [ODD]
            found.append(hits)
        what = (
            f"{make.__name__}, one column times 30, 100, 1000: tables of {seeds} in which it alone is found"
        )
        lines.append(Line(what, ", ".join(map(str, found))))
    return lines


def choosing(quick: bool) -> list[Line]:
    """Four batches of 45 on 60 x 30, 15% known: where they go, and the error of the other columns in the end."""
    shares, errors = [], []
    for seed in range(1 if quick else 4):
        rng = np.random.default_rng([seed, 14])
        X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 30))
        Y = X + NOISE * rng.standard_normal(X.shape)
        known, odd = np.nonzero(rng.random(X.shape) < 0.15), Y.copy()
        odd[:, ODD] *= 100
        asked, ours = measure(X, odd, known, seed, "predictive_variance")
        as_others, _ = measure(X, Y, known, seed, "predictive_variance")
        _, random = measure(X, odd, known, seed, "uniform")
        shares.append([asked[ODD], as_others[ODD], np.delete(asked, ODD).max()])
        errors.append(ours / random)
    share, usual, most = np.mean(shares, axis=0)
    what = "share of the entries asked for in the one column in other units"
    value = (
        f"{share:.1%}; in the units of the others {usual:.1%}; of the one most asked of the others {most:.1%} "
        f"({len(shares)} seeds)"
    )
    other = "error of the other columns over that of random entries"
    return [
        Line(what, value, "no more than of others"),
        Line(other, f"{np.exp(np.mean(np.log(errors))):.2f}", "below 1"),
    ]


def measure(
    X: np.ndarray, Y: np.ndarray, known: tuple[np.ndarray, np.ndarray], seed: int, acquisition: str
) -> tuple[np.ndarray, float]:
    """The share of each column of what a campaign asks for, and the error of the ordinary ones in the end."""
    campaign = maxentry.Campaign.create(
        "sqlite://", "c", *X.shape, seed=seed, acquisition=acquisition, n_initial=1
    )
    campaign.tell(row=known[0].tolist(), col=known[1].tolist(), value=Y[known])
    asked: list[int] = []
    for _ in range(4):
        batch = campaign.ask(45, frame="columns", progress=False)
        i, j = np.array(batch["row"]), np.array(batch["col"])
        campaign.tell(batch["id"], Y[i, j])
        asked += j.tolist()
    error = np.delete(np.asarray(campaign.posterior(progress=False).mean) - X, ODD, 1)
    return np.bincount(asked, minlength=X.shape[1]) / len(asked), float(np.sqrt(np.mean(error**2)) / X.std())


CHECKS: dict[str, Check] = {
    "scales": one_column,
    "scales_ordinary": ordinary_matrices,
    "scales_factors": factors,
    "scales_choosing": choosing,
}
