"""Promises of a campaign: is the expected error the true one, and does a batch bring what was promised?

Default campaigns on parts of the ten real matrices (at most 100 x 40, one to five entries a row of the longer side) and
on the paper's simulations. The true error is that of the posterior mean against the table's values, over all entries
that are known. PROMISES_SEEDS is the number of replicates (6). Finished campaigns are kept in `benchmarks/.cache`, by
the code that ran them.
"""

import os
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.checks import Line
from benchmarks.matrices import load
from benchmarks.results_cache import Cache, fingerprint

import maxentry
from maxentry.model.smg import draw_smg

TALL, WIDE = (100, 40), (40, 100)
# the largest part, the first entries, the entries of a batch, and the batches
REAL = {
    "direct arylation": (TALL, 48, 48, 4),
    "Buchwald-Hartwig": (WIDE, 88, 88, 4),
    "kinase pKd": (WIDE, 100, 100, 4),
    "AutoML error": (TALL, 100, 100, 4),
    "AutoML log s": (TALL, 100, 100, 4),
    "SAT11, log s": (TALL, 100, 100, 4),
    "SAT20, log s": (TALL, 100, 100, 4),
    "Jester": (TALL, 100, 100, 4),
    "MovieLens 100K": (TALL, 100, 100, 4),
    "MovieLens 1M": (TALL, 100, 100, 4),
}
SIMULATED = {"sim30": ((30, 30), 30, 10, 18), "sim60": ((60, 60), 60, 40, 5)}
RANK = {"sim30": 3, "sim60": 4}
SEEDS, QUICK = int(os.environ.get("PROMISES_SEEDS", "6")), ("direct arylation",)
WITHIN = "between 0.8 and 1.25"


class Look(NamedTuple):
    """After n measurements: the expected error, what was promised of the next batch, and the true error."""

    n: int
    expected: float
    promised: float
    true: float


def table(name: str, seed: int) -> np.ndarray:
    """What measurements return, NaN where none is possible."""
    if name in SIMULATED:
        shape = SIMULATED[name][0]
        X = draw_smg(*shape, RANK[name], 1.0, _stream(seed, 0)).matrix()
        return X + 1e-2 * _stream(seed, 1).standard_normal(shape)
    M, rng = load(name, seed), np.random.default_rng([seed, 7])
    i, j = (
        np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(M.shape, REAL[name][0], strict=True)
    )
    return M[np.ix_(i, j)]


def _stream(seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose,)))


def run_campaign(name: str, seed: int, batches: int) -> list[Look]:
    Y, (_, first, batch, _) = table(name, seed), (REAL | SIMULATED)[name]
    known, looks = ~np.isnan(Y), []
    campaign = maxentry.Campaign.create(
        "sqlite://", "promises", *Y.shape, seed=seed, mask=None if known.all() else known, frame="columns"
    )
    for n in [first, *[batch] * batches]:
        asked = campaign.ask(n, progress=False)
        campaign.tell(asked["id"], Y[asked["row"], asked["col"]])
        outlook = campaign.outlook(batch, progress=False).outlook
        mean = campaign.posterior(progress=False).arrays.mean
        true = float(np.sqrt(np.mean((mean - Y)[known] ** 2)))
        looks.append(Look(campaign.status().told, outlook.error_now, outlook.error_after, true))
    return looks


def all_looks(quick: bool) -> dict[str, list[list[Look]]]:
    """The looks of each campaign, by matrix; from the cache where this code has run it."""
    package = Path(maxentry.__file__).parent
    code = fingerprint(*(package / part for part in ("campaign", "posterior", "acquisition", "kernels")))
    cache, found = Cache("promises"), defaultdict(list)
    for seed in range(1 if quick else SEEDS):
        for name, (*_, batches) in (REAL | SIMULATED).items():
            if quick and name not in QUICK:
                continue
            batches = 2 if quick else batches
            cell = (name, batches, seed)
            if (record := cache.get(cell, "default", code)) is None:
                looks = run_campaign(name, seed, batches)
                keys = {
                    "matrix": name,
                    "fraction": batches,
                    "seed": seed,
                    "method": "default",
                    "settings": code,
                }
                record = keys | {"looks": looks}
                cache.add([record])
            found[name].append([Look(*look) for look in record["looks"]])
    return found


def expected_error(quick: bool) -> list[Line]:
    """True over expected error at every look from the second batch on, mean over replicates: least and greatest."""
    lines = []
    for name, runs in all_looks(quick).items():
        ratios = np.mean([[look.true / look.expected for look in run[1:]] for run in runs], axis=0)
        asked = "0.85 to 1.2" if name in REAL else ""
        value = f"{ratios.min():.2f} to {ratios.max():.2f} ({len(runs)} x {len(ratios)} looks)"
        lines.append(Line(f"{name}: true over expected error", value, asked))
    return lines


def look_ahead(quick: bool) -> list[Line]:
    """Achieved over promised decrease of the expected error; beside it that of the true error."""
    ratios, true = [], []
    for runs in all_looks(quick).values():
        for run in runs:
            for look, later in pairwise(run):
                promised = look.expected - look.promised
                ratios.append((look.expected - later.expected) / promised)
                true.append((look.true - later.true) / promised)
    what = "achieved over promised decrease of the expected error, median"
    other = "the decrease of the true error over the promised one, median"
    value = f"{np.median(ratios):.2f} ({len(ratios)} batches)"
    return [Line(what, value, WITHIN), Line(other, f"{np.median(true):.2f}")]


CHECKS = {"expected_error": expected_error, "look_ahead": look_ahead}
