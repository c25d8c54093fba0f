"""`python -m maxentry.demo`: the paper's simulated matrix, measured in part, completed and compared with the truth.

First a campaign that chooses what to measure, beside one that measures at random; then how well the entries that were
not measured are known, and how often intervals hold them. Writes demo.png.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry._types import Array, Flags
from maxentry.campaign.campaign import Campaign
from maxentry.model.effects import row_column_means
from maxentry.model.priors import Priors
from maxentry.model.smg import Simulation, simulate
from maxentry.posterior.complete import complete
from maxentry.posterior.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from rich.console import Console
    from rich.table import Table


SHAPE, RANK, SIGMA2, ETA2 = (30, 30), 3, 1.0, 1e-4  # the paper's simulated matrix
CHECKPOINTS = (30, 80, 130, 180)  # entries measured when the campaigns are compared; the paper's has 30 + 50
BATCH = 10
MEASURED = (80, 300)  # the first is the paper's, fewer than the 171 degrees of freedom of rank 3
SEED = 1
LEVELS = (0.5, 0.8, 0.9, 0.95)
PICTURE = Path("demo.png")


class Score(NamedTuple):
    """How well a method knows the entries that were not measured."""

    method: str
    error: float  # relative, in Frobenius norm
    coverage: tuple[float, ...]  # share of entries inside their interval, by level; empty if it has none
    seconds: float


class Scene(NamedTuple):
    """One row of the picture."""

    how: str  # were the entries measured
    truth: Array
    observed: Array  # NaN where not measured
    mean: Array
    sd: Array


def main() -> None:
    """Run the demo."""
    from rich.console import Console

    console = Console()
    console.print(
        f"A {SHAPE[0]} x {SHAPE[1]} matrix of rank {RANK} as in the paper (sigma2 = {SIGMA2:g}, eta2 = {ETA2:g}, "
        f"seed {SEED}), some of its entries measured."
    )
    chosen, at_random = (run_campaign(strategy) for strategy in (None, "uniform"))
    console.print(compare_campaigns(chosen, at_random))
    console.print(
        f"Error: relative, of the whole matrix. Batches of {BATCH} after the first {CHECKPOINTS[0]}. "
        "Both know the rank and use the paper's priors.",
        style="dim",
    )
    scenes, scores = [chosen[CHECKPOINTS[1]]], {}
    for n in MEASURED:
        simulation = simulate(SHAPE, RANK, n, np.random.default_rng(SEED), sigma2=SIGMA2, eta2=ETA2)
        scores[n], posterior = compare_methods(simulation)
        scenes.append(make_scene(simulation, posterior))
    console.print(make_table(scores))
    console.print(
        "Error: relative, on the entries not measured. Good 50% intervals hold about 50% of those entries, and so "
        'on; one matrix shows it only roughly, since its entries err together. With 80 of 900 entries rank="auto" '
        "cannot tell which rank is right: it mixes several, and its intervals say how little is known.",
        style="dim",
    )
    print_picture(console, scenes, PICTURE)


def run_campaign(acquisition: str | None) -> dict[int, Scene]:
    """Run a campaign on the simulated matrix with this acquisition (None: the default); a scene for each checkpoint."""
    rng = np.random.default_rng(SEED)
    X = simulate(SHAPE, RANK, 1, rng, sigma2=SIGMA2, eta2=ETA2).X.matrix()
    Y = X + np.sqrt(ETA2) * rng.standard_normal(SHAPE)
    options: dict[str, Any] = {} if acquisition is None else {"acquisition": acquisition}
    scenes, observed = {}, np.full(SHAPE, np.nan)
    with Campaign.create(
        "sqlite://", "demo", *SHAPE, seed=SEED, rank=RANK, effects=False, priors="paper", **options
    ) as campaign:
        while (n := int(np.isfinite(observed).sum())) < CHECKPOINTS[-1]:
            batch = campaign.ask(BATCH if n else CHECKPOINTS[0], frame="columns", progress=False)
            entries = batch["row"], batch["col"]
            campaign.tell(batch["id"], Y[entries])
            observed[entries] = Y[entries]
            if (n := int(np.isfinite(observed).sum())) in CHECKPOINTS:
                posterior = campaign.posterior(progress=False)
                how = "chosen" if acquisition is None else "at random"
                scenes[n] = Scene(how, X, observed.copy(), posterior.arrays.mean, posterior.arrays.sd)
    return scenes


def compare_campaigns(chosen: dict[int, Scene], at_random: dict[int, Scene]) -> Table:
    """Return a table of the errors of two campaigns side by side."""
    from rich.table import Table

    table = Table(title="Error of the whole matrix, by entries measured")
    for name in ("N", "at random", "chosen by maxentry"):
        table.add_column(name, justify="right")
    for n in chosen:
        errors = [
            np.linalg.norm(s[n].mean - s[n].truth) / np.linalg.norm(s[n].truth) for s in (at_random, chosen)
        ]
        table.add_row(str(n), *(f"{error:.1%}" for error in errors))
    return table


def compare_methods(simulation: Simulation) -> tuple[list[Score], Posterior]:
    """Score row and column means, the default and the paper's model on one simulation; return the last posterior."""
    data = (simulation.rows, simulation.cols, simulation.values)
    started = time.perf_counter()
    means = row_column_means(*data, SHAPE).matrix()
    scores = [Score("row and column means", _error(means, simulation), (), time.perf_counter() - started)]
    paper: dict[str, Any] = {"rank": RANK, "effects": False, "priors": Priors.paper()}
    for method, options in (('maxentry, rank="auto"', {}), (f"maxentry, paper's, rank {RANK}", paper)):
        started = time.perf_counter()
        posterior = complete(data, shape=SHAPE, seed=SEED, **options)
        seconds = time.perf_counter() - started
        X, unseen = _unmeasured(simulation)
        ends = [posterior.arrays.interval(level) for level in LEVELS]
        coverage = tuple(float(((low <= X) & (high >= X))[unseen].mean()) for low, high in ends)
        scores.append(Score(method, _error(posterior.arrays.mean, simulation), coverage, seconds))
    return scores, posterior


