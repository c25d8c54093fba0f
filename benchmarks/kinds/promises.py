"""Promises of campaigns whose measurements are limits, yes or no, or grades: expected error and look-ahead.

Simulated tables and real ones. The truth of every entry is known: of limits what would be measured without them (the
real table has a floor put at its median); of yes or no and grades the probability, or the expected grade, from which
answers are drawn (in the real tables the chance rises with the value). KINDS_SEEDS is the number of replicates (6).
"""

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.scores import choose_seeds, remember
from scipy.special import ndtr

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "6"))
BATCHES = 3
CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
PART = (50, 30)


class Case(NamedTuple):
    """What measurements return, the truth of every entry, and the settings of a campaign."""

    measure: Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
    truth: np.ndarray
    settings: dict


def standard(name: str, seed: int) -> np.ndarray:
    """A part of a real table, or a simulated one, with mean 0 and standard deviation 1."""
    rng = np.random.default_rng([seed, 14])
    if name == "simulated":
        m1, m2 = PART
        X = rng.normal(size=(m1, 2)) @ rng.normal(size=(2, m2)) / np.sqrt(2)
        M = X + 0.5 * rng.normal(size=(m1, 1)) + 0.5 * rng.normal(size=m2)
    else:
        M = matrices.load(name, seed)
        i, j = (np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(M.shape, PART, strict=True))
        M = M[np.ix_(i, j)]
    return (M - np.nanmean(M)) / np.nanstd(M)


def limits(name: str, seed: int) -> Case:
    Y, floor = standard(name, seed), 0.0
    if name == "simulated":
        Y = Y + 0.3 * np.random.default_rng([seed, 15]).normal(size=Y.shape)
    floor = float(np.nanmedian(Y))
    return Case(lambda i, j, rng: np.maximum(Y[i, j], floor), Y, {"limits": (floor, None)})


def yes_no(name: str, seed: int) -> Case:
    p = ndtr(1.5 * standard(name, seed))
    return Case(lambda i, j, rng: (rng.random(i.size) < p[i, j]).astype(float), p, {"kind": "yes/no"})


def grades(name: str, seed: int) -> Case:
    X, noise = standard(name, seed), 0.6
    truth = 1 + ndtr((X[..., None] - CUTS) / noise).sum(-1)

    def measure(i: np.ndarray, j: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = X[i, j] + noise * rng.normal(size=i.size)
        return 1.0 + (z[:, None] > CUTS).sum(1)

    return Case(measure, truth, {"kind": "grades", "levels": (1, 2, 3, 4, 5)})


CASES = {
    ("limits, half at the floor", "simulated"): limits,
    ("limits, half at the floor", "Buchwald-Hartwig"): limits,
    ("yes/no", "simulated"): yes_no,
    ("yes/no", "direct arylation"): yes_no,
    ("grades", "simulated"): grades,
    ("grades", "AutoML error"): grades,
}


def run_campaign(case: Case, seed: int, batches: int) -> list[list[float]]:
    """Expected error, promised error after the next batch, and true error, at each look."""
    (m1, m2), rng = case.truth.shape, np.random.default_rng([seed, 16])
    first, batch, looks = (m1 * m2) // 5, (m1 * m2) // 10, []
    campaign = maxentry.Campaign.create(
        "sqlite://",
        "promises",
        m1,
        m2,
        seed=seed,
        frame="columns",
        mask=~np.isnan(case.truth),
        **case.settings,
    )
    for n in [first, *[batch] * batches]:
        asked = campaign.ask(n, progress=False)
        rows, cols = np.array(asked["row"]), np.array(asked["col"])
        campaign.tell(asked["id"], case.measure(rows, cols, rng))
        outlook = campaign.outlook(batch, progress=False).outlook
        mean = campaign.posterior(progress=False).arrays.mean
        true = float(np.sqrt(np.nanmean((mean - case.truth) ** 2)))
        looks.append([round(float(x), 6) for x in (outlook.error_now, outlook.error_after, true)])
    return looks


def promises(quick: bool) -> list[Line]:
    """True over expected error from the second batch on, and achieved over promised decrease of each batch."""
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for (kind, name), make in CASES.items():
        for seed in [0] if quick else choose_seeds("promises", f"{kind}, {name}", SEEDS):
            one = partial(run_campaign, make(name, seed), seed, 2 if quick else BATCHES)
            looks = one() if quick else remember("promises", f"{kind}, {name}, seed {seed}", one)
            found.setdefault((kind, name), []).append(np.array(looks))
    return summarise(found)


def summarise(found: dict[tuple[str, str], list[np.ndarray]]) -> list[Line]:
    """Lines of the table, from the looks of each campaign."""
    lines, ratios = [], {}
    for (kind, name), runs in found.items():
        looks = np.array(runs)
        ratio = (looks[:, 1:, 2] / looks[:, 1:, 0]).mean(0)
        value = f"{ratio.min():.2f} to {ratio.max():.2f} ({len(runs)} run{'s' * (len(runs) > 1)})"
        lines.append(Line(f"{kind}, {name}: true over expected error", value, "0.85 to 1.2"))
        promised = looks[:, :-1, 0] - looks[:, :-1, 1]
        falls = [(looks[:, :-1, which] - looks[:, 1:, which]) / promised for which in (0, 2)]
        ratios.setdefault(kind, []).append(np.reshape(falls, (2, -1)))
    ratios["all three"] = [part for parts in ratios.values() for part in parts]
    for kind, parts in ratios.items():
        achieved, true = np.median(np.concatenate(parts, axis=1), axis=1)
        what = f"{kind}: achieved over promised decrease of the expected error, median of batches"
        text = f"{achieved:.2f} (of the true error {true:.2f})"
        lines.append(Line(what, text, "0.8 to 1.25"))
    return lines
