"""The next `ask(8)` after `tell` of 8 on 1,000 x 1,000 with 50,000 observations, beside a fit from scratch.

    .venv/bin/python benchmarks/incremental.py            # writes benchmarks/incremental.md
    .venv/bin/python benchmarks/incremental.py --quick    # 300 x 300 with 10,000, one turn; writes nothing

Warm: `Campaign.ask` as a user calls it: events and cache are read, chains go on from where they stood, 8 entries are
chosen, the fit and the event are written. From scratch: `complete` of the same observations, and the same choice;
nothing is read or written. Both in turn in one process, with all threads; CPU seconds are those of all of them
together, and say more than the seconds passed where the machine has other work. Error and coverage are those of the
entries themselves (without noise) at 5,000 random entries that nobody has measured; R-hat compares the two fits'
draws of 500 of them.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measures import covered, rmse, table

import maxentry
from maxentry.acquisition import Problem, choose
from maxentry.belief import Entries
from maxentry.campaign.campaign import Campaign
from maxentry.design import uniform
from maxentry.model.smg import draw_smg

RANK, NOISE, BATCH = 10, 0.3, 8


class Figures(NamedTuple):
    """Of one way to the next batch."""

    seconds: float
    cpu: float
    sweeps: int
    rmse: float
    covered: float
    draws: np.ndarray  # (draw, entry)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Clock:
    """Seconds and CPU seconds of what is inside."""

    def __enter__(self) -> "Clock":
        self._wall, self._cpu = time.perf_counter(), cpu()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._wall, cpu() - self._cpu


def judged(posterior: maxentry.Posterior, clock: Clock, X: np.ndarray, held: Entries) -> Figures:
    """How good the posterior is at the entries held out."""
    p = posterior.predict(held.rows, held.cols)
    truth, plan = X[held.rows, held.cols], posterior.sampling
    draws = posterior.belief.at(held.rows[:500], held.cols[:500])
    return Figures(
        clock.seconds,
        clock.cpu,
        plan.chains * plan.sweeps,
        rmse(p, truth),
        covered(p.low, p.high, truth),
        draws,
    )


def from_scratch(campaign: Campaign, rank: object, X: np.ndarray, held: Entries, seed: int) -> Figures:
    state = campaign.state
    told = state.told
    with Clock() as clock:
        data = maxentry.Observations(state.shape, told.rows, told.cols, state.values)
        posterior = maxentry.complete(data, rank, seed=seed, progress=False)
        question = Problem(state.shape, told)
        choose("predictive_variance", posterior.belief, question, BATCH, rng=np.random.default_rng(0))
    return judged(posterior, clock, X, held)


def rhat(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Median and greatest over the entries, each fit's draws as one chain."""
    within = (one.var(0, ddof=1) + two.var(0, ddof=1)) / 2
    between = np.var([one.mean(0), two.mean(0)], axis=0, ddof=1)
    values = np.sqrt(1 + between / within)
    return float(np.median(values)), float(values.max())


def turns(shape: tuple[int, int], n: int, rank: object, times: int, seed: int = 1) -> list[list[object]]:
    rng = np.random.default_rng(seed)
    X = (
        draw_smg(*shape, RANK, 1.0, rng).matrix() * np.sqrt(shape[0] * shape[1]) / RANK
    )  # entries of variance 1
    Y = X + NOISE * rng.standard_normal(shape)
    design = uniform(shape, n + 5000, seed=seed)
    order = rng.permutation(n + 5000)  # a design is laid out row by row
    told, held = (Entries(design.rows[some], design.cols[some]) for some in (order[:n], order[n:]))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/lab.db"
        campaign = Campaign.create(where, "speed", *shape, seed=seed, rank=rank, cache=f"{folder}/cache")
        campaign.tell(row=told.rows.tolist(), col=told.cols.tolist(), value=Y[told.rows, told.cols])
        asked = campaign.ask(BATCH, frame="columns", progress=False)  # the first of all: not counted
        for turn in range(times):
            campaign.tell(asked["id"], Y[asked["row"], asked["col"]])
            with Clock() as clock:
                asked = campaign.ask(BATCH, frame="columns", progress=False)
            warm = judged(campaign.posterior(progress=False), clock, X, held)
            cold = from_scratch(campaign, rank, X, held, turn)
            lines.append(line(rank, turn, warm, cold))
            print(lines[-1], flush=True)
    return lines


def line(rank: object, turn: int, warm: Figures, cold: Figures) -> list[object]:
    middle, worst = rhat(warm.draws, cold.draws)
    return [
        rank, turn + 1, f"{warm.sweeps:,} / {cold.sweeps:,}", f"{warm.cpu:.2f} / {cold.cpu:.2f}",
        f"{warm.seconds:.2f} / {cold.seconds:.2f}", f"**{cold.cpu / warm.cpu:.1f}**",
        f"{cold.seconds / warm.seconds:.1f}", f"{warm.rmse:.4f} / {cold.rmse:.4f}",
        f"{warm.covered:.3f} / {cold.covered:.3f}", f"{middle:.3f} / {worst:.3f}",
    ]  # fmt: skip


HEADER = [
    "rank", "turn", "sweeps, warm / cold", "CPU s, warm / cold", "seconds, warm / cold", "ratio of CPU",
    "ratio of seconds", "RMSE, warm / cold", "90% intervals hold, warm / cold", "R-hat, median / worst",
]  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true")
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    if given.quick:
        print(table(HEADER, turns((300, 300), 10_000, RANK, 1)))
        return
    lines = turns((1000, 1000), 50_000, RANK, given.turns)
    lines += turns((1000, 1000), 50_000, "auto", max(1, given.turns - 1))
    title, *_, how = __doc__.partition("Warm:")
    text = f"# {title.splitlines()[0]}\n\nWarm:{how}\n{table(HEADER, lines)}"
    text += (
        "\nSweeps are of all chains together; from scratch with rank 'auto' those of the comparison of ranks come on "
        "top, and are in the seconds.\n"
    )
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
