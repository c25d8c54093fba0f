"""The rank is chosen by what it predicts: stacking is an optimum, additive data get 0, low rank is found."""

import itertools
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.posterior.examples import SHORT, equal, largest_z, low_rank, matrices

from maxentry import Observations, Sampling, complete
from maxentry.errors import RankError
from maxentry.posterior import rank as module
from maxentry.posterior.rank import CAUTION, Climb, RankChoice, choose_rank, stacking_weights

# Stacking


def centre(K):
    """Equal weights of all ranks of 0, 1, …, K - 1 but the first."""
    return np.eye(1)[0] if K == 1 else np.append(0.0, np.full(K - 1, 1 / (K - 1)))


def weigh(predictions, truth):
    """The weights of ranks 0, 1, 2, …"""
    return stacking_weights(predictions, truth, range(len(predictions)))


def slow_weights(predictions, truth):
    """The slow twin: for every set of ranks that may have weight the optimum by Lagrange, and the best of these.

    As the weights add up to one, y - sum_k w_k y_k = sum_k w_k (y - y_k): a quadratic form in the errors.
    """
    K = len(predictions)
    errors = truth - predictions
    H = errors @ errors.T / (errors**2).mean(1).min() + CAUTION * np.eye(K)
    h = CAUTION * centre(K)
    best, weights = np.inf, None
    for some in itertools.chain.from_iterable(itertools.combinations(range(K), k + 1) for k in range(K)):
        S, one = list(some), np.ones((len(some), 1))
        lagrange = np.block([[H[np.ix_(S, S)], one], [one.T, np.zeros((1, 1))]])
        w = np.zeros(K)
        w[S] = np.linalg.solve(lagrange, np.append(h[S], 1.0))[:-1]
        if np.all(w >= 0) and (loss := w @ H @ w - 2 * h @ w) < best:
            best, weights = loss, w
    return weights


def noisy(errors, n, seed):
    """Values around 1 and predictions of them with independent errors of these sds."""
    rng = np.random.default_rng(seed)
    truth = 1.0 + rng.normal(size=n)
    return truth + np.array(errors)[:, None] * rng.normal(size=(len(errors), n)), truth


