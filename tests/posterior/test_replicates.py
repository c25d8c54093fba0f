"""Entries that deviate from the pattern by themselves, told from noise by a known noise or by replicates."""

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal
from tests.posterior.test_gibbs_geweke import FAIL, PASS, PRIORS, Case, largest_change, stacked, statistics
from tests.reference import gibbs_slow as slow
from tests.reference.gibbs_compiled import Compiled
from tests.reference.gibbs_slow import State

from maxentry import Observations, Posterior, Sampling, complete
from maxentry.errors import ParameterError
from maxentry.estimators import fold_in
from maxentry.kernels import gibbs as kernel
from maxentry.kernels import rng as variances
from maxentry.model.likelihood import Likelihood
from maxentry.posterior import gibbs
from maxentry.posterior.gibbs import gather

SHORT = Sampling("long", chains=2, anneal=60, settle=40, draws=40, thin=2)
LEARNED = Likelihood(replicates=True)
INF = np.inf
rng = np.random.default_rng(5)
SHAPE = (20, 15)
PATTERN = rng.normal(size=(20, 1)) @ rng.normal(size=(1, 15)) + rng.normal(size=(20, 1))
ENTRIES = PATTERN + 0.5 * rng.normal(size=SHAPE)  # deviations of sd 0.5
ROWS, COLS = np.nonzero(rng.random(SHAPE) < 0.6)
TWICE = rng.permutation(ROWS.size)[:40]
NOISE = 0.1
VALUES = ENTRIES[ROWS, COLS] + NOISE * rng.normal(size=ROWS.size)
AGAIN = ENTRIES[ROWS[TWICE], COLS[TWICE]] + NOISE * rng.normal(size=TWICE.size)
SINGLE = Observations(SHAPE, ROWS, COLS, VALUES)
REPEATED = Observations(SHAPE, np.r_[ROWS, ROWS[TWICE]], np.r_[COLS, COLS[TWICE]], np.r_[VALUES, AGAIN])


def observed(rows, cols, values, **beside):
    return Observations((3, 3), np.array(rows), np.array(cols), np.array(values, float), **beside)


# What the sampler is told


def test_plain_tables_are_taken_as_they_are():
    told = observed([0, 1, 2], [0, 1, 2], [1, 2, 3])
    assert gather(Likelihood(), told) == (told, None, None, (0.0, 0.0, 0.0))
    assert not Likelihood.of("numbers", "gaussian", None, None, None, told).split
    for noise in ("student", "columns", "rows"):  # replicates are independent there
        twice = observed([0, 0], [0, 0], [1, 2])
        assert not Likelihood.of("numbers", noise, None, None, None, twice).split


def test_copied_lines_tell_nothing_of_the_noise():
    copied = Observations(SHAPE, np.r_[ROWS, ROWS[:2]], np.r_[COLS, COLS[:2]], np.r_[VALUES, VALUES[:2]])
    assert not copied.repeated
    with_copies, without = (complete(told, 1, sampling=SHORT, seed=1) for told in (copied, SINGLE))
    assert with_copies.deviation_sd is None
    assert with_copies.noise_sd == pytest.approx(without.noise_sd, rel=0.1)
    assert REPEATED.repeated  # control: values that differ
    limits = observed([0, 0], [0, 0], [1, 2], low=np.array([-INF, 1.0]), high=np.array([1.0, 2.0]))
    assert not limits.repeated


def test_values_of_an_entry_are_gathered_to_their_mean():
    told = observed([0, 0, 0, 1], [0, 0, 0, 1], [1, 2, 6, 5])
    assert Likelihood.of("numbers", "gaussian", None, None, None, told).replicates
    data, times, var, (nu2, freedom, squares) = gather(LEARNED, told)
    assert (data.values.tolist(), times.tolist(), var.tolist()) == ([3, 5], [3, 1], [0, 0])
    assert (nu2, freedom, squares) == (-1, 2, 4 + 1 + 9)
    data, times, var, noise = gather(Likelihood(noise_sd=0.6), told)
    np.testing.assert_allclose(var, [0.36 / 3, 0.36])
    assert (times.tolist(), noise) == ([0, 0], (0.6**2, 0.0, 0.0))


