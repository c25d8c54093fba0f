"""The tables and the picture of `benchmarks.calibration`."""

from pathlib import Path

import numpy as np
from benchmarks.calibration import BINS, LEVELS, SIZE, Study, Way, statistic_names, threshold, uniform

from maxentry import Sampling

MEANING = {
    "long": "the proof of exactness: must be uniform",
    "population": "the default as users get it, reported as it comes out",
    "slip": "control: sigma2 drawn with R/2 as the paper prints, must fail",
}


def line(name: str, s: Study) -> str:
    """One study in one line."""
    (mean, error), (ks, chi2, spread) = s.coverage(), s.p_values().min(axis=1)
    cover = ", ".join(f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(mean, error, strict=True))
    return (
        f"{name}, N = {s.case.N}, {len(s.u)} matrices: {'/'.join(f'{level:.0%}' for level in LEVELS)} cover {cover}; "
        f"smallest p: K-S {ks:.2g}, chi-square {chi2:.2g}, spread {spread:.2g}"
    )


def markdown(results: dict[str, list[Study]], ways: dict[str, Way]) -> str:
    """All tables."""
    some = next(iter(results.values()))[0]
    (m1, m2), R, _ = some.case
    lines = [
        "# Calibration",
        "",
        f"{len(some.u)} simulated {m1} x {m2} matrices of rank {R} for each N: eta2 ~ IG(9, 1e-3), sigma2 ~ IG(9, 10), "
        "X from the SMG, N entries measured.",
        "Made by `python -m benchmarks.calibration`; the picture is calibration.png.",
        "",
        *_coverage_table(results, ways),
    ]
    for name, studies in results.items():
        lines += ["", *_rank_table(name, studies)]
    return "\n".join(lines) + "\n"


def _settings(way: Way) -> str:
    s = way.sampling
    if not isinstance(s, Sampling):
        return f'sampling="{s}"'
    return f"{s.chains} chains, {s.anneal} annealing sweeps, {s.draws} draws {s.thin} sweeps apart"


def _coverage_table(results: dict[str, list[Study]], ways: dict[str, Way]) -> list[str]:
    lines = [
        "## Intervals of unobserved entries",
        "",
        "Per cent covered ± standard error (clustered by matrix); in brackets, of the observed entries.",
        "",
        "| sampling | N | " + " | ".join(f"{level:.0%}" for level in LEVELS) + " | ranks |",
        "|---|---|" + "---|" * (len(LEVELS) + 1),
    ]
    for name, studies in results.items():
        limit = threshold(studies)
        for s in studies:
            mean, error = s.coverage()
            cells = [
                f"{100 * m:.1f} ± {100 * e:.1f} ({100 * o:.1f})"
                for m, e, o in zip(mean, error, s.seen.mean(axis=0), strict=True)
            ]
            verdict = "uniform" if s.p_values().min() > limit else "NOT uniform"
            lines.append(f"| {name} | {s.case.N} | {' | '.join(cells)} | {verdict} |")
    lines += ["", *(f"* {name}: {_settings(way)}; {MEANING[name]}" for name, way in ways.items())]
    return lines


def _rank_table(name: str, studies: list[Study]) -> list[str]:
    limit = threshold(studies)
    verdict = "uniform within Monte Carlo error" if uniform(studies) else "NOT uniform"
    lines = [
        f"## Ranks of the truth: {name}",
        "",
        f"Mean rank on (0, 1) (0.5 is right, standard error {np.sqrt(1 / 12 / len(studies[0].u)):.3f}); p of "
        f"Kolmogorov-Smirnov / chi-square ({BINS} bins) / spread; median effective share of the draws.",
        f"Smallest p allowed, Bonferroni over this table at {SIZE}: {limit:.1g}. Verdict: **{verdict}**.",
        "",
        "| statistic | " + " | ".join(f"N = {s.case.N}" for s in studies) + " |",
        "|---|" + "---|" * len(studies),
    ]
    tests = [s.p_values() for s in studies]
    for k, statistic in enumerate(statistic_names(studies[0].case.rank)):
        cells = [
            f"{s.u[:, k].mean():.3f}; {' / '.join(f'{p:.2g}' for p in table[:, k])}; {np.nanmedian(s.ess[:, k]):.2f}"
            for s, table in zip(studies, tests, strict=True)
        ]
        lines.append(f"| {statistic} | {' | '.join(cells)} |")
    return lines


def picture(results: dict[str, list[Study]], path: Path) -> None:
    """Rank histograms: one line for each way and N, one column for each statistic, with a 99% band."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("matplotlib is not installed: no picture")
        return
    rows = [(name, s) for name, studies in results.items() for s in studies]
    names = statistic_names(rows[0][1].case.rank)
    figure, axes = pyplot.subplots(
        len(rows), len(names), figsize=(1.5 * len(names), 1.3 * len(rows)), sharex=True, squeeze=False
    )
    for line_axes, (name, s) in zip(axes, rows, strict=True):
        n = len(s.u)
        spread = 2.576 * np.sqrt(n / BINS * (1 - 1 / BINS))
        for ax, column, title in zip(line_axes, s.u.T, names, strict=True):
            ax.axhspan(n / BINS - spread, n / BINS + spread, color="0.88")
            ax.hist(column, bins=BINS, range=(0, 1), color="tab:red" if name == "slip" else "tab:blue")
            ax.set_yticks([])
            ax.set_xticks([0, 1])
            if ax in axes[0]:
                ax.set_title(title, fontsize=8)
        line_axes[0].set_ylabel(f"{name}\nN = {s.case.N}", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