sds = st.lists(st.floats(0.05, 3.0), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(sds, st.integers(1, 80), st.integers(0, 2**32 - 1))
def test_stacking_finds_the_optimum(errors, n, seed):
    predictions, truth = noisy(errors, n, seed)
    weights = weigh(predictions, truth)
    assert weights.sum() == pytest.approx(1.0)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(weights, slow_weights(predictions, truth), atol=1e-4)


@settings(deadline=None)
@given(sds, st.integers(1, 80), st.floats(-100.0, 100.0), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_units_do_not_change_the_weights(errors, n, shift, scale, seed):
    predictions, truth = noisy(errors, n, seed)
    moved = weigh(shift + scale * predictions, shift + scale * truth)
    np.testing.assert_allclose(moved, weigh(predictions, truth), atol=1e-4)


@pytest.mark.parametrize("n", [1, 5, 50, 2000])
def test_two_ranks_are_weighed_by_the_closed_form(n):
    """With d = y_0 - y_1 and w = w_0 the objective is |y - y_1 - w d|^2 + 2 c s2 w^2, a parabola in w."""
    for seed in range(20):
        predictions, truth = noisy([0.8, 1.0], n, seed)
        d, e = predictions[0] - predictions[1], truth - predictions[1]
        s2 = ((predictions - truth) ** 2).mean(1).min()
        first = np.clip(d @ e / (d @ d + 2 * CAUTION * s2), 0, 1)
        np.testing.assert_allclose(weigh(predictions, truth), [first, 1 - first], atol=1e-5)


def test_structure_is_allowed_for_until_the_evidence_against_it_is_clear():
    """Rank 0 alone, which calls structure noise, has to earn its weight: its intervals of X would be too narrow."""

    def lowest(n, gain):
        rng = np.random.default_rng(n)
        signal, noise = gain * rng.normal(size=n), rng.normal(size=n)
        return weigh(np.array([signal, np.zeros(n)]), signal + noise)[0]

    weights = [lowest(n, 1.0) for n in (2, 30, 500, 10_000)]
    assert weights == sorted(weights)
    assert weights[0] < 0.2
    assert weights[2] > 0.85
    assert weights[3] > 0.98
    assert lowest(500, 0.05) < 0.2  # tells apart what the noise hides: 500 * 0.05^2 is far less than 2 c


@pytest.mark.parametrize("K", [1, 2, 5])
def test_ranks_that_predict_the_same_get_equal_weights_and_rank_0_none(K):
    truth = np.random.default_rng(0).normal(size=100)
    for prediction in (np.zeros(100), truth + 0.1, truth):  # also without any error
        np.testing.assert_allclose(weigh(np.tile(prediction, (K, 1)), truth), centre(K), atol=1e-5)


def test_without_rank_0_all_ranks_have_the_same_weight_at_first():
    truth = np.random.default_rng(0).normal(size=100)
    np.testing.assert_allclose(stacking_weights(np.zeros((4, 100)), truth, (1, 2, 4, 8)), 0.25, atol=1e-5)


def test_stacking_goes_to_the_better_rank_and_mixes_complements():
    n = 2000
    predictions, truth = noisy([3.0, 0.3], n, 0)
    assert weigh(predictions, truth)[1] > 0.97
    thirds = np.zeros((3, 3 * n))  # each rank is right about its own third: they want equal shares
    truth = np.random.default_rng(0).normal(size=3 * n)
    for k in range(3):
        thirds[k, k::3] = 3 * truth[k::3]
    np.testing.assert_allclose(weigh(thirds, truth), 1 / 3, atol=0.01)


# Chains for ranks


weights = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).filter(lambda w: sum(w) > 0.1)


@given(weights, st.integers(1, 64))
def test_all_chains_are_allotted_in_proportion(w, n):
    share = np.array(w) / sum(w)
    ranks = tuple(range(len(w)))
    allotted = RankChoice(ranks, (0.0,) * len(w), tuple(share), 10).allot(n)
    assert len(allotted) == n
    kept = np.where(share < module.LEAST_SHARE, 0.0, share)
    counts = np.bincount(allotted, minlength=len(w))
    assert np.all(np.abs(counts - n * kept / kept.sum()) < 1)
    assert np.all(counts[kept == 0] == 0)


# The ladder


def tried(error, shape=(40, 40), effects=True, **options):
    """The choice where the predictions of each rank are off by independent errors of sd `error(rank)`."""
    observations = Observations.of(np.random.default_rng(0).normal(size=shape))

    def predict(train, held, rank, seed):
        return held.values + error(rank) * np.random.default_rng(seed).normal(size=held.n)

    return choose_rank(observations, effects, predict, **options)


def test_the_ladder_climbs_while_it_pays_and_stops_at_half_the_shorter_side():
    def better(rank):
        return 1 / (1 + rank)

    assert tried(better).ranks == (0, 1, 2, 4, 8, 16)
    assert tried(better, shape=(90, 70)).ranks == (0, 1, 2, 4, 8, 16, 32)
    assert tried(better, shape=(40, 12)).ranks == (0, 1, 2, 4)
    assert tried(better, effects=False).ranks == (1, 2, 4, 8, 16)
    assert tried(better, effects=False).best == 16


def test_the_ladder_stops_where_higher_ranks_are_hopeless_but_not_before_four_are_tried():
    assert tried(lambda rank: 1.0 + rank).ranks == (0, 1, 2, 4)
    assert tried(lambda rank: 1.0 + rank).best == 0
    assert tried(lambda rank: 1.0 + rank, effects=False).ranks == (1, 2, 4, 8)
    late = tried(lambda rank: 0.3 if rank == 4 else 1.0 + (0 < rank < 4))
    assert late.ranks == (0, 1, 2, 4, 8)  # ranks 1 and 2 are clearly worse than 0, and yet 4 is the best
    assert late.best == 4


def test_past_the_ladder_a_rank_must_be_clearly_better_than_the_one_before():
    assert tried(lambda rank: abs(rank - 4.0) + 0.1).ranks == (0, 1, 2, 4, 8)
    assert tried(lambda rank: 1.0 if rank < 4 else 0.5 + rank / 400).ranks == (0, 1, 2, 4, 8)
    assert tried(lambda rank: 1.0 if rank < 8 else 0.5).ranks == (0, 1, 2, 4, 8, 16)


def test_where_data_abound_a_rank_may_pay_in_the_mixture_alone():
    """Independent errors of one size: each rank is as good as the one before, and the mean of all is better."""

    def equal(rank):
        return 1.0

    assert tried(equal, shape=(90, 90), abundant=True).ranks == (0, 1, 2, 4, 8, 16, 32)
    assert tried(equal, shape=(90, 90)).ranks == (0, 1, 2, 4, 8)

    def shared(rank):  # from rank 8 on too far off to get weight
        return 0.3 if rank <= 8 else 3.0

    assert tried(shared, shape=(90, 90), abundant=True).ranks == (0, 1, 2, 4, 8, 16)


def test_a_mixture_gains_by_its_log_score_too():
    """Two ranks, each right on one half of the values: by its squared error or by its log score one is as good."""
    right, wrong = np.log(0.9), np.log(0.1)
    halves = {1: np.array([right] * 50 + [wrong] * 50), 2: np.array([wrong] * 50 + [right] * 50)}
    assert module._mixture_gains(halves, None)
    assert not module._mixture_gains({1: halves[1], 2: halves[1]}, None)
    outlier = {rank: np.append(scores, -800.0) for rank, scores in halves.items()}  # exp(-800) is zero
    assert module._mixture_gains(outlier, None)
    truth = np.linspace(-1.0, 1.0, 100)
    assert not module._mixture_gains({1: truth, 2: truth}, truth)  # nothing is left to gain
    off = np.resize([1.0, -1.0], 100)
    assert module._mixture_gains({1: truth + off, 2: truth - off}, truth)
    assert not module._mixture_gains({1: truth + off, 2: truth + off}, truth)


def squares(*means, n=100):
    """Squared errors of ranks with these means; two ranks in a row differ with standard error 1 (n = 100: sd 10)."""
    wave = np.resize([10.0, -10.0], n)
    return np.array([mean + (k % 2) * wave for k, mean in enumerate(means)]) + 100.0


def test_the_evidence_is_counted_in_standard_errors():
    assert module._still_rising(squares(9.0, 8.0, 6.9))
    assert not module._still_rising(squares(9.0, 8.0, 7.1))
    assert module._still_rising(squares(9.0, 8.0, 7.1, n=400))  # the same difference, four times as many
    assert not module._still_rising(squares(5.0, 8.0, 6.0))  # better than the one before, but not the best
    assert module._hopeless(squares(5.0, 1.0, 4.1, 12.0)[[0, 1, 2, 2]])
    assert not module._hopeless(squares(5.0, 1.0, 3.9, 12.0)[[0, 1, 2, 2]])
    assert not module._hopeless(squares(5.0, 1.0, 4.1)[[0, 2, 1]])  # the last is the best
    assert not module._hopeless(np.zeros((4, 10)))  # all perfect


def test_every_rank_predicts_the_same_held_out_values_with_a_seed_of_its_own():
    observations = Observations.of(np.random.default_rng(0).normal(size=(70, 70)))
    seen, seeds = {}, []

    def predict(train, held, rank, seed):
        seen.setdefault(rank, []).append(held.values)
        seeds.append(tuple(seed.generate_state(4)))
        return held.values + (rank + 1)

    choice = choose_rank(observations, True, predict)
    first, *rest = (np.concatenate(values) for values in seen.values())
    for other in rest:
        np.testing.assert_array_equal(first, other)
    assert choice.n_held_out == first.size >= module.ENOUGH_HELD_OUT
    assert choice.errors == pytest.approx([rank + 1 for rank in choice.ranks])
    assert len(set(seeds)) == len(seeds) == 4 * 3


def test_every_observation_is_held_out_once_and_replicates_go_together():
    rows, cols = np.tile([0, 1, 2, 3], 6), np.tile([0, 1, 2], 8)
    observations = Observations((4, 3), rows, cols, np.arange(24.0))
    held = []
    for train, test in module._folds(observations, np.random.default_rng(0)):
        assert train.n + test.n == 24
        assert not set(zip(train.rows, train.cols, strict=True)) & set(zip(test.rows, test.cols, strict=True))
        assert (train.shape, test.shape) == ((4, 3), (4, 3))
        held += test.values.tolist()
    assert sorted(held) == list(range(24))


# On data


def on_data(rank, noise, seed):
    """The stacking weights, and the error where nothing was measured over that of rank 0 alone."""
    X, Y = low_rank((30, 20), rank=rank, noise=noise, missing=0.3, seed=seed)
    fitted, additive = complete(Y, seed=1), complete(Y, 0, seed=1)
    missing = np.isnan(Y)
    error, least = (np.sqrt(np.mean((p.mean - X)[missing] ** 2)) for p in (fitted, additive))
    choice = fitted.rank_choice
    return dict(zip(choice.ranks, choice.weights, strict=True)), error / least


# Of 10 data sets of rank 0 (seeds 22 to 31) the weight of rank 0 was 0.2 in the mean and the error 1.016 of that of
# rank 0 alone, at most 1.08: what it costs to allow for structure that is not there. 90% intervals covered 96%, those
# of rank 0 alone 89%.


def test_on_additive_data_little_is_lost_by_asking_for_the_rank():
    weights, error = on_data(rank=0, noise=0.3, seed=20)
    assert (
        weights[max(weights)] < 0.4
    )  # equal weights are 0.2, and vary by 0.1 with the parts that are held out
    assert 0.95 < error < 1.09


@pytest.mark.slow
def test_on_additive_data_the_mean_loss_is_small():
    weights, errors = zip(*(on_data(rank=0, noise=0.3, seed=seed) for seed in range(22, 34)), strict=True)
    assert np.mean([w[0] for w in weights]) > 0.1
    assert np.mean(errors) < 1.04  # the mean of ten was 1.016, with a standard error of 0.008: three of those


def test_a_clear_rank_is_found():
    weights, error = on_data(rank=3, noise=0.1, seed=1)
    assert sum(weights[rank] for rank in (0, 1, 2)) < 0.1
    assert error < 0.2


def test_the_choice_is_a_function_of_the_table_alone():
    _, Y = low_rank((20, 15), rank=1, noise=0.3, missing=0.5, seed=3)
    one, other = (complete(Y, sampling=SHORT, seed=seed) for seed in (1, 2))
    assert one.rank_choice.weights == other.rank_choice.weights
    assert not equal(one, other)


def test_where_data_abound_chains_climb_from_rank_to_rank(monkeypatch):
    """They predict about as well as chains that are annealed anew at each rank."""
    from maxentry.posterior import complete as module_complete

    _, Y = low_rank((60, 50), rank=3, noise=0.1, missing=0.3, seed=1)
    cold = complete(Y, sampling=SHORT, seed=1).rank_choice
    plans, climb = [], Sampling.climb
    monkeypatch.setattr(module_complete, "data_abound", lambda shape, n: True)
    monkeypatch.setattr(
        Sampling, "climb", classmethod(lambda cls, lowest: plans.append(lowest) or climb(lowest))
    )
    climbed = complete(Y, sampling=SHORT, seed=1).rank_choice
    assert plans.count(True) == len(plans) // len(climbed.ranks)  # annealed at the lowest rank only
    assert climbed.best == cold.best == 4
    there = [climbed.ranks.index(rank) for rank in (0, 1, 2, 4)]
    assert np.all(np.array(climbed.errors)[there] < 1.05 * np.array(cold.errors)[there])


@pytest.fixture
def abundant(monkeypatch):
    """Small tables are taken for such where data abound, and fits have their least length."""
    from maxentry.posterior import complete as module_complete

    monkeypatch.setattr(module_complete, "data_abound", lambda shape, n: True)
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)