def test_a_standard_error_is_the_noise_of_its_measurement():
    told = observed([0, 0, 1, 1, 2], [0, 0, 1, 1, 2], [1, 4, 5, 7, 9], se=[1, 2, 1, 0, 3])
    data, _, var, _ = gather(Likelihood(noise_sd=0.5), told)
    np.testing.assert_allclose(var, [1 / (1 + 0.25), 1 / (1 + 4), 9])
    np.testing.assert_allclose(data.values, [(1 + 4 / 4) / 1.25, (5 + 7 * 4) / 5, 9])
    data, times, var, noise = gather(LEARNED, told)  # of the second entry one has none: both count alike
    np.testing.assert_allclose(data.values, [1.6, 6, 9])
    np.testing.assert_allclose(var, [0.8, 0, 9])
    assert (times.tolist(), noise) == ([0, 2, 0], (-1.0, 1.0, 2.0))


def test_limits_are_not_gathered():
    told = observed([0, 0, 0, 1], [0, 0, 0, 1], [1, 2, 3, 5], low=[1, -INF, 3, -INF], high=[1, 2, 3, 5])
    data, times, _, _ = gather(LEARNED, told)
    assert (data.values.tolist(), times.tolist()) == ([2, 2, 5], [2, 1, 1])
    assert (data.low.tolist(), data.high.tolist()) == ([2, -INF, -INF], [2, 2, 5])
    assert not observed([0, 0], [0, 0], [1, 2], low=[1, -INF], high=[1, 2]).repeated


@pytest.mark.parametrize("se", [None, [0.3, 0.4, 0.1, 0.0, 0.0, 0.0]])
def test_the_law_of_gathered_values_is_that_of_the_replicates(se):
    """The slow twin: the measurements of an entry are one Gaussian vector with compound symmetry."""
    rows, cols, y = [0, 0, 1, 1, 1, 2], [0, 0, 1, 1, 1, 0], rng.normal(size=6)
    if se is not None:
        rows, cols = [0, 0, 2, 1, 1, 1], [0, 0, 0, 1, 1, 1]
    told = observed(rows, cols, y, se=None if se is None else np.array(se))
    data = gibbs.prepare(told, True, LEARNED, False, gibbs.Units(0.0, 1.0))
    errors = data.errors.workspace()
    errors.prior[:] = 3.0, 0.7
    x = 0.3  # the pattern, everywhere
    e2 = np.bincount(errors.group, (data.by_col.values - x) ** 2, minlength=errors.n.size)
    errors.squares[:] = e2
    keys, own = told.rows * 3 + told.cols, np.zeros(told.n) if told.se is None else told.se

    def exact(eta2, share):
        cov = (1 - share) * eta2 * (keys[:, None] == keys) + np.diag(np.where(own > 0, own**2, share * eta2))
        return (
            multivariate_normal(np.full(told.n, x), cov).logpdf(told.values) - 4 * np.log(eta2) - 0.7 / eta2
        )

    grid = [(e, s) for e in (0.1, 0.5, 2.0) for s in (0.05, 0.4, 0.9)]
    kernels = [variances.log_error_density(s, variances.SHARE, e, s, errors, 1.0) for e, s in grid]
    by_eta2 = [
        variances.log_error_density(np.log(e), variances.LOG_ETA2, 9.0, s, errors, 1.0) for e, s in grid
    ]
    expected = np.array([exact(e, s) for e, s in grid])
    np.testing.assert_allclose(kernels - expected, kernels[0] - expected[0])
    np.testing.assert_allclose(by_eta2 - expected - np.log([e for e, _ in grid]), kernels[0] - expected[0])


# The sampler


