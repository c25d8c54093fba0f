"""`python -m maxentry.demo`: a campaign on the paper's simulated matrix, told in a few lines.

Two campaigns measure the same matrix: one chooses what to measure, one measures at random. Then how often intervals of
entries that were never measured contain the truth. Writes demo.png.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry._types import Array
from maxentry.campaign.campaign import Campaign
from maxentry.model.smg import simulate
from maxentry.posterior.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from rich.console import Console


SHAPE, RANK, SIGMA2, ETA2 = (30, 30), 3, 1.0, 1e-4  # the paper's simulated matrix
CHECKPOINTS = (30, 80, 130, 180)  # entries measured when the campaigns are compared; the paper's has 30 + 50
BATCH = 10
SEED = 1
LEVELS = (0.5, 0.8, 0.9, 0.95)
PICTURE = Path("demo.png")


class Scene(NamedTuple):
    """A campaign at one number of measurements: one row of the picture."""

    how: str  # were the entries measured
    truth: Array
    observed: Array  # NaN where not measured
    mean: Array
    sd: Array
    coverage: tuple[float, ...]  # share of the entries not measured inside their interval, by level

    @property
    def error(self) -> float:
        """The error of the whole matrix, relative, in Frobenius norm."""
        return float(np.linalg.norm(self.mean - self.truth) / np.linalg.norm(self.truth))


def main() -> None:
    """Run the demo."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    m1, m2 = SHAPE
    console.print(
        f"A table of {m1} x {m2} = {m1 * m2} entries, each costly to measure: the simulated matrix of the paper\n"
        f"(rank {RANK}, seed {SEED}). Two campaigns measure it in batches of {BATCH}: one at random, one as maxentry "
        "chooses.\n"
    )
    at_random, chosen = (run_campaign(strategy) for strategy in ("uniform", None))
    for line in [*compare_campaigns(chosen, at_random), "", *describe_intervals(chosen[CHECKPOINTS[-1]]), ""]:
        console.print(line)
    scenes = [chosen[CHECKPOINTS[1]], at_random[CHECKPOINTS[-1]], chosen[CHECKPOINTS[-1]]]
    print_picture(console, scenes, PICTURE)
    console.print("Your own table: maxentry new yields --from yields.csv, then: maxentry ask 8 -o plate.csv")


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
                how = "chosen" if acquisition is None else "at random"
                scenes[n] = make_scene(how, X, observed.copy(), campaign.posterior(progress=False))
    return scenes


def make_scene(how: str, truth: Array, observed: Array, posterior: Posterior) -> Scene:
    """Return what the picture and the table show of a campaign."""
    unseen = np.isnan(observed)
    ends = [posterior.arrays.interval(level) for level in LEVELS]
    coverage = tuple(float(((low <= truth) & (high >= truth))[unseen].mean()) for low, high in ends)
    return Scene(how, truth, observed, posterior.arrays.mean, posterior.arrays.sd, coverage)


def compare_campaigns(chosen: dict[int, Scene], at_random: dict[int, Scene]) -> list[str]:
    """Return lines with the errors of two campaigns side by side."""
    lines = ["Measured   Error at random   Error as chosen"]
    lines += [f"{n:8d}   {at_random[n].error:15.1%}   {chosen[n].error:15.1%}" for n in chosen]
    last = max(chosen)
    times = at_random[last].error / chosen[last].error
    share = f"{last / chosen[last].truth.size:.0%} of the table"
    return [
        *lines,
        f"With {share} measured, choosing leaves an error {times:.1f} times smaller (both know the rank).",
    ]


def describe_intervals(scene: Scene) -> list[str]:
    """Return lines that say how often intervals contain the truth, and give one entry as an example."""
    unseen = np.isnan(scene.observed)
    i, j = (int(k) for k in np.argwhere(unseen)[np.argsort(scene.sd[unseen])[unseen.sum() // 2]])
    shares = ", ".join(f"{level:.0%}: {c:.0%}" for level, c in zip(LEVELS, scene.coverage, strict=True))
    return [
        f"Every entry has an interval. Of the {unseen.sum()} that were never measured, this share is inside it:",
        f"  {shares}",
        f"For example, row {i}, column {j}: estimate {scene.mean[i, j]:.2f} ± {scene.sd[i, j]:.2f}, "
        f"truth {scene.truth[i, j]:.2f}.",
    ]


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
