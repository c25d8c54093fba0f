"""The measures of the comparison of goals on tables small enough to count by hand, and rules beside one another."""

import numpy as np
import pytest
from benchmarks.goals import campaigns, gaussian_process, measures, reliability, report, trap
from benchmarks.goals.measures import Truth
from benchmarks.goals.rules import RULES, Now

import maxentry

NAN = np.nan
M = np.array([[1.0, 2.0, NAN], [5.0, 4.0, 3.0], [6.0, NAN, 0.0]])


def test_recall_counts_what_was_measured_of_the_best():
    truth = Truth.of(np.arange(40.0).reshape(8, 5))
    assert truth.k == 2
    assert measures.recall(truth, np.array([7, 0]), np.array([4, 0])) == 0.5
    assert measures.recall(truth, np.array([7, 7]), np.array([4, 4])) == 0.5  # twice the same is one
    assert measures.recall(truth, np.array([0]), np.array([0])) == 0.0


def test_regret_is_of_the_entry_with_the_greatest_estimate():
    truth, sd = Truth.of(M), np.nanstd(M)
    assert measures.column_regret(truth, M) == 0.0
    assert measures.column_regret(truth, -M) == pytest.approx((5 + 2 + 3) / 3 / sd)
    first = np.array([0, 0, 1]), np.array([0, 1, 2])
    assert measures.measured_regret(truth, *first) == pytest.approx((5 + 2 + 0) / 3 / sd)
    nothing = np.empty(0, dtype=int)
    assert measures.measured_regret(truth, nothing, nothing) == pytest.approx((2 + 1 + 1.5) / 3 / sd)


def test_order_of_rows_and_the_chance_of_the_best():
    truth = Truth.of(M)
    np.testing.assert_allclose(truth.averages, [1.5, 4, 3])
    assert measures.tau(truth, np.array([1.0, 3.0, 2.0])) == 1.0
    assert measures.tau(truth, np.array([3.0, 1.0, 2.0])) == -1.0
    assert measures.chance_of_best(truth, np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1.0]])) == 0.5


def test_entries_on_the_wrong_side():
    truth = Truth.of(M)
    assert 4 < truth.threshold < 5
    right = np.where(truth.known & (M > 4.5), 0.9, 0.1)
    assert measures.misclassified(truth, right) == 0.0
    assert measures.misclassified(truth, 1 - right) == 1.0
    right[2, 0] = 0.4
    assert measures.misclassified(truth, right) == pytest.approx(1 / 7)


@pytest.mark.parametrize("rule", list(RULES))
def test_every_rule_chooses_free_entries_once(rule):
    truth, _ = trap.table(0)
    truth.known[:, 3] = False
    rng = np.random.default_rng(0)
    keys = rng.permutation(np.flatnonzero(truth.known))[:40]
    rows, cols = np.divmod(keys, trap.M)
    sampling = maxentry.Sampling(chains=4, anneal=5, settle=5, draws=5, thin=1)
    data = rows, cols, truth.M[rows, cols]
    posterior = maxentry.complete(data, 1, shape=truth.M.shape, sampling=sampling, seed=1, threads=1)
    chosen = RULES[rule](Now(truth, keys, posterior, rng), 9)
    assert len(set(chosen.tolist()) | set(keys.tolist())) == 49
    assert truth.known.ravel()[chosen].all()


def test_the_goal_is_not_trapped_where_the_mean_is(monkeypatch):
    """The simulated table of a wrong mode, one replicate: who goes by the mean finds nothing."""
    monkeypatch.setattr(trap, "BATCHES", 4)
    assert trap.run("best: mean", 0)[-1] < 0.1
    assert trap.run("best: goal", 0)[-1] > 0.3


def test_draws_of_the_gaussian_process_follow_its_covariance():
    rng = np.random.default_rng(0)
    rows, cols = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2])
    process = gaussian_process.fit((3, 3), rows, cols, np.array([1.0, 2.0, 0.0, -1.0]))
    x = process.draw(np.arange(9), 40_000, rng)
    i, j = np.divmod(np.arange(9), 3)
    log, scale = process.log, process.scale
    noise = scale * np.exp(log[2]) * np.eye(4)
    K = scale * gaussian_process.covariance(rows, cols, rows, cols, log) + noise
    cross = scale * gaussian_process.covariance(i, j, rows, cols, log)
    mean = process.level + process.spread * cross @ np.linalg.solve(K, process.values)
    whole = scale * gaussian_process.covariance(i, j, i, j, log)
    cov = process.spread**2 * (whole - cross @ np.linalg.solve(K, cross.T))
    np.testing.assert_allclose(x.mean(0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.04)


def test_reliability_finds_probabilities_that_are_too_sure():
    rng = np.random.default_rng(0)
    said = [rng.random(200) for _ in range(30)]
    true = [rng.random(200) < p for p in said]
    sure = [np.clip(0.5 + 2 * (p - 0.5), 0.0, 1.0) for p in said]

    def farthest(p):
        bins = reliability.summarise(list(zip(p, true, strict=True)))
        return max(abs(b["came"] - b["said"]) / b["error"] for b in bins)

    assert farthest(said) < 4
    assert farthest(sure) > 8


def test_campaigns_go_on_where_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr(campaigns, "CELLS", tmp_path / "cells.jsonl")
    monkeypatch.setattr(campaigns, "SEEDS", 1)
    monkeypatch.setattr(campaigns, "BATCHES", 1)
    quick = maxentry.Sampling(chains=4, anneal=5, settle=5, draws=5, thin=1)
    monkeypatch.setattr(campaigns, "ANEW", (0, 1))
    monkeypatch.setattr(campaigns, "HOW", {"rank": 1, "sampling": quick})
    monkeypatch.setattr(campaigns, "table", lambda name, seed: trap.table(seed)[0].M)
    campaigns.run_all(["a"], ["uniform"])
    campaigns.run_all(["a"], ["uniform", "best: mean"])
    cells = campaigns.read_cells(campaigns.CELLS)
    assert list(cells) == [("a", 0, "uniform"), ("a", 0, "best: mean")]
    first, second = cells.values()
    assert first[0] == second[0]  # the same first entries
    assert [look["n"] for look in first] == [48, 60]


def test_what_is_missed_is_judged_by_what_could_be_found():
    def looks(recall, regret):
        return [{"recall": recall, "measured regret": regret}]

    cells, found = {}, []
    for name, fill, most in (("Jester", 0.6, 0.9), ("kinase pKd", 0.4, 0.7), ("SAT20, log s", 0.3, 0.7)):
        cells |= {(name, 0, "fill"): looks(fill, 1.0), (name, 0, "best: goal"): looks(0.5, 9.0)}
        cells[name, 0, "column: goal"] = looks(0.0, 0.6)
        found.append({"matrix": name, "seed": 0, "all": 1.0, "four fifths": most, "regret": fill})
    said = {
        line.split("|")[1].strip(): line.split("|")[3].strip()
        for line in report.reach(cells, found).splitlines()[5:]
    }
    assert said["recall twice `fill`'s, Jester"] == "impossible: who knows all values finds 1.000"
    assert said["recall twice `fill`'s, kinase pKd"].startswith("out of reach: ")
    assert said["recall twice `fill`'s, SAT20, log s"].startswith("missed: ")
    assert said["half of `fill`'s regret, Jester"].startswith("out of reach: ")
    assert said["half of `fill`'s regret, SAT20, log s"].startswith("missed: ")
