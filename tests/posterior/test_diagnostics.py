"""What is watched is right and independent of the gauge; each kind of run is judged by its rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxentry.observations import Observations
from maxentry.posterior.diagnostics import (
    Statistics,
    advice_at,
    diagnose,
    find_movement,
    judge_long,
    split_rhat,
)
from maxentry.posterior.draws import (
    MAX_ENTRIES,
    Draws,
    choose_entries,
    coherences,
    entry_draws,
    gram_matrices,
    monitor,
    singular_values,
)

SHAPE = (20, 15)
N = 120


def independent(rng, chains=48, n=8, shape=SHAPE, rank=2):
    """Draws that are independent across and within chains."""
    m1, m2 = shape
    left, right = rng.normal(size=(chains, n, m1, rank)), rng.normal(size=(chains, n, m2, rank))
    row, col, mu = (
        rng.normal(size=(chains, n, m1)),
        rng.normal(size=(chains, n, m2)),
        rng.normal(size=(chains, n)),
    )
    return Draws(left, right, row, col, mu, rng.gamma(3, size=(chains, n)), rng.gamma(3, size=(chains, n)))


def observed(rng, shape=SHAPE, n=N):
    return np.divmod(rng.choice(shape[0] * shape[1], n, replace=False), shape[1])


def judged(draws, kind, n=N, seed=0, **labels):
    rows, cols = observed(np.random.default_rng(5), draws.shape, n)
    return diagnose(draws, Observations(draws.shape, rows, cols, np.ones(n), **labels), kind, seed)


def in_modes(draws, rng, size):
    """Every chain around a centre of its own."""
    shift = [size * rng.normal(size=(a.shape[0], 1, *a.shape[2:])) for a in (draws.row, draws.col)]
    return draws._replace(row=draws.row + shift[0], col=draws.col + shift[1])


# What is watched


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**32))
def test_entries_are_distinct_and_half_of_them_unobserved(m1, m2, share, seed):
    rng = np.random.default_rng(seed)
    known = np.sort(rng.choice(m1 * m2, round(share * m1 * m2), replace=False))
    (i, j), (k, h) = choose_entries((m1, m2), known, rng)
    seen, unseen = i * m2 + j, k * m2 + h
    assert np.isin(seen, known).all()
    assert not np.isin(unseen, known).any()
    assert ((unseen >= 0) & (unseen < m1 * m2)).all()
    assert len({*seen, *unseen}) == seen.size + unseen.size == min(MAX_ENTRIES, m1 * m2)
    free = m1 * m2 - known.size
    assert min(seen.size, unseen.size) >= min(MAX_ENTRIES // 2, known.size, free)


def test_unobserved_entries_are_chosen_evenly():
    known = np.arange(0, 900, 3)
    chosen = np.concatenate(
        [choose_entries((30, 30), known, np.random.default_rng(s))[1][1] % 15 for s in range(200)]
    )
    counts = np.bincount(chosen, minlength=15)
    share = np.bincount(np.setdiff1d(np.arange(900), known) % 15, minlength=15) / 600
    assert chosen.size == 20_000
    assert (np.abs(counts - chosen.size * share) <= 4 * np.sqrt(chosen.size * share)).all()


def test_a_large_matrix_is_no_trouble():
    rng = np.random.default_rng(0)
    known = np.unique(rng.integers(0, 10**10, 10_000))
    (i, _), (k, h) = choose_entries((10**5, 10**5), known, rng)
    assert i.size == k.size == 100
    assert not np.isin(k * 10**5 + h, known).any()


def dense(draws):
    low_rank = draws.left @ draws.right.swapaxes(-1, -2)
    return low_rank, low_rank + draws.mu[..., None, None] + draws.row[..., :, None] + draws.col[..., None, :]


def test_factor_form_gives_what_dense_algebra_gives():
    draws = independent(np.random.default_rng(0), chains=3, n=5, rank=3)
    low_rank, x = dense(draws)
    i, j = np.array([0, 7, 19]), np.array([14, 3, 3])
    assert np.allclose(entry_draws(draws, i, j), x[:, :, i, j], rtol=1e-12)
    values = singular_values(gram_matrices(draws.left), gram_matrices(draws.right))
    assert np.allclose(values, np.linalg.svd(low_rank, compute_uv=False)[..., :3], rtol=1e-10)
    frame = np.linalg.svd(low_rank)[0][..., :3]
    expected = np.square(frame[:, :, i]).sum(axis=-1)
    assert np.allclose(coherences(draws.left[:, :, i], gram_matrices(draws.left)), expected, rtol=1e-9)


def test_nothing_watched_depends_on_the_gauge():
    rng = np.random.default_rng(0)
    draws = independent(rng)
    draws = draws._replace(left=draws.left + 3)
    turn = rng.normal(size=(48, 1, 2, 2)) + 3 * np.eye(2)
    back = np.linalg.inv(turn).swapaxes(-1, -2)
    turned = draws._replace(left=draws.left @ turn, right=draws.right @ back)
    known = Observations((20, 15), *np.divmod(np.arange(50), 15), np.ones(50))
    here, there = (monitor(d, known, 1) for d in (draws, turned))
    assert here.names == there.names
    assert np.allclose(here.draws, there.draws, rtol=1e-9)
    assert judged(turned, "population").converged
    assert split_rhat(turned.left).max() > 1.5  # which is why U and V themselves are not watched


def test_float32_and_labels():
    rng = np.random.default_rng(0)
    draws = Draws(*(a if a is None else a.astype(np.float32) for a in independent(rng)))
    record = judged(
        draws, "population", row_labels=[f"<r{i}>" for i in range(20)], col_labels=list("abcdefghijklmno")
    )
    assert record.converged
    assert record.names[0].startswith("X[<r")
    assert {name[:3] for name in record.names if name.startswith("P_")} == {"P_U", "P_V"}
    long = judged(in_modes(draws, rng, 3), "long", row_labels=[f"<r{i}>" for i in range(20)])
    assert "<r" in long.advice
    assert "<r" not in long._repr_html_()


def test_the_seed_fixes_what_is_watched():
    draws = independent(np.random.default_rng(0), shape=(40, 40))
    assert judged(draws, "population").names == judged(draws, "population").names
    assert judged(draws, "population").names != judged(draws, "population", seed=1).names


# A population


def test_independent_draws_have_converged_though_no_short_population_has_rhat_below_101():
    record = judged(independent(np.random.default_rng(0)), "population")
    assert record.converged
    assert record.advice == "Nothing to do."
    assert 1.01 < record.worst_rhat < 1.1
    assert record.ess_bulk[record.in_group("X")].min() > 100


@pytest.mark.slow
def test_no_more_false_alarms_than_promised():
    """Movement may be seen in 1% of good runs; 4 of 60 would be beyond chance (p < 0.003)."""
    alarms = sum(not judged(independent(np.random.default_rng(s)), "population").converged for s in range(60))
    assert alarms < 4


def test_modes_that_pooling_accounts_for_are_no_reason_to_worry():
    """Intervals of pooled chains include their disagreement; the Monte Carlo error is that of so many chains."""
    rng = np.random.default_rng(0)
    record = judged(in_modes(independent(rng), rng, 3.0), "population", n=60)
    assert record.converged
    assert record.worst_rhat > 2
    assert "watched entries the chains disagree" in record.advice
    assert "their intervals include it" in record.advice
    assert record.mean_error == pytest.approx(1 / np.sqrt(48), rel=0.2)


def test_an_uncertain_noise_is_a_note():
    rng = np.random.default_rng(0)
    draws = independent(rng)
    record = judged(draws._replace(eta2=draws.eta2 * np.exp(2 * rng.normal(size=(48, 1)))), "population")
    assert record.converged
    assert "estimate of the noise is uncertain" in record.advice


def test_the_monte_carlo_error_is_that_of_the_mean():
    """Over many sets of independent draws the means scatter as `mean_error` says, the 5% quantiles as `end_error`."""
    sets = [independent(np.random.default_rng(s), chains=16, n=12) for s in range(40)]
    records = [judged(draws, "population") for draws in sets]
    entries = [
        (d.mu + d.row[..., 0] + d.col[..., 0] + (d.left[..., 0, :] * d.right[..., 0, :]).sum(-1))
        for d in sets
    ]
    sd = np.std(entries)
    seen = np.std([x.mean() for x in entries]) / sd, np.std([np.quantile(x, 0.05) for x in entries]) / sd
    said = np.median([r.mean_error for r in records]), np.median([r.end_error for r in records])
    assert seen == pytest.approx(said, rel=0.35)


@pytest.mark.parametrize(
    ("part", "factor", "word"),
    [("eta2", np.exp(-np.arange(8) / 10), "the noise"), ("row", 1 - np.arange(8) / 12, "their width")],
)
def test_chains_that_were_kept_too_early_are_found(part, factor, word):
    draws = independent(np.random.default_rng(0))
    values = getattr(draws, part)
    falling = draws._replace(**{part: 5 * values * factor.reshape(1, 8, *[1] * (values.ndim - 2))})
    record = judged(falling, "population")
    assert not record.converged
    assert "still moving" in record.advice
    assert word in record.advice
    assert 'effort="thorough"' in record.advice
    assert "--effort thorough" in advice_at(record.advice, "shell")
    assert "effort=" not in advice_at(record.advice, "page")


@pytest.mark.parametrize(
    ("change", "spread", "found"), [(0.03, 0.01, True), (0.005, 0.001, False), (0.03, 0.3, False)]
)
def test_a_small_movement_is_found_where_it_is_beyond_doubt(change, spread, found):
    """Seen over a few sweeps, it is the end of a larger one; a tiny one, or one that may be chance, is none."""
    rng = np.random.default_rng(0)
    x, log_eta = rng.normal(size=(32, 12, 50)), spread * rng.normal(size=(32, 12))
    log_eta[:, 6:] -= change
    words = find_movement(x, np.exp(2 * log_eta))
    assert words == ("the noise by -3%" if found else "")


def test_means_that_move_together_are_found():
    draws = independent(np.random.default_rng(0))
    record = judged(draws._replace(mu=draws.mu + np.arange(8) / 2), "population")
    assert "their middle" in record.advice


def test_too_few_chains_are_told_how_many_to_run():
    record = judged(independent(np.random.default_rng(0), chains=4), "population")
    assert not record.converged
    assert "chains or more" in record.advice


def test_a_large_monte_carlo_error_is_told():
    rng = np.random.default_rng(0)
    record = judged(in_modes(independent(rng, chains=10), rng, 3.0), "population")
    assert not record.converged
    assert "Monte Carlo error is large" in record.advice


def test_errors_are_those_of_all_pooled_chains():
    rng = np.random.default_rng(0)
    draws = independent(rng)
    rows, cols = observed(np.random.default_rng(5))
    known = Observations(SHAPE, rows, cols, np.ones(N))
    few = draws.select_chains(np.arange(4), 2)
    assert not diagnose(few, known, "population").converged
    record = diagnose(few, known, "population", pooled=draws)
    assert record.converged
    assert record.n_chains == 4


# Long chains


def test_long_chains_that_mix_have_converged():
    record = judged(independent(np.random.default_rng(0), chains=4, n=500), "long")
    assert record.converged
    assert record.worst_rhat < 1.01


def test_long_chains_that_are_too_short_are_told_how_much_longer_and_that_suffices():
    """Most of the time: the length is an estimate."""
    good = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        record = judged(independent(rng, chains=4, n=60), "long")
        assert not record.converged
        factor = int(record.advice.split("Run about ")[1].split()[0])
        assert f"{60 * factor} draws a chain" in record.advice
        good += judged(independent(rng, chains=4, n=60 * factor), "long").converged
    assert good >= 8


@pytest.mark.parametrize(("rhat", "ess", "times"), [(1.0, 80.0, 8), (1.02, 4000.0, 4), (1.02, 80.0, 8)])
def test_how_much_longer_is_what_rhat_or_the_effective_size_lacks(rhat, ess, times):
    """400 are wanted of four chains, and R-hat^2 - 1 of 0.0201; half as much again is advised."""
    one = {"n_chains": 4, "n_draws": 60, "names": ("eta2",), "groups": ("eta2",), "finite": np.array([True])}
    lacking = Statistics(
        **one, rhat=np.array([rhat]), ess_bulk=np.array([ess]), ess_tail=np.array([5000.0]),
        shape=SHAPE, rank=1, n_observed=N,
    )  # fmt: skip
    assert judge_long(lacking).advice.startswith(
        f"Run about {times} times longer, {60 * times} draws a chain"
    )


def test_long_chains_in_several_modes_are_sent_to_the_population():
    rng = np.random.default_rng(0)
    record = judged(in_modes(independent(rng, chains=4, n=500), rng, 3.0), "long", n=60)
    assert not record.converged
    assert "population" in record.advice
    assert "explanations" in record.advice


# Edges


@pytest.mark.parametrize("kind", ["long", "population"])
def test_runs_that_cannot_be_judged_have_not_converged(kind):
    rng = np.random.default_rng(0)
    assert "One chain" in judged(independent(rng, chains=1, n=500), kind).advice
    short = judged(independent(rng, n=3), kind)
    assert not short.converged
    assert "Too few draws" in short.advice
    broken = independent(rng)
    broken.eta2[3, 2] = np.nan
    record = judged(broken, kind)
    assert not record.converged
    assert "eta2 are not finite" in record.advice
    assert "nan" in short.summary()


@pytest.mark.parametrize(("kind", "chains", "n"), [("long", 4, 500), ("population", 48, 8)])
def test_rank_zero_and_a_fixed_noise(kind, chains, n):
    draws = independent(np.random.default_rng(0), chains, n, rank=0)
    record = judged(draws._replace(sigma2=None, eta2=np.full((chains, n), 0.1)), kind)
    assert record.converged
    assert set(record.groups) == {"X observed", "X unobserved", "eta2"}
    assert np.isnan(record.rhat[record.in_group("eta2")]).all()


def test_a_fully_observed_matrix():
    record = judged(independent(np.random.default_rng(0)), "population", n=300)
    assert record.converged
    assert "X unobserved" not in record.groups


def test_the_record_can_be_read():
    record = judged(independent(np.random.default_rng(0)), "population")
    assert str(record).startswith("population run, 48 chains x 8 draws: converged; R-hat of X 1.01 (median)")
    for text in (record.summary(), record._repr_html_()):
        assert all(group in text for group in ("X observed", "singular values", "projections", "worst R-hat"))
    assert len(repr(record)) < 150