def test_chains_of_the_climb_go_on_with_all_of_the_data(abundant, monkeypatch):
    """The fit agrees with one whose chains are annealed anew; one that starts from next to nothing does not arrive."""
    from maxentry.posterior import complete as module_complete

    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 2e10)  # 32 chains
    _, Y = low_rank((40, 30), rank=2, noise=0.1, missing=0.2, seed=1)
    fixed = RankChoice((2,), (0.1,), (1.0,), 100)
    monkeypatch.setattr(module_complete, "choose_rank", chosen_after_a_climb(fixed))
    warm = complete(Y, seed=3)
    assert warm.sampling.anneal == 0
    cold = complete(Y, 2, seed=2)
    assert cold.sampling.anneal > 0
    means = [matrices(p).mean(1) for p in (warm, cold)]
    z, bound = largest_z(means[0], other=means[1])
    assert z < bound
    monkeypatch.setattr(module_complete, "continue_chains", lambda known, *_: forget(known))
    z, bound = largest_z(matrices(complete(Y, seed=3)).mean(1), other=means[1])
    assert z > bound  # the negative control


def chosen_after_a_climb(choice):
    """A `choose_rank` that tries ranks 0, 1 and 2 on nine tenths of the data, and then takes what is given."""

    def choose(observations, effects, predict, **_):
        held = np.arange(observations.n) % 10 == 0
        parts = observations.subset(~held), observations.subset(held)
        for rank in (0, 1, 2):
            predict(*parts, rank, np.random.SeedSequence(rank))
        return choice

    return choose