class SplitCompiled(Compiled):
    """The compiled sampler with replicates, told with this likelihood."""

    def __init__(self, likelihood, share, model, start, i, j, generator):
        super().__init__(model, start, i, j, generator)
        self.likelihood, self.places = likelihood, (i, j)
        self.state.scalars[kernel.SHARE] = share

    def sweep(self, y, times):
        told = Observations(self.model.shape, *self.places, y)
        self.data = gibbs.prepare(told, self.model.effects, self.likelihood, False, gibbs.Units(0.0, 1.0))
        values = self.data.by_row.values.copy()
        for _ in range(times):
            state = self(values)
        return state._replace(nu=np.inf, w=np.ones(y.size)), float(state.nu)


KNOWN_NU2 = 0.03
SWEEPS = 5


def joint_test(likelihood, known, n, seed):
    """Largest |z| of changes by a few sweeps given y, from n independent draws of the joint law of state and y.

    Measurements of an entry share its deviation. As in the test of the plain sampler, errors are honest however slowly
    a chain would mix.
    """
    generator = np.random.default_rng(seed)
    case = Case((5, 4), 1, effects=True, replicates=3)
    i, j = case.positions(generator)
    entry = np.unique(i * 4 + j, return_inverse=True)[1]
    model = case.model()

    def first(m):
        s = slow.prior_draws(2 * m, model, i, j, generator)
        keep = np.flatnonzero(s.eta2 > KNOWN_NU2 * known)[:m]
        s = State(*(field[keep] for field in s))
        return s, KNOWN_NU2 / s.eta2 if known else generator.random(m)

    def measure(mean, eta2, share):
        deviation = np.sqrt((1 - share) * eta2) * generator.standard_normal(entry.max() + 1)
        return mean + deviation[entry] + np.sqrt(share * eta2) * generator.standard_normal(i.size)

    def more(s, share, y):
        apart = (y[:, 0] - y[:, 1]) ** 2
        extra = [share, share**2, share * np.log(s.eta2), apart / (1 + apart), share * apart / (1 + apart)]
        return np.column_stack([statistics(s, y[:, 0]), *extra])

    starts, shares = first(n)
    compiled, ends, after, told = None, [], [], []
    for k in range(n):
        state, share = State(*(field[k] for field in starts)), shares[k]
        y = measure(slow.mean_of(state, i, j), state.eta2, share)
        compiled = compiled or SplitCompiled(likelihood, share, model, state, i, j, generator)
        compiled.state = compiled.factored(state)
        compiled.state.scalars[kernel.SHARE] = share
        state, drawn = compiled.sweep(y, SWEEPS)
        ends.append(state)
        after.append(drawn if likelihood.split else share)
        told.append(y[:2])
    y = np.array(told)
    return largest_change(more(starts, shares, y), more(stacked(ends), np.array(after), y))


CASES = {"replicates": (LEARNED, False), "noise_sd": (Likelihood(noise_sd=KNOWN_NU2**0.5), True)}


@pytest.mark.parametrize("name", CASES)
def test_the_compiled_sweep_passes_the_joint_test(name):
    assert joint_test(*CASES[name], 3_000, seed=1) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_compiled_sweep_passes_a_long_joint_test(name):
    assert joint_test(*CASES[name], 40_000, seed=2) < PASS


def test_negative_control_independent_replicates_fail_the_joint_test():
    assert joint_test(Likelihood(), True, 2_000, seed=3) > FAIL


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_entries_and_scales_are_calibrated(known):
    """Simulation-based calibration: the truth lies anywhere among the draws."""
    generator, ranks = np.random.default_rng(11), []
    long = Sampling("long", chains=4, anneal=100, settle=0, draws=8, thin=40)
    case = Case((8, 7), 1, effects=True, replicates=6)
    for seed in range(120):
        i, j = case.positions(generator)
        s = State(*(field[0] for field in slow.prior_draws(1, case.model(), i, j, generator)))
        share = min(KNOWN_NU2 / s.eta2, 0.999) if known else generator.random()
        if known and s.eta2 <= KNOWN_NU2:
            continue
        x = s.mu + (s.r + s.p)[:, None] + s.c + s.q + s.X
        t = x + np.sqrt((1 - share) * s.eta2) * generator.standard_normal(x.shape)
        y = t[i, j] + np.sqrt(share * s.eta2) * generator.standard_normal(i.size)
        options = {"noise_sd": KNOWN_NU2**0.5} if known else {}
        p = complete(
            Observations(x.shape, i, j, y),
            1,
            priors=PRIORS,
            sampling=long,
            seed=seed,
            progress=False,
            **options,
        )
        entries = p.sample(32, seed=seed)
        truth = [s.eta2, (1 - share) * s.eta2, t[i[0], j[0]], t[i[-1], j[-1]], *t[:2, :3].ravel()]
        columns = [
            p.draws.eta2.ravel(),
            p.draws.omega2.ravel(),
            entries[:, i[0], j[0]],
            entries[:, i[-1], j[-1]],
        ]
        draws = np.column_stack([*columns, entries[:, :2, :3].reshape(32, -1)])
        ranks.append(((draws < truth).sum(0) + generator.random(len(truth))) / (len(draws) + 1))
    assert min(kstest(u, "uniform").pvalue for u in np.array(ranks).T) > 1e-4


