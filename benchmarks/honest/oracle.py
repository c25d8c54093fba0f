"""What choosing could gain at all: a chooser that cheats, since it knows every value of the table.

It has the default's start, posterior and batches. Of a batch it takes one entry after the other, each time that which
lowers the true error of the estimate most, the draws taken as a Gaussian. With features F of all entries that count,
directions W of those taken so far, K = I - W'W, r the values minus the estimate, c_a = F K f_a and
t = r_a / (v_a + eta2), measuring entry a makes r - t c_a of r, and so takes

    2 t c_a.r - t^2 |c_a|^2

off |r|^2. Nobody can choose so. It is no strict bound: what helps most now may help less later, and the next fit is no
Gaussian's. So it is also run for the last batch alone, where there is no later. ORACLE_SEEDS is the number of seeds, 1.
"""

import os
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.checks import Check, Line, recall
from benchmarks.honest.choosing import stored_ends

from maxentry._types import Array, Flags
from maxentry.acquisition.draw_field import DrawField
from maxentry.belief import Belief, Entries

CELLS = Path(os.environ.get("ORACLE_CELLS", "build/honest/oracle.jsonl"))
SEEDS = int(os.environ.get("ORACLE_SEEDS", "1"))
OURS = ("predictive_variance", "integrated_variance", "maxent")


def choose_knowing(
    belief: Belief, residual: Array, counted: Entries, free: Flags, n: int
) -> tuple[list[int], list[float]]:
    """Which n of the counted entries to take, of the free ones, and what each takes off the sum of squared errors."""
    F = DrawField.from_belief(belief).features(*counted)
    noise, G, r, free = belief.noise_at(*counted), F.T @ F, residual.copy(), free.copy()
    K, v, h = np.eye(F.shape[1]), np.einsum("ns,ns->n", F, F), np.einsum("ns,ns->n", F @ G, F)  # h: |c_a|^2
    chosen, gains = [], []
    for _ in range(min(n, int(free.sum()))):
        t = r / (v + noise)
        gain = np.where(free, 2 * t * (F @ (K @ (F.T @ r))) - t**2 * h, -np.inf)
        best = int(np.argmax(gain))
        w = K @ F[best] / np.sqrt(v[best] + noise[best])
        c = F @ w
        r -= c * (r[best] / np.sqrt(v[best] + noise[best]))
        h += c**2 * float(w @ G @ w) - 2 * c * (F @ (K @ (G @ w)))
        v = np.maximum(v - c**2, 0.0)
        K -= np.outer(w, w)
        free[best] = False
        chosen.append(best)
        gains.append(float(gain[best]))
    return chosen, gains


def final_error(case: Any, seed: int, last_alone: bool) -> list[float]:
    """The error at the end of a campaign of the suite, all or the last of its batches chosen by who knows."""
    from evidence.strategies import get_strategy
    from maxentry.compare.runner import ErrorObserver, open_campaign
    from maxentry.compare.scenario import Cell

    cell, truth = Cell(case, get_strategy("predictive_variance"), seed), case.source.truth(seed)
    counted, observer = Entries.from_lists(*np.nonzero(truth.judged)), ErrorObserver(cell, truth)
    with open_campaign(cell, truth) as campaign:
        observer.measure(campaign, case.initial)
        for k in range(case.batches):
            if last_alone and k + 1 < case.batches:
                observer.measure(campaign, case.batch)
                continue
            posterior, state, free = campaign.posterior(progress=False), campaign.state, ~np.isnan(truth.Y)
            free[state.told.rows, state.told.cols] = False
            residual = (truth.M - posterior.arrays.mean)[counted]
            which, _ = choose_knowing(posterior.belief, residual, counted, free[counted], case.batch)
            i, j = counted.rows[which], counted.cols[which]
            row, col = (
                [labels[p] for p in at] for labels, at in ((state.row_labels, i), (state.col_labels, j))
            )
            campaign.tell(row=row, col=col, value=truth.Y[i, j])
        observer.look(campaign)
    return [observer.looks[-1].error]


def could_be_had(quick: bool) -> list[Line]:
    """Errors over those of random entries at the end of the suite's campaigns, of the same seeds."""
    from evidence.suite import MATRICES

    cases, seeds = (MATRICES[:1], 1) if quick else (MATRICES, SEEDS)
    ends = stored_ends()
    found: dict[str, list[list[float]]] = {}
    for seed, case in product(range(seeds), cases):
        known = [
            recall(CELLS, [case.name, seed, last], partial(final_error, case, seed, last))[0]
            for last in (False, True)
        ]
        ours = [ends[key] for name in OURS if (key := (case.name, name, seed)) in ends]
        ratios = np.array([*known, *ours]) / ends[case.name, "uniform", seed]
        found.setdefault(case.name, []).append([*ratios[:3].tolist(), float(ratios.min())])
    means = {name: np.exp(np.log(rows).mean(0)) for name, rows in found.items()}
    lines = [
        Line(f"over random entries, who knows every value, {name}", _describe(mean, seeds))
        for name, mean in means.items()
    ]
    overall = np.exp(np.log(list(means.values())).mean(0))
    what = f"over random entries, who knows every value, {len(means)} matrices, geometric mean"
    return [*lines, Line(what, _describe(overall, seeds))]


def _describe(ratios: Array, seeds: int) -> str:
    every, last, default, best = ratios
    return (
        f"{every:.3f}; if only in the last batch {last:.3f}; the default {default:.3f}; "
        f"the best of these, `integrated_variance` and `maxent` in hindsight {best:.3f} (seeds: {seeds})"
    )


CHECKS: dict[str, Check] = {"could_be_had": could_be_had}
