"""Curves, ratios and what they took, against cases reckoned by hand; intervals against their promise."""

import math

import numpy as np
import pytest
from tests.compare.invented import REAL, SIMULATED, made, many

from evidence.strategies import STRATEGIES
from maxentry.compare import metrics
from maxentry.errors import DataError


def pair(*runs):
    study = metrics.gather(runs)
    (by,) = study.values()
    return by["maxent"], by["uniform"]


def test_runs_are_grouped_by_case_and_strategy_in_the_order_of_seeds() -> None:
    runs = [made([1.0, s], seed=s, case=c, n=(1, 2)) for c in ("a", "b") for s in (3, 1, 2)]
    study = metrics.gather([*runs, made([1.0, 9.0], seed=1, case="b", n=(1, 2))])
    assert list(study) == ["a", "b"]
    assert study["a"]["uniform"].seeds == (1, 2, 3)
    assert study["a"]["uniform"].at(-1).tolist() == [1, 2, 3]
    assert study["b"]["uniform"].at(-1).tolist() == [9, 2, 3]  # of the same run twice, the later


def test_runs_of_different_settings_are_not_taken_for_replicates() -> None:
    with pytest.raises(DataError, match="one setting"):
        metrics.gather([made([1.0], n=[3]), made([1.0], n=[3], seed=1, identity=REAL)])


def test_curves_on_the_same_looks_are_left_as_they_are() -> None:
    curves = metrics.gather([made([1.0, 0.8, 0.6], n=(1, 2, 4), seed=k) for k in (0, 1)])["sim30"]["uniform"]
    x, errors = curves.along()
    assert x.tolist() == [1, 2, 4]
    assert errors.tolist() == [[1.0, 0.8, 0.6]] * 2


def test_curves_on_different_looks_are_linear_in_between_and_stay_where_they_ended() -> None:
    runs = [made([1.0, 0.0], n=(0, 10)), made([1.0, 0.5, 0.2], n=(2, 7, 8), seed=1)]
    x, errors = metrics.gather(runs)["sim30"]["uniform"].along()
    assert (x[0], x[-1]) == (2, 10)
    np.testing.assert_allclose(errors[0], 1 - x / 10)
    np.testing.assert_allclose(errors[1, x >= 8], 0.2)
    np.testing.assert_allclose(errors[1, x <= 7], 1 - (x[x <= 7] - 2) / 10)


def test_points_at_equal_cost_are_even_in_its_logarithm_and_begin_above_nothing() -> None:
    spend = SIMULATED | {"spend": 10.0}
    costs = [(0.0, 1.0, 100.0), (0.0, 2.0, 100.0)]
    runs = [made([1.0, 0.5, 0.4], n=(0, 1, 2), cost=c, seed=s, identity=spend) for s, c in enumerate(costs)]
    x, errors = metrics.gather(runs)["sim30"]["uniform"].along()
    assert (x[0], x[-1]) == pytest.approx((0.01, 1))
    np.testing.assert_allclose(np.diff(np.log(x)), np.log(100) / (len(x) - 1))
    np.testing.assert_allclose(errors[:, 0], [0.5, 0.75])


def test_only_replicates_that_both_have_are_compared() -> None:
    u = [made([1.0, e], seed=s, n=(1, 2)) for s, e in ((0, 1.0), (1, 2.0), (7, 100.0))]
    m = [made([1.0, e], seed=s, n=(1, 2), strategy="maxent") for s, e in ((1, 1.0), (0, 0.5), (5, 100.0))]
    ratio = metrics.end_ratio(*pair(*u, *m))
    assert ratio == pytest.approx((0.5, 0.5, 0.5, 2))  # exactly half in both replicates: no spread is left
    assert metrics.end_ratio(*pair(u[2], m[2])).replicates == 0


def test_the_ratios_by_hand() -> None:
    u = made([1.0, 0.8, 0.6], n=(10, 20, 40))
    m = made([0.9, 0.6, 0.3], n=(10, 20, 40), strategy="maxent")
    curves = pair(u, m)
    assert metrics.end_ratio(*curves).value == pytest.approx(0.5)
    assert metrics.area_ratio(*curves).value == pytest.approx((7.5 + 9) / (9 + 14))
    assert not metrics.end_ratio(*curves).known  # one replicate