# What users see


@pytest.fixture(scope="module")
def posteriors():
    return {
        "noise_sd": complete(SINGLE, 1, noise_sd=NOISE, sampling=SHORT, seed=1),
        "replicates": complete(REPEATED, 1, sampling=SHORT, seed=1),
        "neither": complete(SINGLE, 1, sampling=SHORT, seed=1),
    }


@pytest.mark.parametrize("name", ["noise_sd", "replicates"])
def test_a_measured_entry_is_close_to_its_measurement(posteriors, name):
    p, plain = posteriors[name], posteriors["neither"]
    gap = np.abs(p.mean[ROWS, COLS] - VALUES).mean()
    assert gap < 0.25 * np.abs(plain.mean[ROWS, COLS] - VALUES).mean()
    assert 0.4 < p.deviation_sd < 0.6
    assert 0.05 < p.noise_sd < 0.15
    assert plain.deviation_sd is None
    assert plain.noise_sd > 0.4  # the misfit is in it


@pytest.mark.parametrize("name", ["noise_sd", "replicates"])
def test_intervals_cover_entries(posteriors, name):
    low, high = posteriors[name].interval(0.9)
    inside = (low <= ENTRIES) & (high >= ENTRIES)
    free = np.ones(SHAPE, dtype=bool)
    free[ROWS, COLS] = False
    assert 0.8 < inside[free].mean() < 0.98
    assert 0.8 < inside[~free].mean() < 0.98
    low, high = posteriors["neither"].interval(0.9)
    assert ((low <= ENTRIES) & (high >= ENTRIES))[free].mean() < 0.75


def test_answers_agree(posteriors):
    p = posteriors["replicates"]
    one = p.predict(ROWS[:3].tolist(), COLS[:3].tolist())
    low, high = p.interval(0.9)
    at = ROWS[:3], COLS[:3]
    for mine, theirs in ((one.mean, p.mean), (one.sd, p.sd), (one.low, low), (one.high, high)):
        np.testing.assert_allclose(mine, theirs[at])
    assert (one.new_high - one.new_low > one.high - one.low).all()
    draws = p.entries_at(*at)
    np.testing.assert_allclose(draws.std(0, ddof=1), one.sd, rtol=0.2)
    np.testing.assert_allclose(p.sample(80, seed=1).mean(0), p.mean, atol=0.5)
    x, k = p.belief.at(*at), p.deviation
    expected = x + (k.omega2 / (k.omega2 + k.nu2))[:, None] * (VALUES[:3] - x)
    once = ~np.isin(np.arange(3), TWICE)
    np.testing.assert_allclose(one.mean[once], expected.mean(0)[once])


def test_maps_of_what_an_instrument_shows_are_those_of_predictions(posteriors):
    p, rows, cols = posteriors["replicates"], ROWS[:3], COLS[:3]
    mean, sd = p.arrays.measured()
    shown = p.predict(rows.tolist(), cols.tolist(), measured=True)
    np.testing.assert_allclose(mean[rows, cols], shown.mean)
    np.testing.assert_allclose(sd[rows, cols], shown.sd)


