"""Are the probabilities of answers right? On simulated tables, of all answers of 30% about 30% must be true.

Tables are drawn from the model ("model"), or are products of Gaussian factors ("factors"), not the prior's law; both
with row and column effects. What entries have beside that and what measurements have is of variance 0.25; the entries'
own share of it is uniform, another one for each table, as answers suppose where nothing tells. In "all noise" and "all
the entries' own" it is 0 or 1 in every table, which answers do not know; in "told" the noise is given (0.5 or 0.01), so
that they do. Truth is the entry without the measurement's noise. Fits are by default but for the rank, which is given.
Errors are over tables: answers of one table go together.
"""

from itertools import pairwise

import numpy as np

import maxentry
from maxentry.model.goal import Goal
from maxentry.model.smg import draw_smg
from maxentry.posterior import decisions

M, RANK, NOISE, MEASURED, TABLES = (20, 15), 2, 0.5, 120, 60
BINS = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])
OWN = {"all noise": 0.0, "all the entries' own": 1.0}  # the entries' share of the variance
TOLD = {"all noise, told": NOISE, "all the entries' own, told": 0.01}  # the noise that is given
LAWS = ("model", "factors", *OWN, *TOLD)
ASKED = ("best 15", "best per column", "rank rows: best", "rank rows: pairs", "threshold")


def simulate(seed: int, law: str) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rng, (m1, m2) = np.random.default_rng([seed, 11]), M
    if law == "factors":
        X = rng.normal(size=(m1, RANK)) @ rng.normal(size=(RANK, m2)) / np.sqrt(RANK)
    else:
        X = draw_smg(m1, m2, RANK, m1 * m2 / RANK**2, rng).matrix()  # entries of variance one
    X += 0.7 * rng.normal(size=(m1, 1)) + 0.7 * rng.normal(size=(1, m2)) + 3 * rng.normal()
    keys = rng.permutation(m1 * m2)[:MEASURED]
    rows, cols = np.divmod(keys, m2)
    noise, uniform = NOISE * rng.normal(size=MEASURED), rng.random()
    own = OWN.get(law.removesuffix(", told"), uniform)
    X += np.sqrt(own) * NOISE * rng.normal(size=M)
    return X, (rows, cols, X[rows, cols] + np.sqrt(1 - own) * noise)


def answers(seed: int, law: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Probabilities, and whether they came true, of all answers about one table."""
    X, data = simulate(seed, law)
    p = maxentry.complete(data, RANK, shape=M, seed=seed, threads=1, progress=False, noise_sd=TOLD.get(law))
    found = {}
    for words in ("best 15", "best per column"):
        goal = Goal.parse(words)
        tops = decisions.find_tops(p.belief, p.goal_answers, goal)
        share = np.bincount(tops.keys, tops.share, X.size)
        if goal.per is None:
            true = np.zeros(X.size, dtype=bool)
            true[np.argsort(-X.ravel())[: goal.k]] = True
        else:
            true = (X.max(0) == X).ravel()
        found[words] = share, true
    averages, mine = decisions.average_entries(p.belief, p.goal_answers, Goal.parse("rank rows")), X.mean(1)
    best = np.bincount(averages.argmax(1), minlength=M[0]) / len(averages)
    found["rank rows: best"] = best, mine == mine.max()
    pairs = np.triu_indices(M[0], 1)
    above = decisions.chances_above(averages)[pairs]
    found["rank rows: pairs"] = above, (mine[:, None] > mine)[pairs]
    at = float(np.quantile(data[2], 0.8))
    found["threshold"] = p.exceeds(at).ravel(), (at < X).ravel()
    return found


def run_all(done: dict[str, list[dict[str, float]]]) -> dict[str, list[dict[str, float]]]:
    """Of each kind of answer and bin: the mean probability, the share that came true, its error, and how many."""
    found = dict(done)
    for law in LAWS:
        if f"{law}, {ASKED[0]}" in done:
            continue
        tables = [answers(seed, law) for seed in range(TABLES)]
        found |= {f"{law}, {name}": summarise([table[name] for table in tables]) for name in ASKED}
    return found


def summarise(tables: list[tuple[np.ndarray, np.ndarray]]) -> list[dict[str, float]]:
    lines = []
    edges = [-1.0, *BINS, 2.0]
    for low, high in pairwise(edges):
        inside = [(p[at], true[at]) for p, true in tables for at in [(p > low) & (p <= high)]]
        n = np.array([len(p) for p, _ in inside])
        if n.sum() < 20:
            continue
        said, came = (np.array([part.sum() for part in parts], float) for parts in zip(*inside, strict=True))
        miss = came - said  # of each table
        chance = said.sum() / n.sum()
        error = max(
            np.sqrt(np.sum((miss - miss.mean()) ** 2)) / n.sum(), np.sqrt(chance * (1 - chance) / n.sum())
        )
        lines.append({"said": chance, "came": came.sum() / n.sum(), "error": error, "n": int(n.sum())})
    return lines
