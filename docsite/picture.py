"""The picture of the first page: `python -m docsite.picture` writes docs/pictures/how_it_works.svg.

A 20 x 14 matrix of rank 2 with row and column levels, simulated: 98 entries measured, what the posterior makes of them,
the 14 entries that are asked for next, and how the error falls from there, chosen and at random.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry import Campaign
from maxentry.plots.style import BLUE, GREY, INK, VERMILLION

Array = NDArray[np.float64]

SHAPE, RANK, NOISE = (20, 14), 2, 0.3
START, BATCH, LAST = 98, 14, 168
REPEATS = 3  # worlds that the curves are averaged over
PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "how_it_works.svg"


class Scene(NamedTuple):
    """What is seen after the first entries, and the error of the whole matrix as more come in, world by world."""

    measured: Array  # NaN where not
    mean: Array
    sd: Array
    following: tuple[Array, Array]  # rows and columns of the next batch
    entries: list[int]
    chosen: Array  # worlds x looks
    at_random: Array


def world(seed: int) -> tuple[Array, Array]:
    """The truth, and one measurement of every entry."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(SHAPE[0], 1)) + rng.normal(size=SHAPE[1])
    truth = truth + rng.normal(size=(SHAPE[0], RANK)) @ rng.normal(size=(RANK, SHAPE[1]))
    return truth, truth + NOISE * rng.normal(size=SHAPE)


def campaign(seed: int, acquisition: str) -> tuple[Campaign, Array]:
    """A campaign that has been told its first entries, the same for every way to go on; and the measurements."""
    _, noisy = world(seed)
    begun = Campaign.create(
        "sqlite://", "picture", *SHAPE, seed=seed, acquisition=acquisition, n_initial=START
    )
    first = np.random.default_rng(seed).permutation(noisy.size)[:START]
    rows, cols = np.unravel_index(first, SHAPE)
    begun.tell({"row": rows.tolist(), "col": cols.tolist(), "value": noisy[rows, cols].tolist()})
    return begun, noisy


def errors(seed: int, acquisition: str) -> list[float]:
    """The root mean square error of the whole matrix, from the first entries to the last."""
    truth, _ = world(seed)
    going, noisy = campaign(seed, acquisition)
    found = []
    for n in range(START, LAST + 1, BATCH):
        found.append(float(np.sqrt(np.mean((going.posterior(progress=False).arrays.mean - truth) ** 2))))
        if n < LAST:
            batch = going.ask(BATCH, frame="columns", progress=False)
            going.tell(batch["id"], noisy[batch["row"], batch["col"]].tolist())
    return found


def scene() -> Scene:
    """Everything that is drawn."""
    begun, _ = campaign(0, "predictive_variance")
    maps = begun.posterior(progress=False).arrays
    told = begun.export(frame="columns")
    measured = np.full(SHAPE, np.nan)
    measured[told["row"], told["col"]] = told["value"]
    batch = begun.ask(BATCH, frame="columns", progress=False)
    ways = [
        np.array([errors(seed, way) for seed in range(REPEATS)]) for way in ("predictive_variance", "uniform")
    ]
    following = np.array(batch["row"]), np.array(batch["col"])
    return Scene(measured, maps.mean, maps.sd, following, list(range(START, LAST + 1, BATCH)), *ways)


def draw(found: Scene) -> Any:
    """The scene as a matplotlib figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.45])
    low, high = np.nanquantile(found.measured, [0.01, 0.99])
    titles = ["1. Measure a few entries", "2. Complete the table", "3. Ask where it is unsure"]
    for axis, title, matrix in zip(axes, titles, (found.measured, found.mean, found.sd), strict=False):
        value = matrix is not found.sd
        limits = {"vmin": low, "vmax": high} if value else {"vmin": 0.0}
        axis.imshow(matrix, cmap="viridis" if value else "Oranges", aspect="auto", **limits)
        axis.set_title(title, fontsize=11, color=INK)
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0].set_facecolor("#f2f2f2")
    axes[0].set_xlabel(f"{START} of {found.mean.size}; grey: not known")
    axes[1].set_xlabel("dark low, yellow high")
    axes[2].set_xlabel("darker: less sure; rings: ask next")
    rows, cols = found.following
    axes[2].scatter(cols, rows, s=46, facecolors="none", edgecolors=BLUE, linewidths=1.6)
    _curves(axes[3], found)
    return figure


def _curves(axis: Any, found: Scene) -> None:
    for name, values, colour, dashes in (
        ("at random", found.at_random, GREY, "--"),
        ("asked for by maxentry", found.chosen, VERMILLION, "-"),
    ):
        axis.plot(found.entries, values.mean(0), dashes, color=colour, marker="o", markersize=4, label=name)
    axis.set_title("4. Measure, and go on", fontsize=11, color=INK)
    axis.set_xlabel("entries measured")
    axis.set_ylabel("error of the whole table")
    axis.set_ylim(0)
    axis.legend(frameon=False, fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw, and say what the page says of it."""
    import matplotlib

    found = scene()
    matplotlib.rcParams["svg.hashsalt"] = "maxentry"  # the same drawing, the same file
    PICTURE.parent.mkdir(exist_ok=True)
    draw(found).savefig(PICTURE, metadata={"Date": None})
    chosen, at_random = found.chosen.mean(0), found.at_random.mean(0)
    print(
        f"error with {START} entries {chosen[0]:.2f}; with {LAST}: chosen {chosen[-1]:.2f}, random {at_random[-1]:.2f}"
    )


if __name__ == "__main__":
    main()
