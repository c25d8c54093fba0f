"""The chooser that knows every value, beside its definition: conditioning a Gaussian on each entry in turn."""

import numpy as np
from benchmarks.honest.oracle import choose_knowing

from maxentry.belief import Belief, Entries


def slow(
    belief: Belief, residual: np.ndarray, counted: Entries, free: np.ndarray, n: int
) -> tuple[list, list]:
    """Condition on the entries so far and one more, for every other one, and take the best."""
    x = belief.at(*counted)
    C, noise, chosen, gains = np.cov(x.T, bias=True), float(belief.noise_var.mean()), [], []

    def error(taken: list[int]) -> float:
        inner = C[np.ix_(taken, taken)] + noise * np.eye(len(taken))
        return float(np.sum((residual - C[:, taken] @ np.linalg.solve(inner, residual[taken])) ** 2))

    for _ in range(n):
        left = {k: error([*chosen, k]) for k in np.flatnonzero(free) if k not in chosen}
        best = min(left, key=lambda k: left[k])
        gains.append(error(chosen) - left[best])
        chosen.append(int(best))
    return chosen, gains


def test_who_knows_every_value_takes_what_lowers_the_true_error_most() -> None:
    rng = np.random.default_rng(3)
    S, m1, m2, R = 12, 6, 5, 2
    belief = Belief(
        rng.normal(size=(S, m1, R)), rng.normal(size=(S, m2, R)), rng.normal(size=(S, m1)), rng.normal(size=(S, m2)),
        rng.normal(size=S), np.full(S, 0.3),
    )  # fmt: skip
    counted = Entries.from_lists(*np.nonzero(rng.random((m1, m2)) < 0.8))
    residual, free = rng.normal(size=len(counted.rows)), rng.random(len(counted.rows)) < 0.7
    chosen, gains = choose_knowing(belief, residual, counted, free, 6)
    wanted, by_definition = slow(belief, residual, counted, free, 6)
    assert chosen == wanted
    np.testing.assert_allclose(gains, by_definition, rtol=1e-8)
    other, _ = choose_knowing(belief, -(residual**2), counted, free, 6)  # other values, another choice
    assert other != wanted
