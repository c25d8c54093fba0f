"""Campaigns of the default of commit b121af5, which is "today's default" where goals were asked for.

    git worktree add --detach ../b121af5 b121af5
    PYTHONPATH=../b121af5/src:. python -m benchmarks.goals.before

Written for the names of that commit; cells go beside the others, under the rule "before". The same tables, first
entries and batches as in `campaigns`, and the same fits: rank "auto", then its chains go on.
"""

import json
import os
import time

import numpy as np
from benchmarks import matrices
from benchmarks.goals import measures
from benchmarks.goals.measures import Truth
from benchmarks.goals.tables import BATCHES, CELLS, first_entries, table

RULE = "before"
SEEDS = int(os.environ.get("GOALS_SEEDS", "10"))


def run_campaign(truth: Truth, seed: int) -> list[dict[str, float]]:
    """The figures of what was measured, and of the estimate, after the first entries and after every batch."""
    from maxentry import complete
    from maxentry.acquisition.choose import choose
    from maxentry.acquisition.question import Question
    from maxentry.entries import Entries

    (keys, rng), m2, looks, posterior = first_entries(truth, seed), truth.M.shape[1], [], None
    for look in range(BATCHES + 1):
        rows, cols = np.divmod(keys, m2)
        posterior = complete(
            (rows, cols, truth.M[rows, cols]), shape=truth.M.shape, seed=seed, threads=1, progress=False,
            start=posterior,
        )  # fmt: skip
        looks.append({
            "recall": measures.recall(truth, rows, cols),
            "pattern regret": measures.column_regret(truth, posterior.mean),
            "measured regret": measures.measured_regret(truth, rows, cols),
            "n": len(keys),
        })  # fmt: skip
        if look < BATCHES:
            question = Question(truth.M.shape, observed=Entries(rows, cols), mask=truth.known)
            n = max(truth.M.shape) // 2
            chosen = choose("predictive_variance", posterior.belief, question, n, rng=rng)
            keys = np.concatenate([keys, chosen.rows * m2 + chosen.cols])
    return looks


def run_all(until: float) -> None:
    """Run what has no figures yet, all matrices of a seed before the next; stopped, it goes on."""
    lines = map(json.loads, CELLS.read_text().splitlines()) if CELLS.exists() else ()
    done = {(cell["matrix"], cell["seed"]) for cell in lines if cell["rule"] == RULE}
    for seed in range(SEEDS):
        for name in matrices.MATRICES:
            if (name, seed) in done or time.monotonic() > until:
                continue
            began = time.process_time()
            looks = run_campaign(Truth.of(table(name, seed)), seed)
            looks = [{k: round(float(x), 5) for k, x in look.items()} for look in looks]
            cell = {"matrix": name, "seed": seed, "rule": RULE, "cpu": round(time.process_time() - began, 1)}
            with CELLS.open("a") as file:
                file.write(json.dumps(cell | {"looks": looks}) + "\n")
            print(f"{name} {seed}: {cell['cpu']} s, recall {looks[-1]['recall']}", flush=True)


if __name__ == "__main__":
    run_all(time.monotonic() + float(os.environ.get("GOALS_SECONDS", "inf")))
