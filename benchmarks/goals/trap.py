"""A wrong mode: a simulated table in which greedy choices are trapped.

Two projects measured rows and columns of their own: x_ij = u_i v_j, where the first project has weak rows and strong
columns and the second strong rows and weak columns. Nothing tells which sign connects them, so the strong rows on the
strong columns are very good or very bad, half of them each, whichever way, and their mean is zero. The best
entries of the table are there. Who goes by the mean stays in the two projects, where entries are fair.
"""

import numpy as np
from benchmarks.goals.measures import Truth, recall
from benchmarks.goals.rules import RULES, Now

import maxentry

M, STRONG, WEAK, NOISE = 24, 2.0, 1.0, 0.1
START, BATCH, BATCHES, SEEDS = 96, 8, 8, 12
NAMES = ["fill", *(name for name in RULES if name.startswith("best:"))]


def table(seed: int) -> tuple[Truth, np.ndarray]:
    """The table, and the keys of the entries that the two projects measured."""
    rng, half = np.random.default_rng([seed, 5]), M // 2
    size = np.repeat([WEAK, STRONG], half)
    u, v = (
        s * rng.permutation(np.tile([-1.0, 1.0], M // 2)) * np.exp(0.1 * rng.normal(size=M))
        for s in (size, size[::-1])
    )
    Y = np.outer(u, v) + NOISE * rng.normal(size=(M, M))
    own = np.kron(np.eye(2), np.ones((half, half))).astype(bool)
    return Truth.of(Y), rng.permutation(np.flatnonzero(own))[:START]


def run(name: str, seed: int) -> list[float]:
    """Recall of the best 5% after every batch."""
    truth, keys = table(seed)
    rng, found = np.random.default_rng([seed, 6]), []
    for _ in range(BATCHES):
        rows, cols = np.divmod(keys, M)
        data = rows, cols, truth.M[rows, cols]
        posterior = maxentry.complete(
            data, 1, shape=(M, M), seed=seed, effort="quick", threads=1, progress=False
        )
        keys = np.concatenate([keys, RULES[name](Now(truth, keys, posterior, rng), BATCH)])
        found.append(recall(truth, *np.divmod(keys, M)))
    return found


def run_all() -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {name: [] for name in NAMES}
    for seed in range(SEEDS):
        for name in NAMES:
            found[name].append([round(x, 4) for x in run(name, seed)])
        print(seed, {name: x[-1][-1] for name, x in found.items()}, flush=True)
    return found