def forget(known):
    """The chains with factors and effects of zero, and the size of the noise that they had."""
    states = [c.state._replace(left=1e-3 * c.state.left, right=1e-3 * c.state.right) for c in known]
    return tuple(c._replace(state=state) for c, state in zip(known, states, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"noise": "student"},
        {"noise": "rows"},
        {"kind": "grades"},
        {"limits": (-0.5, 0.5)},
        {"effort": "quick"},
    ],
    ids=str,
)
def test_chains_of_the_climb_go_on_with_every_kind_of_data(abundant, options):
    _, Y = low_rank((20, 16), rank=1, noise=0.2, missing=0.2, seed=4)
    Y = np.clip(np.round(Y), 1, 5) if "kind" in options else Y - 2.0
    fitted = complete(Y, seed=1, **options)
    assert fitted.sampling.anneal == 0
    assert len(fitted.chains) == fitted.sampling.chains
    assert np.isfinite(fitted.arrays.mean).all()
    assert equal(fitted, complete(Y, seed=1, threads=1, **options))
    assert not equal(fitted, complete(Y, seed=2, **options))


def test_yes_and_no_are_annealed_where_data_abound_too(abundant):
    _, Y = low_rank((20, 16), rank=1, noise=0.2, missing=0.2, seed=4)
    assert complete(np.where(np.isnan(Y), np.nan, Y > 2.0), seed=1, kind="yes/no").sampling.anneal > 0