def _error(estimate: Array, simulation: Simulation) -> float:
    X, unseen = _unmeasured(simulation)
    return float(np.linalg.norm((estimate - X)[unseen]) / np.linalg.norm(X[unseen]))


def _unmeasured(simulation: Simulation) -> tuple[Array, Flags]:
    """The matrix, and where it was not measured."""
    unseen = np.ones(SHAPE, dtype=bool)
    unseen[simulation.rows, simulation.cols] = False
    return simulation.X.matrix(), unseen


def make_table(scores: dict[int, list[Score]]) -> Table:
    """Return a table of the scores by number of measurements."""
    from rich.table import Table

    table = Table(title="Entries not measured: error, and share inside their intervals (N measured)")
    table.add_column("N", justify="right")
    table.add_column("method", no_wrap=True)
    for name in ("error", *(f"{level:.0%}" for level in LEVELS), "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for n, methods in scores.items():
        for k, s in enumerate(methods):
            coverage = [f"{c:.0%}" for c in s.coverage] or ["-"] * len(LEVELS)
            table.add_row("" if k else str(n), s.method, f"{s.error:.1%}", *coverage, f"{s.seconds:.1f} s")
        table.add_section()
    return table


def make_scene(simulation: Simulation, posterior: Posterior) -> Scene:
    """Return what the picture shows of one simulation."""
    observed = np.full(SHAPE, np.nan)
    observed[simulation.rows, simulation.cols] = simulation.values
    return Scene("at random", simulation.X.matrix(), observed, posterior.arrays.mean, posterior.arrays.sd)


def print_picture(console: Console, scenes: list[Scene], path: Path) -> None:
    """Draw the picture, and print where it is or what to install; `[plots]` is an extra here, no style."""
    console.print(draw_picture(scenes, path), soft_wrap=True, markup=False)


def draw_picture(scenes: list[Scene], path: Path) -> str:
    """Write the picture if Matplotlib is installed; return a message for the user."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.colors import LogNorm, Normalize
        from matplotlib.figure import Figure
    except ImportError:
        return "No picture: Matplotlib is not installed (pip install 'maxentry[plots]')."
    figure = Figure(figsize=(12.5, 2.75 * len(scenes) + 0.45), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(scenes), 4, squeeze=False)
    top = float(np.quantile([np.abs(s.truth) for s in scenes], 0.995))  # a few entries beyond it look alike
    all_sd = np.concatenate([s.sd.ravel() for s in scenes])
    # Purple to orange and blue to yellow: kept apart by colour-blind readers.
    value_colors = {"cmap": "PuOr_r", "norm": Normalize(-top, top)}
    sd_colors = {"cmap": "cividis", "norm": LogNorm(*np.quantile(all_sd, [0.01, 1.0]))}
    for axes, s in zip(grid, scenes, strict=True):
        for axis, matrix in zip(axes[:3], (s.truth, s.observed, s.mean), strict=True):
            values = _show_matrix(axis, matrix, value_colors)
        deviations = _show_matrix(axes[3], s.sd, sd_colors)
        n = int(np.isfinite(s.observed).sum())
        axes[0].set_ylabel(f"{n} of {s.truth.size}, {s.how}", fontsize=12)
    titles = ("truth", "measured (grey: not)", "posterior mean", "posterior sd")
    for axis, title in zip(grid[0], titles, strict=True):
        axis.set_title(title, fontsize=12)
    figure.colorbar(values, ax=grid[:, :3], label="value", pad=0.01, aspect=40, extend="both")
    figure.colorbar(deviations, ax=grid[:, 3], label="sd (logarithmic)", pad=0.03, aspect=40, extend="min")
    figure.savefig(path, dpi=130)
    return f"Picture: {path.resolve()}"


def _show_matrix(axis: Axes, matrix: Array, options: dict[str, object]) -> AxesImage:
    axis.set_facecolor("0.72")
    axis.set_xticks([])
    axis.set_yticks([])
    return axis.imshow(matrix, interpolation="nearest", **options)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
