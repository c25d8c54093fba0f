"""MovieLens with "observed" for rows and columns: which movies somebody rated, and who rated a movie.

No rank is chosen on the test set: `rank="auto"` compares ranks on parts of the training set.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.checks import Line, recall
from benchmarks.matrices import Triples, movielens_1m, movielens_100k
from benchmarks.measures import Task
from benchmarks.side_information import peers

import maxentry
from maxentry.wording import count

KNOWN = Path(__file__).parent / "results" / "ratings.jsonl"
MYFM_RANK, MYFM_SWEEPS = 10, 300
BOTH: dict[str, Any] = {"row_features": "observed", "col_features": "observed"}


class Split(NamedTuple):
    """A task with its held-out ratings."""

    task: Task
    truth: np.ndarray
    seed: int


def hold_out(triples: Triples, test: np.ndarray, seed: int) -> Split:
    shape, rows, cols, values = triples
    train = np.setdiff1d(np.arange(values.size), test)
    task = Task(shape, rows[train], cols[train], values[train], rows[test], cols[test])
    return Split(task, values[test], seed)


def splits(name: str, seeds: int) -> Iterator[Split]:
    """u1: the first 20,000 lines of u.data, the same for each seed; the others: at random."""
    triples = movielens_1m() if name == "1M, 90/10" else movielens_100k()
    n = triples[3].size
    for seed in range(seeds):
        if name == "u1":
            yield hold_out(triples, np.arange(20_000), seed)
        else:
            held = n // 10 if name == "1M, 90/10" else n // 5
            yield hold_out(triples, np.sort(np.random.default_rng([31, seed]).permutation(n)[:held]), seed)


def ours(split: Split, **options: Any) -> list[float]:
    """RMSE, coverage of 90% predictive intervals, processor seconds, the heaviest rank."""
    task, begin = split.task, time.process_time()
    posterior = maxentry.complete(task.observations, seed=split.seed, threads=1, progress=False, **options)
    p = posterior.predict(task.test_rows, task.test_cols, 0.9)
    covered = np.mean((p.new_low <= split.truth) & (split.truth <= p.new_high))
    error = np.sqrt(np.mean((p.mean - split.truth) ** 2))
    return [float(error), float(covered), time.process_time() - begin, float(posterior.rank)]


def myfm(split: Split, observed: bool) -> list[float]:
    """The same of myFM, rank 10 and 300 sweeps as its authors have it."""
    options = {"rank": MYFM_RANK, "sweeps": MYFM_SWEEPS, "seed": split.seed, "observed": observed}
    answer = peers.run("myfm", split.task, **options)
    return [*answer.judge(split.truth), answer.seconds, float(MYFM_RANK)]


WAYS: dict[str, Any] = {
    "ours, observed": lambda split: ours(split, **BOTH),
    "ours, observed, as grades": lambda split: ours(split, kind="grades", **BOTH),
    "ours, observed, as grades, noise by user": lambda split: ours(
        split, kind="grades", noise="rows", **BOTH
    ),
    "ours, plain": ours,
    "myFM, observed": lambda split: myfm(split, True),
    "myFM, plain": lambda split: myfm(split, False),
}


def compare(name: str, asked: str, seeds: dict[str, int], quick: bool) -> list[Line]:
    """A line for each way: error, coverage and time, the mean over so many seeds."""
    lines = []
    for way, n in seeds.items():
        found = np.array(
            [
                recall(KNOWN, [name, way, split.seed], lambda way=way, split=split: WAYS[way](split))
                for split in splits(name, 1 if quick else n)
            ]
        )
        error, covered, seconds, rank = found.mean(0)
        spread = f" ± {found[:, 0].std(ddof=1) / np.sqrt(len(found)):.4f}" if len(found) > 1 else ""
        text = f"{error:.4f}{spread}, {covered:.3f}, {seconds:.0f} s, rank {rank:.3g}"
        lines.append(
            Line(f"{way} ({count(len(found), 'seed')})", text, asked if way == "ours, observed" else "")
        )
    return lines


def u1(quick: bool) -> list[Line]:
    """MovieLens 100K, the first 20,000 ratings held out; seeds are those of the samplers."""
    return compare(
        "u1", "< 0.889, 0.89 to 0.91", {"ours, observed": 3, "ours, plain": 3, "myFM, observed": 3}, quick
    )


def ratings_100k(quick: bool) -> list[Line]:
    """MovieLens 100K, 20% held out at random, another part for each seed."""
    seeds = {"ours, observed": 3, "ours, plain": 3, "myFM, observed": 3, "myFM, plain": 1}
    return compare("80/20", "< 0.882, 0.89 to 0.91", seeds, quick)


def ratings_1m(quick: bool) -> list[Line]:
    """The part of MovieLens 1M of movies with 50 ratings or more, 10% held out at random."""
    seeds = {"ours, observed": 3, "ours, plain": 3, "myFM, observed": 1}
    return compare("1M, 90/10", "< 0.820, 0.89 to 0.91", seeds, quick)


def grades(quick: bool) -> list[Line]:
    """The ratings of u1 as grades in order."""
    ways = "ours, observed, as grades", "ours, observed, as grades, noise by user"
    return compare("u1", "", dict.fromkeys(ways, 3), quick)


CHECKS = {"u1": u1, "80 to 20": ratings_100k, "1M": ratings_1m, "u1 as grades": grades}
