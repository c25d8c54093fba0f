"""The reports and all figures of a simulated campaign, of direct arylation, and of a posterior of 3,000 x 2,000.

    python -m benchmarks.reports [--folder maxentry-study/reports] [--only simulated] [--rounds 4] [--no-figures]

Nothing it writes is committed: the data of direct arylation are their publisher's (see `python -m evidence data`), and
are looked for as by `evidence`: in MAXENTRY_DATA, in the cache, else at the publisher.
"""

from __future__ import annotations

import argparse
import datetime as dt
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence import datasets
from maxentry import Campaign, Posterior, Sampling, complete, plots
from maxentry.design import uniform
from maxentry.model.smg import draw_smg
from maxentry.plots.report import render_report

Array = NDArray[np.float64]
LARGE = (3000, 2000)
OF_A_POSTERIOR: dict[str, Callable[[Any, str], plots.Plot]] = {
    "observed": lambda s, unit: plots.observed(s, unit=unit),
    "mean": lambda s, unit: plots.mean(s, unit=unit),
    "mean_clustered": lambda s, unit: plots.mean(s, order="clustered", unit=unit),
    "sd": lambda s, unit: plots.sd(s, unit=unit),
    "width": lambda s, unit: plots.width(s, unit=unit),
    "singular_values": lambda s, unit: plots.singular_values(s, unit=unit),
    "coherence": lambda s, unit: plots.coherence(s),
    "calibration": lambda s, unit: plots.calibration(s, unit=unit),
    "trace": lambda s, unit: plots.trace(s, unit=unit),
    "rhat": lambda s, unit: plots.rhat(s),
}
OF_A_CAMPAIGN = OF_A_POSTERIOR | {
    "next_batch": lambda s, unit: plots.next_batch(s, unit=unit),
    "history": lambda s, unit: plots.history(s, points=4, unit=unit),
}


def days() -> Iterator[dt.datetime]:
    """A clock that goes on by some hours each time it is looked at."""
    now = dt.datetime(2030, 3, 4, 9, tzinfo=dt.UTC)
    while True:
        yield now
        now += dt.timedelta(hours=2)


def played(name: str, Y: Array, rows: list[str], cols: list[str], rounds: int, **settings: Any) -> Campaign:
    """A campaign on a matrix that is known: a design, batches, one failure, and a batch that is waited for."""
    clock = days()
    first = max(Y.shape) * 2
    campaign = Campaign.create(
        "sqlite://", name, rows, cols, seed=1, n_initial=first, clock=lambda: next(clock), **settings
    )
    at = {label: i for i, label in enumerate(rows)}, {label: j for j, label in enumerate(cols)}
    for n in [first] + rounds * [first // 4]:
        batch = campaign.ask(n, frame="columns", progress=False)
        values = [Y[at[0][r], at[1][c]] for r, c in zip(batch["row"], batch["col"], strict=True)]
        campaign.tell(batch["id"][:-1], values[:-1], who="robot")
        campaign.fail(batch["id"][-1], "well was empty", who="robot")
        print(f"{name}: {n} more, {len(campaign.state.standing)} told", flush=True)
    campaign.ask(6, frame="columns", progress=False)
    return campaign


def simulated(rounds: int) -> Campaign:
    """30 x 20 of rank 2, entries of variance one about 10, noise of a tenth."""
    rng = np.random.default_rng(7)
    X = draw_smg(30, 20, 2, 1.0, rng).matrix() * np.sqrt(600) / 2
    Y = 10 + X + 0.1 * rng.standard_normal(X.shape)
    rows, cols = [f"ligand {i}" for i in range(1, 31)], [f"substrate {j}" for j in range(1, 21)]
    return played("simulated", Y, rows, cols, rounds, rank=2)


def direct_arylation(rounds: int) -> Campaign:
    """Yields of direct arylation, 48 x 36 (Shields 2021)."""
    data = datasets.load("direct-arylation")
    rows, cols = ([str(label) for label in side] for side in (data.rows, data.cols))
    return played("direct arylation", data.M, rows, cols, rounds, range=(0, 100))


def large() -> Posterior:
    """A posterior of 3,000 x 2,000 of rank 3 from 2% of its entries."""
    rng = np.random.default_rng(3)
    m1, m2 = LARGE
    A, B = rng.standard_normal((m1, 3)), rng.standard_normal((m2, 3))
    entries = uniform(LARGE, m1 * m2 // 50, seed=1)
    x = np.einsum("nk,nk->n", A[entries.rows], B[entries.cols]) / np.sqrt(3)
    values = x + 0.3 * rng.standard_normal(x.size)
    plan = Sampling(chains=4, anneal=60, settle=60, draws=10, thin=2)
    data = (entries.rows, entries.cols, values)
    return complete(data, 3, shape=LARGE, sampling=plan, seed=1, progress=False)


def draw(folder: Path, subject: Any, calls: dict[str, Callable[[Any, str], plots.Plot]], unit: str) -> None:
    """Every figure by both libraries, and how long each took."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, call in calls.items():
        began = time.perf_counter()
        plot = call(subject, unit)
        plot.save(folder / f"{name}.png")
        plot.save(folder / f"{name}.html")
        print(f"{folder.name}/{name}: {time.perf_counter() - began:.1f} s", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--folder", type=Path, default=Path("maxentry-study/reports"))
    options.add_argument("--only", choices=["simulated", "direct_arylation", "large"])
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--figures", action=argparse.BooleanOptionalAction, default=True)
    given = options.parse_args()
    campaigns = {"simulated": (simulated, ""), "direct_arylation": (direct_arylation, "% yield")}
    for name, (made, unit) in campaigns.items():
        if given.only in (None, name):
            campaign = made(given.rounds)
            if given.figures:
                draw(given.folder / name, campaign, OF_A_CAMPAIGN, unit)
            given.folder.mkdir(parents=True, exist_ok=True)
            for interactive in (False, True):
                page = render_report(campaign, points=4, interactive=interactive, unit=unit)
                file = given.folder / f"{name}{'_interactive' if interactive else ''}.html"
                file.write_text(page, encoding="utf-8")
                print(f"{file}: {file.stat().st_size / 1e6:.2f} MB", flush=True)
    if given.only in (None, "large"):
        draw(given.folder / "large", large(), OF_A_POSTERIOR, "")


if __name__ == "__main__":
    main()
