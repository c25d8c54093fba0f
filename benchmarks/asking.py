"""`ask(8)` on 1,000 x 1,000 with 20,000 observations at rank 10, warm, beside a SMURFF fit of as many sweeps.

    .venv/bin/python benchmarks/asking.py    # writes benchmarks/asking.md

Warm: the campaign has been asked before, so the fit it starts from is in its cache; 8 values have been told since. One
run of each in turn, several times. SMURFF runs on one thread, ours on as many as there are cores, as users have it: so
CPU seconds are what to compare. SMURFF only fits; ours reads events and cache, fits, chooses 8 entries and writes.
"""

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from measures import Task, table
from smurff_peer import Smurff

from maxentry.campaign.campaign import Campaign
from maxentry.design import uniform
from maxentry.model.smg import draw_smg

SHAPE, RANK, N, BATCH, TURNS = (1000, 1000), 10, 20_000, 8, 5


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    rng = np.random.default_rng(1)
    X = (
        draw_smg(*SHAPE, RANK, 1.0, rng).matrix() * np.sqrt(SHAPE[0] * SHAPE[1]) / RANK
    )  # entries of variance 1
    Y = X + 0.3 * rng.standard_normal(SHAPE)
    entries = uniform(SHAPE, N, seed=1)
    smurff, lines = Smurff(), []
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign.create(
            f"{folder}/lab.db", "speed", *SHAPE, seed=1, rank=RANK, cache=f"{folder}/cache"
        )
        campaign.tell(
            row=entries.rows.tolist(), col=entries.cols.tolist(), value=Y[entries.rows, entries.cols]
        )
        asked = campaign.ask(BATCH, frame="columns", progress=False)  # cold: not counted
        for turn in range(TURNS):
            campaign.tell(asked["id"], Y[asked["row"], asked["col"]])
            wall, used = time.perf_counter(), cpu()
            asked = campaign.ask(BATCH, frame="columns", progress=False)
            wall, used = time.perf_counter() - wall, cpu() - used
            plan = campaign.posterior(progress=False).sampling
            sweeps = plan.chains * plan.sweeps
            told = campaign.state.told
            task = Task(SHAPE, told.rows, told.cols, campaign.state.values, *(np.arange(8), np.arange(8)))
            theirs = smurff(task, RANK, sweeps // 2, sweeps - sweeps // 2, turn)
            seconds = [used, theirs.cpu_seconds, wall, theirs.seconds]
            ratio = f"{used / theirs.cpu_seconds:.2f}"
            lines.append([turn + 1, sweeps, *(f"{x:.2f}" for x in seconds), ratio])
            print(lines[-1], flush=True)
    header = [
        "turn",
        "sweeps",
        "ask(8), CPU s",
        "SMURFF, CPU s",
        "ask(8), wall s",
        "SMURFF, wall s",
        "ratio of CPU",
    ]
    text = (
        f"# {__doc__.splitlines()[0]}\n\n"
        + "\n".join(__doc__.splitlines()[4:])
        + "\n\n"
        + table(header, lines)
    )
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