def test_chains_of_the_climb_are_continued_in_turn_unless_they_lack_a_component():
    def chain(name, eta2):
        return SimpleNamespace(name=name, eta2=eta2)

    def names(ranks):
        return [chain.name for chain in climb.starts(ranks)]

    climb = Climb(None, None, {1: (chain("a", 1.0), chain("b", 1.05)), 2: (chain("c", 1.2), chain("d", 1.0))})
    assert names([1, 1, 1, 1]) == ["a", "b", "a", "b"]
    assert names([2, 1, 2, 1, 2]) == ["d", "a", "d", "b", "d"]
    assert names([1, 2, 1, 2]) == ["a", "d", "b", "d"]  # ranks take turns, too


def test_the_climb_of_the_last_part_goes_on_whichever_part_came_last(abundant, monkeypatch):
    """On a cluster the parts come at once, in any order."""
    _, Y = low_rank((20, 16), rank=1, noise=0.2, missing=0.2, seed=4)
    fitted = complete(Y, seed=1)
    together = module.choose_rank

    def backwards(*given, **options):
        return together(*given, **options | {"fold_map": reversed_map})

    monkeypatch.setattr("maxentry.posterior.complete.choose_rank", backwards)
    assert equal(fitted, complete(Y, seed=1))


def reversed_map(function, *parts):
    """Like `map`, from the last item to the first."""
    items = list(zip(*parts, strict=False))
    return [function(*item) for item in items[::-1]][::-1]