def test_the_interval_of_a_ratio_by_hand() -> None:
    found = metrics.ratio_interval(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    half = 6.313752 * np.sqrt(2) / np.sqrt(2) / 2  # t of one degree of freedom at 95%, sd of (1, 3), mean 2
    assert found == pytest.approx((1.0, np.exp(-half), np.exp(half), 2), rel=1e-6)


def test_ratios_to_nothing_and_of_nothing() -> None:
    two, none = np.array([1.0, 2.0]), np.zeros(2)
    assert math.isnan(metrics.ratio_interval(two, none).value)
    assert metrics.ratio_interval(none, two) == (0, 0, 0, 2)
    assert not metrics.ratio_interval(none[:1], two[:1]).known
    assert metrics.ratio_interval(none[:0], two[:0]).replicates == 0


def test_the_area_is_from_where_both_began_to_where_the_first_ended() -> None:
    u = made([1.0, 1.0, 1.0], n=(0, 10, 20))
    m = made([9.0, 0.5, 0.5], n=(0, 10, 20), strategy="maxent")
    late = made([1.0, 1.0], n=(10, 20))
    soon = made([1.0, 1.0], n=(10, 15))
    assert metrics.area_ratio(*pair(u, m)).value == pytest.approx((9.5 / 2 * 10 + 5) / 20)
    assert metrics.area_ratio(*pair(late, m)).value == pytest.approx(0.5)
    assert metrics.area_ratio(*pair(soon, m)).value == pytest.approx(0.5)


def test_at_the_end_is_at_equal_cost() -> None:
    spend = SIMULATED | {"spend": 10.0}
    u = made([1.0, 0.8, 0.4], n=(1, 2, 3), cost=(0.0, 10.0, 20.0), identity=spend)
    m = made([1.0, 0.3], n=(1, 9), cost=(0.0, 15.0), strategy="maxent", identity=spend)
    assert metrics.end_ratio(*pair(u, m)).value == pytest.approx(0.3 / 0.6)


def test_a_replicate_that_began_after_the_common_end_is_left_out() -> None:
    spend = SIMULATED | {"spend": 10.0}
    runs = []
    for seed, first in enumerate((5.0, 16.0)):  # uniform's start costs more than all that the other spends
        runs.append(made([1.0, 0.8], n=(1, 2), cost=(first, 20.0), seed=seed, identity=spend))
        runs.append(
            made([1.0, 0.4], n=(1, 9), cost=(1.0, 15.0), strategy="maxent", seed=seed, identity=spend)
        )
    found = metrics.end_ratio(*pair(*runs))
    assert found.replicates == 1
    assert found.value == pytest.approx(0.4 / (1.0 - 0.2 * 10 / 15))


def test_at_one_cost_is_where_the_first_of_all_ended() -> None:
    spend = SIMULATED | {"spend": 10.0}
    costs = {"uniform": (0.0, 20.0), "maxent": (0.0, 15.0), "oboe": (0.0, 10.0)}
    runs = [made([1.0, 0.4], n=(0, 6), cost=c, strategy=s, identity=spend) for s, c in costs.items()]
    by = metrics.gather(runs)["sim30"]
    found = {s: (curves.ends[0], *metrics.values_at_common_cost(curves), *metrics.values_at_common_cost(curves, "n"))
             for s, curves in by.items()}  # fmt: skip
    assert found == {"uniform": pytest.approx((0.5, 0.7, 3)), "maxent": pytest.approx((0.5, 0.6, 4)),
                     "oboe": pytest.approx((0.5, 0.4, 6))}  # fmt: skip


def coverage_of(interval, k: int, trials: int = 2000) -> float:
    """How often intervals hold the ratio of means 0.8, of replicates that vary together."""
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(trials):
        hard = rng.normal(1.0, 0.1, k)
        found = interval(0.8 * hard + rng.normal(0, 0.03, k), hard + rng.normal(0, 0.03, k))
        hits += found.low <= 0.8 <= found.high
    return hits / trials


def unpaired(values, base):
    return metrics.ratio_interval(values, np.roll(base, 1))


def normal(values, base):
    """As if the spread were known: too narrow for few replicates."""
    t = metrics.ratio_interval(values, base)
    factor = (t.high / t.value) ** (1.645 / 2.920)  # t of two degrees of freedom
    return t._replace(low=t.value / factor, high=t.value * factor)


def test_intervals_hold_the_ratio_as_often_as_they_say() -> None:
    error = 4 * np.sqrt(0.09 / 2000)
    assert coverage_of(metrics.ratio_interval, 10) == pytest.approx(0.9, abs=error)
    assert coverage_of(metrics.ratio_interval, 3) == pytest.approx(0.9, abs=error)
    assert coverage_of(normal, 3) < 0.9 - error


def linear(values, base):
    """The interval of the ratio itself, not of its logarithm."""
    ratio = values.mean() / base.mean()
    rest = metrics.mean_interval((values - ratio * base) / base.mean())
    return metrics.Interval(ratio, ratio + rest.low, ratio + rest.high, len(values))


def misses(interval, k: int = 5, trials: int = 2000) -> tuple[float, float, float]:
    """How often intervals lie above a ratio of means of 0.5, below it, and begin below 0, of skewed errors."""
    rng = np.random.default_rng(11)
    above = below = negative = 0
    for _ in range(trials):
        a, b, hard = np.exp([[0.5], [0.5], [0.3]] * rng.standard_normal((3, k)))
        found = interval(0.5 * a * hard, b * hard)
        above, below, negative = (
            above + (found.low > 0.5),
            below + (found.high < 0.5),
            negative + (found.low < 0),
        )
    return above / trials, below / trials, negative / trials


def test_intervals_of_skewed_errors_miss_both_ways_alike_and_stay_above_nothing() -> None:
    """Of the 5% promised on either side, at most 7%: a second-order error of t with five skewed replicates."""
    error = 3 * np.sqrt(0.05 * 0.95 / 2000)
    above, below, negative = misses(metrics.ratio_interval)
    assert negative == 0
    assert max(above, below) < 0.07 + error
    assert abs(above - below) < np.sqrt(2) * error
    above, below, negative = misses(linear)
    assert negative > 0.03
    assert below - above > np.sqrt(2) * error


def test_pairing_makes_intervals_narrower() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(1.0, 0.1, 10)
    values, base = 0.8 * hard + rng.normal(0, 0.01, 10), hard
    together, apart = metrics.ratio_interval(values, base), unpaired(values, base)
    assert together.high - together.low < 0.5 * (apart.high - apart.low)


@pytest.mark.parametrize(
    ("target", "n"), [(2.0, 10), (1.0, 10), (0.9, 15), (0.8, 20), (0.7, 30), (0.6, 40), (0.5, math.inf)]
)
def test_first_reach_is_linear_between_looks(target: float, n: float) -> None:
    reached = metrics.first_reach(np.array([10.0, 20, 40]), np.array([1.0, 0.8, 0.6]), target)
    assert reached == pytest.approx(n)


def test_first_reach_is_the_first() -> None:
    assert metrics.first_reach(np.arange(4.0), np.array([1.0, 0.5, 0.9, 0.5]), 0.5) == 1


def test_entries_to_reach_are_against_the_same_replicate_and_infinite_ones_are_counted() -> None:
    n, runs = (0, 10), []
    for seed, (u, m) in enumerate([(0.5, 0.0), (0.8, 0.0), (0.5, 0.5), (0.5, 0.9), (0.5, 0.9)]):
        runs += [made([1.0, u], seed=seed, n=n), made([1.0, m], seed=seed, n=n, strategy="maxent")]
    took = metrics.reach(*pair(*runs))
    assert (took.low, took.median, took.high, took.uniform) == (5, 10, math.inf, 10)


def copies(fall: float, replicates: int = 200):
    """Uniform and a strategy that is its copy but for luck: errors that fall a little and go up and down."""
    rng, n = np.random.default_rng(8), range(0, 201, 20)
    return pair(
        *(
            made(1 - fall * np.arange(11) + 0.01 * rng.standard_normal(11), n=n, strategy=s, seed=seed)
            for seed in range(replicates)
            for s in ("uniform", "maxent")
        )
    )


@pytest.mark.parametrize("fall", [0.002, 0.005, 0.02])
def test_a_copy_of_uniform_saves_nothing(fall: float) -> None:
    chosen, base = copies(fall)
    took = metrics.reach(chosen, base)
    assert took.median == pytest.approx(took.uniform, abs=20)  # within a look
    last = float(np.median(base.at(-1, "n")))
    assert last == 200
    if fall < 0.005:  # flat: against the last look, a copy would seem to save a fifth
        assert took.median < 0.85 * last


def test_uniform_is_taken_where_it_first_had_its_final_error() -> None:
    u = made([1.0, 0.5, 0.7, 0.6], n=(0, 10, 20, 30))
    m = made([1.0, 0.9, 0.6, 0.6], n=(0, 10, 20, 30), strategy="maxent")
    assert metrics.reach(*pair(u, m)) == pytest.approx((20, 20, 20, 8))


def test_cost_to_reach_goes_by_cost() -> None:
    spend = SIMULATED | {"spend": 10.0}
    u = made([1.0, 0.5], n=(1, 2), cost=(1.0, 50.0), identity=spend)
    m = made([1.0, 0.0], n=(1, 9), cost=(1.0, 41.0), strategy="maxent", identity=spend)
    curves = pair(u, m)
    assert curves[0].spent == "cost"
    assert metrics.reach(*curves, "cost")[0] == pytest.approx(
        21 / 50
    )  # as a share of the most that was spent
    assert metrics.reach(*curves, "n")[0] == pytest.approx(5)


def test_coverage_is_the_mean_of_the_replicates_that_have_any() -> None:
    gap = math.nan
    runs = [
        made([1.0] * 3, n=(1, 2, 3), seed=s, coverage=c)
        for s, c in enumerate([[0.8, 0.9, gap], [0.9, gap, gap]])
    ]
    curves = metrics.gather(runs)["sim30"]["uniform"]
    np.testing.assert_allclose(metrics.coverage(curves), [0.85, 0.9, gap])
    without = metrics.gather([made([1.0], n=[1], coverage=gap)])["sim30"]["uniform"]
    assert np.isnan(metrics.coverage(without)).all()


def test_seconds_leave_out_the_initial_ask_and_looks_without_one() -> None:
    run = made([1.0] * 4, n=(1, 2, 3, 4))
    seconds = (0.001, 2.0, 4.0, 0.0)
    run = type(run)(
        **{
            **vars(run),
            "looks": tuple(k._replace(seconds=s) for k, s in zip(run.looks, seconds, strict=True)),
        }
    )
    assert metrics.seconds_per_ask(metrics.gather([run])["sim30"]["uniform"]) == 3.0


def test_ratios_of_a_case_without_uniform_are_none() -> None:
    study = metrics.gather(many("maxent", 0.5, replicates=2))
    assert metrics.compare_to_baseline(study["sim30"]) == {}


def test_the_papers_own_sampler_is_compared_with_uniform_judged_by_it() -> None:
    ends = {"uniform": 0.9, "maxent": 0.45, "papers_uniform": 0.6, "papers_maxent": 0.3}
    runs = [made([1.0, end], n=(1, 2), strategy=s) for s, end in ends.items()]
    found = metrics.compare_to_baseline(metrics.gather(runs, STRATEGIES)["sim30"])
    assert {s: ratio.value for s, ratio in found.items()} == pytest.approx(
        {"maxent": 0.5, "papers_uniform": 2 / 3, "papers_maxent": 0.5}
    )


@pytest.mark.parametrize(
    ("low", "high", "effect"),
    [(0.8, 0.9, "helps"), (0.9, 1.0, "no difference shown"), (0.9, 1.1, "no difference shown"),
     (1.01, 1.1, "harms"), (float("nan"), float("nan"), "unknown")],
)  # fmt: skip
def test_an_interval_with_one_in_it_shows_no_difference(low: float, high: float, effect: str) -> None:
    assert metrics.Interval((low + high) / 2, low, high, 5).effect == effect


def test_ends_near_one_are_written_so_that_the_side_is_seen() -> None:
    assert metrics.Interval(1.002, 0.9966, 1.008, 5).text() == "1.002 (0.997 to 1.008)"
    assert metrics.Interval(0.9, 0.85, 0.95, 5).text() == "0.90 (0.85 to 0.95)"
    assert metrics.Interval(0.12345, 0.11, 0.13, 5).text(3) == "0.123 (0.110 to 0.130)"
    assert metrics.Interval(0.9, math.nan, math.nan, 1).text() == "0.90 (one replicate)"
    assert metrics.Interval(math.nan, math.nan, math.nan, 0).text() == ""


def test_strategies_that_nobody_knows_are_compared_by_their_name() -> None:
    study = metrics.gather([*many("uniform", 0.8), *many("somebodys_rule", 0.6)])
    assert study["sim30"]["somebodys_rule"].strategy.title == "somebodys rule"
    assert metrics.compare_to_baseline(study["sim30"])["somebodys_rule"].effect == "helps"