def test_the_printed_posterior_says_it(posteriors):
    assert "0.1 (as given); entries deviate from the pattern by 0." in repr(posteriors["noise_sd"])
    assert "(by replicates); entries deviate from the pattern by 0." in repr(posteriors["replicates"])
    assert "deviate" not in repr(posteriors["neither"])


@pytest.mark.parametrize("name", ["noise_sd", "replicates"])
def test_it_is_saved_continued_and_restarted(posteriors, name, tmp_path):
    p = posteriors[name]
    p.save(tmp_path / "p.npz")
    again = Posterior.load(tmp_path / "p.npz")
    np.testing.assert_array_equal(again.mean, p.mean)
    np.testing.assert_array_equal(again.more(2).mean, p.more(2).mean)
    options = {"noise_sd": NOISE} if name == "noise_sd" else {}
    warm = complete(p.observations, start=p, seed=2, sampling=SHORT, **options)
    np.testing.assert_allclose(warm.deviation_sd, p.deviation_sd, rtol=0.3)


def test_a_chain_learns_of_replicates_on_the_way(posteriors):
    warm = complete(REPEATED, start=posteriors["neither"], seed=2, sampling=SHORT)
    assert 0.4 < warm.deviation_sd < 0.6
    back = complete(SINGLE, start=warm, seed=2, sampling=SHORT)
    assert back.deviation_sd is None


def test_watched_entries_are_entries(posteriors):
    watch = (ROWS[:4].tolist(), COLS[:4].tolist())
    p = complete(REPEATED, 1, sampling=SHORT, seed=1, watch=watch)
    one = p.predict(*watch)
    np.testing.assert_allclose(p.watched.mean, one.mean, atol=0.05)
    np.testing.assert_allclose(p.watched.sd, one.sd, rtol=0.3)


def test_new_rows_are_close_to_what_was_measured_of_them(posteriors):
    p = posteriors["noise_sd"]
    row = np.full((1, SHAPE[1]), np.nan)
    row[0, :5] = 3.0, -2.0, 1.0, 0.5, -1.0
    new, plain = fold_in(p, row), fold_in(posteriors["neither"], row)
    assert np.abs(new.mean - row)[0, :5].max() < 0.3 < np.abs(plain.mean - row)[0, :5].max()
    assert (new.sd[0, 5:] > 0.4).all()
    assert (new.sd[0, :5] < 0.2).all()


def test_transforms_and_scales():
    positive = Observations(SHAPE, REPEATED.rows, REPEATED.cols, np.exp(REPEATED.values))
    p = complete(positive, 1, transform="log", sampling=SHORT, seed=1)
    assert 0.4 < p.deviation_sd < 0.6
    once = ~np.isin(np.arange(ROWS.size), TWICE)
    ratio = p.mean[ROWS, COLS][once] / np.exp(VALUES[once])
    assert 0.9 < np.median(ratio) < 1.1
    big = complete(
        Observations(SHAPE, REPEATED.rows, REPEATED.cols, 1e3 * REPEATED.values), 1, sampling=SHORT, seed=1
    )
    np.testing.assert_allclose(big.mean / 1e3, complete(REPEATED, 1, sampling=SHORT, seed=1).mean, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_sd": 0}, "noise_sd must be a finite number above 0, or None, got 0"),
        ({"noise_sd": "x"}, "noise_sd must be a finite number above 0, or None, got 'x'"),
        ({"noise_sd": 1.0, "noise": "student"}, "noise='gaussian', got noise='student'; leave it out"),
        ({"noise_sd": 1.0, "kind": "yes/no"}, "kind='numbers' with noise='gaussian', got kind='yes/no'"),
        (
            {"noise_sd": 1.0, "scale": "columns"},
            "scale must be 'none' or 'auto', got 'columns'; give standard",
        ),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ParameterError) as refusal:
        complete(SINGLE, 1, **options)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_another_known_noise_needs_a_new_start(posteriors):
    with pytest.raises(
        ParameterError,
        match=r"'numbers with a noise of 0\.1', got 'numbers with a noise of 0\.2'",
    ):
        complete(SINGLE, start=posteriors["noise_sd"], noise_sd=0.2)