def test_a_given_plan_is_kept_where_data_abound(abundant):
    _, Y = low_rank((20, 16), rank=1, noise=0.2, missing=0.2, seed=4)
    assert complete(Y, seed=1, sampling=SHORT).sampling == SHORT


@pytest.mark.parametrize("sampling", ["population", SHORT], ids=["population", "given"])
def test_the_climb_is_forgotten_before_the_fit_is_sampled(abundant, monkeypatch, sampling):
    """It has nine tenths of the data, and two chains of every rank."""
    from maxentry.posterior import complete as module_complete

    climbs, left = [], []
    choose, run = module_complete._choose_rank, module_complete._run

    def remembered(*given):
        found = choose(*given)
        climbs.append(weakref.ref(found[1]))
        return found

    def watched(started, data, priors_of, plan, what, *given, **options):
        if what == "sampling":
            left.append(climbs[0]() is not None)
        return run(started, data, priors_of, plan, what, *given, **options)

    monkeypatch.setattr(module_complete, "_choose_rank", remembered)
    monkeypatch.setattr(module_complete, "_run", watched)
    _, Y = low_rank((20, 16), rank=1, noise=0.2, missing=0.2, seed=4)
    complete(Y, seed=1, sampling=sampling)
    assert left == [False]


def test_stacked_ranks_answer_as_one(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    _, Y = low_rank(missing=0.6, seed=0)
    fitted = complete(Y, sampling=SHORT, seed=5)
    assert len(fitted.rank_weights) > 1, "the test needs several ranks"
    assert sum(fitted.rank_weights.values()) == pytest.approx(1.0)
    assert fitted.draws.rank == max(fitted.rank_weights)
    for c, chain in enumerate(fitted.chains):
        assert np.all(fitted.draws.left[c, :, :, chain.rank :] == 0)
    assert "stacked" in repr(fitted)
    assert "held-out" in str(fitted.rank_choice)
    assert fitted.more(2).draws.mu.shape == (4, 8)
    assert "singular_values" in fitted.to_arviz().posterior
    assert equal(fitted, complete(Y, sampling=SHORT, seed=5, threads=1))


def test_one_entry_leaves_nothing_to_hold_out():
    Y = np.full((3, 4), np.nan)
    Y[1, 2] = 5.0
    assert complete(Y, sampling=SHORT, seed=1).rank == 0
    assert complete(Y, effects=False, sampling=SHORT, seed=1).rank == 1


@pytest.mark.parametrize("rank", [-1, 1.5, True, "low", None, np.nan])
def test_ranks_that_are_none_are_refused(rank):
    with pytest.raises(RankError, match="'auto' or a whole number of at least 0"):
        complete(low_rank()[1], rank)


def test_a_rank_beyond_half_the_shorter_side_is_refused_with_the_reason():
    Y = low_rank((12, 9))[1]
    with pytest.raises(RankError, match="at most 4, half the shorter side of a 12 x 9 matrix, got 5"):
        complete(Y, 5)
    assert complete(Y, 4, sampling=SHORT, seed=1).rank == 4
    assert complete(Y, np.int64(4), sampling=SHORT, seed=1).rank == 4


def test_rank_zero_without_effects_is_refused():
    with pytest.raises(RankError, match="nothing to fit"):
        complete(low_rank()[1], 0, effects=False)


@pytest.mark.parametrize(
    ("shape", "n", "most"),
    [((300, 1682), 474, 2), ((300, 1682), 2000, 8), ((30, 30), 400, 15), ((6, 5), 3, 2)],
)
def test_ranks_of_more_parameters_than_data_can_tell_are_not_tried(shape, n, most):
    m1, m2 = shape
    observations = Observations(shape, np.arange(n) % m1, np.arange(n) // m1 % m2, np.ones(n))
    tried = []

    def predict(train, held, rank, seed):
        tried.append(rank)
        return np.full(held.n, 1 - 2.0**-rank)  # the higher the better: only the limit stops

    choose_rank(observations, True, predict)
    assert module._largest_rank(observations) == most
    assert max(tried) <= most < 2 * max(tried)
