"""A warm start goes on from an earlier posterior: fewer sweeps, the same law, by label."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.posterior.examples import MANY, SHORT, equal, largest_z, low_rank, matrices

from maxentry import Observations, Priors, Sampling, complete
from maxentry.errors import ParameterError
from maxentry.model.match import MeasurementMatch, change_fraction
from maxentry.posterior.schedule import ROUNDS

X, Y = low_rank((14, 10), rank=1, noise=0.2, missing=0.2, seed=3)
ROWS = [f"r{i}" for i in range(14)]
COLS = [f"c{j}" for j in range(10)]
FRAME = pd.DataFrame(Y, ROWS, COLS)


@pytest.fixture(scope="module")
def start():
    return complete(FRAME.iloc[:12, :9], 1, sampling=MANY, seed=1)


@pytest.fixture(scope="module")
def cold():
    return complete(FRAME, 1, sampling=MANY, seed=2)


def chain_means(posterior):
    return matrices(posterior).mean(1)


def test_a_warm_start_agrees_with_a_cold_fit(start, cold):
    """Two rows, a column and values came in; every mean agrees within Monte Carlo error, the old ones do not."""
    plan = Sampling(chains=32, settle=40, draws=10, thin=4)
    warm = complete(FRAME, start=start, sampling=plan, seed=3)
    z, bound = largest_z(chain_means(warm), other=chain_means(cold))
    assert z < bound
    # The negative control: before the new values were heard.
    old = chain_means(start)
    z, bound = largest_z(old, other=chain_means(cold)[:, :12, :9])
    assert z > bound
    assert warm.shape == (14, 10)
    assert abs(np.log(warm.arrays.sd / cold.arrays.sd)).max() < 0.5


def test_noise_and_spread_agree_too(start, cold):
    plan = Sampling(chains=32, settle=40, draws=10, thin=4)
    warm = complete(FRAME, start=start, sampling=plan, seed=3)
    z, bound = largest_z(
        np.log(warm.draws.eta2).mean(1)[:, None], other=np.log(cold.draws.eta2).mean(1)[:, None]
    )
    assert z < bound


# Few new measurements where sweeps cost much: a few sweeps, checked by R-hat against a fit from nothing

SMALL = low_rank((40, 30), rank=2, noise=0.2, missing=0.5, seed=5)[1]
N_NEW = 12


def some_missing(Y, n, seed):
    """Y with n of its values taken out, at random."""
    known = np.argwhere(~np.isnan(Y))
    fewer = Y.copy()
    fewer[tuple(known[np.random.default_rng(seed).choice(len(known), n, replace=False)].T)] = np.nan
    return fewer


def rhat_of_two(one, two):
    """The greatest R-hat over entries of two fits, (chain, draw, entry), each all its draws in one row."""
    pooled = [x.reshape(-1, x.shape[-1]) for x in (one, two)]
    within, between = (x.var(0, ddof=1) for x in pooled), np.var([x.mean(0) for x in pooled], 0, ddof=1)
    return float(np.sqrt(1 + between / (sum(within) / 2)).max())


def rhat_and_bound(one, two, seed=0):
    """It, and the greatest of 999 ways to deal the chains out at random: above it by chance once in 1000 times."""
    chains, rng = np.concatenate([one, two]), np.random.default_rng(seed)
    dealt = (rng.permutation(len(chains)) for _ in range(999))
    return rhat_of_two(one, two), max(
        rhat_of_two(chains[d[: len(one)]], chains[d[len(one) :]]) for d in dealt
    )


def entries_of(posterior):
    """Draws of every third entry, (chain, draw, entry)."""
    x = matrices(posterior)
    return x.reshape(*x.shape[:2], -1)[..., ::3]


@pytest.mark.slow
def test_few_new_measurements_need_few_sweeps_by_rhat(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.complete.COSTLY", 0.0)
    annealed = Sampling(chains=32, anneal=100, settle=100, draws=12, thin=1)
    cold = complete(SMALL, 2, sampling=annealed, seed=2)
    before = complete(some_missing(SMALL, N_NEW, 0), 2, sampling=annealed, seed=1)
    warm = complete(SMALL, start=before, seed=3)
    assert (warm.sampling.settle, warm.sampling.draws, warm.sampling.thin) == (6, 12, 1)
    rhat, bound = rhat_and_bound(entries_of(warm), entries_of(cold))
    assert rhat < bound
    # The negative control: much is new, and not one sweep has heard of it.
    stale = complete(some_missing(SMALL, 200, 0), 2, sampling=annealed, seed=1)
    rhat, bound = rhat_and_bound(entries_of(stale), entries_of(cold))
    assert rhat > bound


def test_few_sweeps_are_enough_for_student_noise_too(monkeypatch):
    """Whose weights go on with the chains: were they one again, outliers would be heard in full for a while."""
    monkeypatch.setattr("maxentry.posterior.complete.COSTLY", 0.0)
    monkeypatch.setitem(ROUNDS, "normal", 0)  # chains that start wrong would go on until they are right
    rng = np.random.default_rng(0)
    far = SMALL + np.where(rng.random(SMALL.shape) < 0.08, 4 * rng.standard_normal(SMALL.shape), 0.0)
    annealed = Sampling(chains=32, anneal=100, settle=100, draws=12, thin=1)
    cold = complete(far, 2, noise="student", sampling=annealed, seed=2)
    before = complete(some_missing(far, N_NEW, 0), 2, noise="student", sampling=annealed, seed=1)

    def against_cold():
        warm = complete(far, noise="student", start=before, seed=3)
        assert warm.sampling.settle == 6
        scales = [np.log(fit.draws.eta2)[:, :1].mean(1)[:, None] for fit in (warm, cold)]
        return largest_z(scales[0], other=scales[1])

    z, bound = against_cold()
    assert z < bound
    monkeypatch.setattr(MeasurementMatch, "move", lambda self, _: np.ones(self.n))
    z, bound = against_cold()
    assert z > bound


def test_where_much_is_new_or_sweeps_are_cheap_chains_settle_for_longer(monkeypatch):
    before = complete(some_missing(SMALL, N_NEW, 0), 2, sampling=SHORT, seed=1)
    assert complete(SMALL, start=before, seed=3).sampling.settle > 6
    monkeypatch.setattr("maxentry.posterior.complete.COSTLY", 0.0)
    assert complete(SMALL, start=before, seed=3).sampling.settle == 6
    stale = complete(some_missing(SMALL, 200, 0), 2, sampling=SHORT, seed=1)
    assert complete(SMALL, start=stale, seed=3).sampling.settle > 6


def test_the_share_of_new_measurements_counts_added_corrected_and_struck_out():
    old = Observations((3, 2), [0, 0, 1, 2], [0, 0, 1, 0], [1.0, 1.0, 2.0, 3.0])
    rows, cols = np.array([1, 0, 2]), np.array([0, 1])  # the first two rows have changed places
    same = Observations((3, 2), [1, 1, 0, 2], [0, 0, 1, 0], [1.0, 1.0, 2.0, 3.0])
    assert change_fraction(old, same, rows, cols) == 0
    added = Observations((3, 2), [1, 1, 1, 0, 2], [0, 0, 0, 1, 0], [1.0, 1.0, 1.0, 2.0, 3.0])
    assert change_fraction(old, added, rows, cols) == 1 / 5
    corrected = Observations((3, 2), [1, 1, 0, 2], [0, 0, 1, 0], [1.0, 1.0, 2.5, 3.0])
    assert change_fraction(old, corrected, rows, cols) == 2 / 4
    fewer = Observations((3, 2), [1, 0, 2], [0, 1, 0], [1.0, 2.0, 3.0])
    assert change_fraction(old, fewer, rows, cols) == 1 / 3
    assert change_fraction(old, old, rows, cols) > 0  # the control: rows where they were


def test_weights_go_to_where_their_measurements_are():
    old = Observations((3, 2), [0, 0, 1, 2], [0, 0, 1, 0], [1.0, 1.5, 2.0, 3.0])
    rows, cols = np.array([1, 0, 2]), np.array([0, 1])  # the first two rows have changed places
    new = Observations((3, 2), [0, 0, 1, 1, 1], [0, 1, 0, 0, 0], [9.0, 2.0, 1.0, 1.5, 8.0])
    moved = MeasurementMatch.find(old, new, rows, cols).move(np.array([0.1, 0.2, 0.3, 0.4]))
    assert moved.tolist() == [1.0, 0.3, 0.1, 0.2, 1.0]


def test_rows_and_columns_are_found_by_label_in_any_order(start):
    """One sweep cannot find its way: the old rows must stand where their labels are."""
    one = Sampling(chains=32, settle=0, draws=1, thin=1)
    shuffled = FRAME.iloc[::-1, ::-1]
    warm = complete(shuffled, start=start, sampling=one, seed=5)
    old_rows, old_cols = start.observations.row_labels, start.observations.col_labels
    at = np.ix_(warm.observations.row_index(list(old_rows)), warm.observations.col_index(list(old_cols)))
    error = np.sqrt(np.mean((warm.arrays.mean[at] - start.arrays.mean) ** 2))
    misplaced = np.sqrt(np.mean((warm.arrays.mean[:12, :9] - start.arrays.mean) ** 2))
    assert error < 0.2 < misplaced


def test_new_rows_without_values_have_wide_intervals(start):
    old = Observations.of(FRAME.iloc[:12, :9])
    labels = {"row_labels": (*old.row_labels, "new"), "col_labels": (*old.col_labels, "extra")}
    grown = replace(old, shape=(13, 10), **labels)
    warm = complete(grown, start=start, sampling=MANY, seed=4)
    assert warm.shape == (13, 10)
    assert np.isfinite(warm.arrays.mean).all()
    assert warm.predict("new", "c0").sd > 2 * np.median(warm.predict(ROWS[:12], "c0").sd)


def test_by_default_it_takes_fewer_sweeps(start):
    warm = complete(FRAME, start=start, seed=3)
    first = complete(FRAME, 1, seed=3)
    assert warm.sampling.anneal == 0
    assert warm.sampling.sweeps < 0.75 * first.sampling.sweeps
    assert warm.sampling.chains == len(warm.chains) == len(start.chains)
    assert warm.rank == start.rank


def test_a_given_length_is_kept_but_nothing_is_annealed_again(start):
    warm = complete(FRAME, start=start, sampling=SHORT, seed=3)
    assert (warm.sampling.settle, warm.sampling.draws, warm.sampling.thin) == (20, 6, 2)
    assert warm.sampling.anneal == 0
    assert warm.sampling.chains == len(start.chains)
    assert warm.draws.mu.shape == (len(warm.chains), 6)
    assert len(warm.chains) > 0.9 * MANY.chains  # a few may be stuck, and are left out


def test_it_is_seeded_and_leaves_the_start_alone(start):
    before = start.draws.left.copy(), start.chains[0].state.left.copy()
    one, two = (complete(FRAME, start=start, sampling=SHORT, seed=3, threads=t) for t in (1, 2))
    assert equal(one, two)
    assert not equal(one, complete(FRAME, start=start, sampling=SHORT, seed=4))
    np.testing.assert_array_equal(start.draws.left, before[0])
    np.testing.assert_array_equal(start.chains[0].state.left, before[1])


def test_it_keeps_units_and_priors_of_the_start(start):
    warm = complete(FRAME, start=start, sampling=SHORT, seed=3)
    assert warm.fit == start.fit
    paper = complete(Y, 1, effects=False, priors=Priors.paper(), sampling=SHORT, seed=1)
    assert complete(Y, start=paper, effects=False, sampling=SHORT, seed=1).fit == paper.fit


def test_student_noise_goes_on_too():
    first = complete(Y[:12], 1, noise="student", sampling=SHORT, seed=1)
    warm = complete(Y, noise="student", start=first, sampling=SHORT, seed=1)
    assert np.isfinite(warm.arrays.mean).all()
    assert warm.noise_df is not None


def test_stacked_ranks_are_kept(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    first = complete(Y, sampling=SHORT, seed=1)
    warm = complete(Y, start=first, sampling=SHORT, seed=2)
    assert warm.rank_weights == first.rank_weights
    assert warm.rank_choice is first.rank_choice


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (FRAME.iloc[:11, :9], {}, "as large"),
        (FRAME.iloc[:, 1:], {}, "c0"),
        (FRAME.rename(index={"r3": "R3"}), {}, "'r3'"),
        (FRAME, {"noise": "student"}, "noise='student'"),
        (FRAME, {"effects": False}, "effects=False"),
        (FRAME, {"rank": 2}, "rank must be 'auto' or 1"),
        (FRAME, {"priors": Priors.paper()}, "other priors"),
    ],
)
def test_what_does_not_fit_the_start_is_refused(start, data, options, message):
    with pytest.raises(ParameterError, match=message):
        complete(data, start=start, sampling=SHORT, **options)


def test_a_start_that_is_no_posterior_is_refused():
    with pytest.raises(ParameterError, match="start must be a Posterior"):
        complete(Y, 1, start=Y)
