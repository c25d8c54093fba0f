"""Expected error now, with pending, after the next batch: against dense covariances, and against what comes true."""

import datetime as dt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr
from tests.campaign.examples import answer, ask, begun, truth

from maxentry import Campaign
from maxentry.acquisition import Costs, Limits, Problem
from maxentry.acquisition.total_variance import TotalVariance
from maxentry.belief import Belief, Entries
from maxentry.campaign import fits, outlook, policy, views
from maxentry.posterior.intervals import Deviation

NOW = dt.datetime.now(dt.UTC)


def dense_variance(posterior, entries: Entries) -> float:
    """The mean variance once entries are measured: by regression on them, with each chain left out and with none."""
    belief, n_chains = posterior.belief, len(posterior.chains)
    S, m2 = belief.n_draws, belief.shape[1]
    D = np.stack([belief.draw(s).ravel() for s in range(S)])
    D -= D.mean(0)
    P = D[:, entries.keys(m2)]
    penalty = S * belief.noise_var.mean() * np.eye(P.shape[1])

    def regress(some: np.ndarray) -> np.ndarray:
        return np.linalg.solve(P[some].T @ P[some] + penalty, P[some].T @ D[some])

    everything = regress(np.arange(S))
    noise = belief.noise_var.mean() * np.sum(everything**2)
    fitted = np.sum((D - P @ everything) ** 2) / S
    left_out = 0.0
    for chain in np.array_split(np.arange(S), n_chains):
        others = np.setdiff1d(np.arange(S), chain)
        left_out += np.sum((D[chain] - P[chain] @ regress(others)) ** 2) / S
    return min((fitted + left_out) / 2 + noise, np.sum(D**2) / S) / D.shape[1]


def dense_parts(campaign, posterior) -> tuple[float, float]:
    """What measuring other entries can lower of the expected mean square error, and the rest."""
    told = np.zeros(posterior.shape, dtype=bool)
    told[tuple(campaign.state.told)] = True
    values = views.mean_matrix(campaign.state)
    pattern = np.sum(posterior.sd[~told] ** 2) / told.size
    missed = np.mean((posterior.mean - values)[told] ** 2)
    misfit = (posterior.belief.noise_var.mean() + missed) / 2
    return pattern, misfit * np.mean(~told) + missed * np.mean(told)


def test_the_outlook_is_that_of_dense_regressions() -> None:
    campaign = begun()
    answer(campaign, ask(campaign, 14), truth())
    pending = ask(campaign, 2)
    state, posterior = campaign.state, campaign.posterior(progress=False)
    batch = policy.next_batch(state, 5, NOW)
    found = outlook.compute_outlook(state, posterior, batch, NOW)
    first = Entries.from_lists(pending["row"], pending["col"])
    pattern, rest = dense_parts(campaign, posterior)
    now = dense_variance(posterior, Entries.none())
    then = [dense_variance(posterior, e) for e in (first, first.joined(Entries(*batch[:2])))]
    expected = np.sqrt([pattern * v / now + rest for v in (now, *then)])
    assert np.allclose([found.error_now, found.error_with_pending, found.error_after], expected, rtol=1e-7)
    assert found.error_now > found.error_with_pending > found.error_after > 0
    assert found.gain_per_cost == pytest.approx((expected[1] - expected[2]) / 5)
    assert fits.expected_error(state, posterior) == pytest.approx(found.error_now)
    assert "after 5 more" in str(found)


def test_a_batch_larger_than_the_draws_can_judge_promises_little() -> None:
    """Sixteen draws of noise tell nothing about each other, though conditioned on each other they are known exactly."""
    rng = np.random.default_rng(0)
    row, col = rng.normal(size=(16, 12)), np.zeros((16, 9))
    flat = np.zeros((16, 12, 0)), np.zeros((16, 9, 0))
    totals = TotalVariance(Belief(*flat, row, col, np.zeros(16), np.full(16, 1e-3)))
    ten = Entries.from_lists(np.arange(10), np.zeros(10))
    assert totals.after(ten) < 0.16 * totals.now()
    assert totals.expected_after(ten, 4) > 0.4 * totals.now()
    assert totals.expected_after(Entries.none(), 4) == totals.now()


@pytest.mark.parametrize("kind", ["yes/no", "grades"])
def test_answers_are_promised_by_the_regression_on_what_will_be_told(kind) -> None:
    """The total variance of probabilities, or expected grades, given answers: dense regressions on these."""
    levels = {"levels": (1, 2, 3, 4)} if kind == "grades" else {}
    campaign = begun((12, 9), rank=1, kind=kind, **levels)
    z = truth((12, 9))
    told = (z > 0).astype(float) if kind == "yes/no" else 1.0 + (z[..., None] > [-1.0, 0.0, 1.0]).sum(-1)
    answer(campaign, ask(campaign, 60), told)
    posterior = campaign.posterior(progress=False)
    batch = Entries.from_lists([0, 3, 5, 7], [1, 1, 8, 2])
    i, j = np.indices((12, 9)).reshape(2, -1)
    y = posterior.entries_at(i, j)
    D, at = y - y.mean(0), batch.keys(9)
    if kind == "yes/no":
        noise = (y * (1 - y)).mean(0)[at]
    else:
        x, cuts = posterior.belief.at(*batch), posterior.noise_law.cuts
        sd = np.sqrt(posterior.noise_law.var)[:, None, None]
        edges = np.pad(ndtr((cuts[:, None, :] - x[..., None]) / sd), ((0, 0), (0, 0), (1, 1)))
        edges[..., -1] = 1.0
        grade, p = np.arange(1, 5), np.diff(edges, axis=-1)
        noise = (p @ grade**2 - (p @ grade) ** 2).mean(0)
    cov = D.T @ D / len(D)
    left = cov - cov[:, at] @ np.linalg.solve(cov[np.ix_(at, at)] + np.diag(noise), cov[at])
    totals = TotalVariance(posterior.belief, *outlook._reading(posterior))
    assert totals.now() == pytest.approx(np.trace(cov), rel=1e-9)
    assert totals.after(batch) == pytest.approx(np.trace(left), rel=1e-6)
    assert totals.after(batch) < totals.expected_after(batch, len(posterior.chains)) <= totals.now()
    parts = fits.error_parts(campaign.state, posterior)
    assert parts.pattern == pytest.approx(y.var(0, ddof=1).mean())
    now, then = outlook.expect_errors(campaign.state, posterior, [batch])
    assert 0.95 * now < then < now  # four answers tell little


def test_on_another_scale_the_error_is_in_the_users_units() -> None:
    campaign = begun(transform="log", rank=1)
    answer(campaign, ask(campaign, 60), np.exp(truth()))
    posterior = campaign.posterior(progress=False)
    batch = policy.next_batch(campaign.state, 3, NOW)
    found = outlook.compute_outlook(campaign.state, posterior, batch, NOW)
    told = np.zeros(posterior.shape, dtype=bool)
    told[tuple(campaign.state.told)] = True
    parts = fits.error_parts(campaign.state, posterior)
    assert found.error_now == pytest.approx(parts.error)
    assert parts.pattern == pytest.approx(np.sum(posterior.sd[~told] ** 2) / told.size)
    low, high = posterior.predictive_interval(0.68)
    assert 0.5 * np.mean((high - low)[~told]) < 2 * parts.error
    assert found.error_after < found.error_now


def test_at_measured_entries_the_error_is_known() -> None:
    campaign = begun((6, 5), rank=1, acquisition="uniform")
    X = truth((6, 5))
    answer(campaign, ask(campaign, 30), X)
    posterior = campaign.posterior(progress=False)
    parts = fits.error_parts(campaign.state, posterior)
    assert parts == (0.0, pytest.approx(np.mean((posterior.mean - X) ** 2)))


def test_what_the_pattern_misses_counts_and_noise_that_repeats_tell_does_not() -> None:
    campaign = begun((20, 15), rank=0, seed=2)
    rng = np.random.default_rng(0)
    batch = ask(campaign, 60)
    answer(campaign, batch, rng.normal(size=(20, 15)))
    posterior = campaign.posterior(progress=False)
    assert fits.expected_error(campaign.state, posterior) > 2 * np.sqrt(np.mean(posterior.sd**2))
    assert fits.repeat_variance(campaign.state, campaign.state.values) == 0
    for _ in range(3):
        campaign.tell(row=batch["row"], col=batch["col"], value=rng.normal(size=60), again=True)
    within = 180 / 188  # of the pooled variance, which is about one
    assert fits.repeat_variance(campaign.state, campaign.state.values) == pytest.approx(within, rel=0.2)
    posterior = campaign.posterior(progress=False)
    parts = fits.error_parts(campaign.state, posterior)
    assert parts.rest < 0.4 * posterior.belief.noise_var.mean()


@pytest.mark.parametrize(
    ("cost", "left", "plate", "kept"),
    [
        ([1.0, 1.0, 1.0], 2.0, None, 2),
        ([1.0, 1.0, 1.0], 3.0, None, 3),
        ([0.1] * 10, 0.3, None, 3),
        ([2.0, 1.0], 1.5, None, 0),
        ([1.0, 1.0, 1.0, 1.0], 3.0, [4, 4, 7, 7], 2),
        ([1.0, 1.0, 1.0, 1.0], 4.0, [4, 4, 7, 7], 4),
        ([1.0, 1.0], 1.0, [4, 4], 0),
    ],
)
def test_what_a_budget_pays(cost: list[float], left: float, plate: list[int] | None, kept: int) -> None:
    state = begun(budget=left).state
    plates = None if plate is None else np.array(plate)
    assert policy.count_affordable(state, NOW, np.array(cost), plates) == kept


@pytest.mark.slow
@pytest.mark.usefixtures("full_fits")
def test_the_expected_error_comes_true_on_average() -> None:
    """Over 40 matrices from the prior, squared error over expected squared error is 1 within its Monte Carlo error.

    The error is that of predicting a measurement of each entry.
    """
    ratios = []
    for seed in range(40):
        X = truth(seed=seed)
        Y = X + 1e-2 * np.random.default_rng([seed, 1]).standard_normal(X.shape)
        campaign = begun(effects=False, priors="paper", seed=seed)
        answer(campaign, ask(campaign, 50), Y)
        posterior = campaign.posterior(progress=False)
        expected = fits.expected_error(campaign.state, posterior)
        ratios.append(np.mean((posterior.mean - Y) ** 2) / expected**2)
    ratio, error = np.mean(ratios), np.std(ratios) / np.sqrt(len(ratios))
    assert abs(ratio - 1) < 4 * error
    assert abs(ratio / 4 - 1) > 4 * error / 4  # an error taken for twice as large would be seen


@pytest.mark.parametrize(
    "parts", [(), ("entry",), ("row",), ("row", "col"), ("entry", "row", "col")], ids=str
)
def test_the_least_cost_is_that_of_an_entry(parts: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    given = {"entry": rng.uniform(1, 3, (12, 9)), "row": rng.uniform(0, 9, 12), "col": rng.uniform(0, 9, 9)}
    costs = begun(costs={name: given[name] for name in parts} or None).state.costs
    dense = costs.at(np.arange(12)[:, None], np.arange(9))
    assert costs.extremes(np.arange(12), np.arange(9))[0] == pytest.approx(dense.min())


def test_looking_ahead_asks_for_nothing_and_says_what_to_do() -> None:
    campaign = begun()
    assert campaign.outlook().outlook is None
    assert campaign.outlook().advice == "ask: initial design, before any value."
    answer(campaign, ask(campaign, 14), truth())
    events = campaign.status().events
    found = campaign.outlook(5, progress=False)
    assert campaign.status().events == events
    batch = policy.next_batch(campaign.state, 5, NOW)
    assert found.outlook == outlook.compute_outlook(
        campaign.state, campaign.posterior(progress=False), batch, NOW
    )
    assert found.advice.startswith("go on: 5 more measurements should lower the expected error by ")
    assert found.to_dict()["outlook"]["entries"] == 5
    campaign.set(target_sd=1e-9)
    assert "1e-09 was asked for" in str(campaign.outlook(5, progress=False))
    campaign.set(target_sd=10.0)
    assert campaign.outlook(5, progress=False).advice.startswith("the target is reached")


def test_past_batches_show_what_was_promised_of_them_and_what_came() -> None:
    """The promise is that of the outlook then; what came is the expected error after it. No fit is made for them."""
    campaign, X = begun(), truth()
    answer(campaign, ask(campaign, 14), X)
    promises, errors = [], []
    for _ in range(5):
        found = campaign.outlook(6, progress=False)
        assert found.outlook is not None
        promises.append(found.outlook.error_after)
        errors.append(found.outlook.error_now)
        assert len(found.past) == min(len(errors) - 1, 3)
        for k, batch in enumerate(reversed(found.past), 1):
            assert batch.measurements == 14 + 6 * (len(errors) - 1 - k)
            assert batch.entries == 6
            before, after = errors[-1 - k], errors[-k] if k > 1 else errors[-1]
            assert batch[2:] == pytest.approx((before, promises[-1 - k], after))
        answer(campaign, ask(campaign, 6), X)
    assert found.to_dict()["past"] == [batch._asdict() for batch in found.past]
    first = found.past[0]
    assert first.promised == pytest.approx(1 - first.error_promised / first.error_before)
    assert found.advice.count("The last 3 batches promised ") == 1
    assert found.advice.endswith(" came.")
    fresh = begun()
    fresh.tell(row=campaign.state.told.rows, col=campaign.state.told.cols, value=campaign.state.values)
    assert fresh.outlook(6, progress=False).past == ()


def test_promises_in_words() -> None:
    assert outlook.describe_past(()) == []
    short = outlook.PastBatch(100, 8, 1.0, 0.83, 0.96)
    worse = outlook.PastBatch(108, 8, 0.96, 0.9, 1.0)
    assert outlook.describe_past((short,)) == ["The last batch promised 17%; 4% came."]
    assert outlook.describe_past((short, worse)) == ["The last 2 batches promised 17%, 6.2%; 4%, -4.2% came."]


def test_the_advice_does_not_depend_on_the_size_of_the_batch() -> None:
    """Eight of a million entries lower the error by a part in ten thousand: not a reason to stop."""
    per_entry = 0.95e-5
    for n in (1, 8, 1000):
        go_on = outlook.Outlook(0.95, 0.95, 0.95 - n * per_entry, n, float(n), 1.0, 0.05 / 5000, 995_000)
        assert outlook.give_advice(go_on, None).startswith("go on: ")
        assert "an entry now brings 95% of what it has brought so far" in outlook.give_advice(go_on, None)
        fast = outlook.Outlook(0.95, 0.95, 0.95 - n * per_entry, n, float(n), 1.0, per_entry / 19, 995_000)
        assert "an entry now brings 19 times what it has brought so far" in outlook.give_advice(fast, None)
        slow = outlook.Outlook(0.1, 0.1, 0.1 - n * 1e-7, n, float(n), 1.0, 0.9 / 100_000, 900_000)
        assert outlook.give_advice(slow, None).startswith(
            "An entry now brings 1.1% of what it has brought so far."
        )
        over = outlook.Outlook(0.1, 0.1, 0.1 - n * 1e-9, n, float(n), 1.0, 0.9 / 100_000, 900_000)
        assert outlook.give_advice(over, None).startswith(
            "All 900,000 entries left would lower the expected error by at"
        )
        for told in (slow, over):
            assert outlook.give_advice(told, None).endswith(
                "You can stop here, unless you need single entries."
            )
    costly = outlook.Outlook(0.95, 0.95, 0.94, 8, 80.0, 1.0, 0.05 / 5000, 995_000)
    assert "a unit of cost now brings" in outlook.give_advice(costly, None)


def test_one_entry_and_many_get_the_same_advice() -> None:
    campaign = begun((40, 30))
    X = 10 * truth((40, 30))
    answer(campaign, ask(campaign, 250), X + np.random.default_rng(0).normal(size=X.shape))
    found = [campaign.outlook(n, progress=False) for n in (1, 40)]
    assert [ahead.advice[:6] for ahead in found] == ["go on:", "go on:"]
    single = found[0].outlook
    assert single is not None
    assert 1 - single.error_after / single.error_now < 0.01
    assert single.error_at_start == pytest.approx(np.std(campaign.state.values))
    so_far = (single.error_at_start - single.error_now) / 250
    assert single.gain_per_cost_so_far == pytest.approx(so_far)
    assert single.entries_left == 950


@pytest.mark.slow
@pytest.mark.usefixtures("full_fits")
def test_with_few_values_the_expected_error_is_not_far_too_small() -> None:
    """From the second batch on it is right. After the first, 12 of 108 values, it is 1.3 times too small.

    Rows and columns of this table do not differ, which one value a row cannot show: the prior allows for levels, and
    some of what is noise and pattern is taken for them.
    """
    ratios = np.empty((6, 2))
    for seed in range(6):
        X = truth(seed=seed)
        campaign = begun(rank="auto", seed=seed)
        for batch in range(2):
            answer(campaign, ask(campaign, 12), X)
            posterior = campaign.posterior(progress=False)
            error = np.sqrt(np.mean((posterior.mean - X) ** 2))
            ratios[seed, batch] = error / fits.expected_error(campaign.state, posterior)
    first, second = ratios.mean(axis=0)
    assert 0.85 < first < 1.45
    assert 0.7 < second < 1.2


@pytest.mark.parametrize("plates", [None, "rows", "cols"])
def test_what_can_be_paid_is_that_of_a_dense_map(plates: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "BLOCK_ENTRIES", 20)
    rng = np.random.default_rng(0)
    entry, row, mask = rng.uniform(1, 3, (12, 9)), rng.uniform(0, 1, 12), rng.random((12, 9)) < 0.7
    question = Problem((12, 9), mask=mask, costs=Costs(entry, row), limits=Limits(plates=plates))
    cost = entry + row[:, None]
    if plates is not None:
        cost = (cost * mask).sum(1 if plates == "rows" else 0, keepdims=True)
    left = float(np.median(cost))
    assert np.array_equal(policy.find_payable(question, left), mask & (cost <= left))


def test_where_nothing_is_left_the_failures_are_counted_beside_what_was_told() -> None:
    campaign = begun((2, 3), rank=1, acquisition="uniform")
    ids = ask(campaign, 6)["id"]
    campaign.fail(ids[:2])
    at = dt.datetime.now(dt.UTC)
    assert "all are told, failed or pending (4 pending)" in (policy.explain_end(campaign.state, at) or "")
    campaign.tell(ids[2:], [1.0, 2.0, 3.0, 4.0])
    sentence = "every entry has been told (4) or has failed (2). Withdraw a failure to try it again."
    assert (policy.explain_end(campaign.state, at) or "").endswith(sentence)
    campaign.tell(ids[:2], [5.0, 6.0])
    assert "every entry has been told (6). The setting `again`" in (
        policy.explain_end(campaign.state, at) or ""
    )


def test_an_outlook_says_what_is_gained_for_a_unit_of_cost() -> None:
    found = outlook.Outlook(2.0, 1.5, 1.0, entries=4, cost=8.0)
    assert found.to_dict()["gain_per_cost"] == found.gain_per_cost == 0.0625
    assert "for a cost of 8 (0.0625 less for a unit of it)" in str(found)
    assert outlook.Outlook(2.0, 1.5, 1.5, entries=0, cost=0.0).to_dict()["gain_per_cost"] == 0.0


def test_deviations_left_open_after_measuring_again_are_those_of_every_entry_by_itself():
    rng = np.random.default_rng(3)
    omega2, nu2 = rng.uniform(0.5, 2, 7), rng.uniform(0.1, 3, 7)
    times, var = (
        np.array([1.0, 3.0, 0.0, 2.0]),
        np.array([0.0, 0.0, 0.4, 0.1]),
    )  # the third with its own error alone
    keys, zeros = np.array([1, 4, 6, 11]), np.zeros(4)
    deviation = Deviation(omega2, nu2, keys, zeros, times, var, zeros, zeros, 4)

    def variance(key: int, more: int) -> float:
        total = 0.0
        for w, v in zip(omega2, nu2, strict=True):
            precision = 1 / w + more / v
            if key in keys:
                k = int(np.flatnonzero(keys == key)[0])
                precision += 1 / ((v / times[k] if times[k] else 0.0) + var[k])
            total += 1 / precision / 7
        return total

    again = Entries(np.array([0, 0, 1, 2, 1]), np.array([0, 1, 0, 3, 0]))
    more = dict(zip(*map(list, np.unique(again.keys(4), return_counts=True)), strict=True))
    now, after = (sum(variance(key, known.get(key, 0)) for key in range(12)) for known in ({}, more))
    posterior = SimpleNamespace(deviation=deviation, shape=(3, 4))
    assert outlook.share_of_deviations(posterior, again) == pytest.approx(after / now, rel=1e-12)
    assert outlook.share_of_deviations(posterior, Entries.from_lists([], [])) == 1.0
    assert outlook.share_of_deviations(SimpleNamespace(deviation=None), again) == 1.0


def test_measuring_a_full_table_again_is_promised_what_comes():
    """Of entries with deviations and a known noise: it was promised to bring nothing."""
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = 3 * np.outer(rng.normal(size=8), rng.normal(size=6)) + rng.normal(size=(8, 6))
        rows, cols = [f"r{i}" for i in range(8)], [f"c{j}" for j in range(6)]
        i, j = np.indices(X.shape).reshape(2, -1)
        at = {"row": [rows[k] for k in i], "col": [cols[k] for k in j]}
        first, second = ((X + rng.normal(size=X.shape))[i, j].tolist() for _ in range(2))
        with Campaign.create(
            "sqlite://",
            "lab",
            rows,
            cols,
            values=at | {"value": first},
            rank=1,
            noise_sd=1.0,
            again=True,
            seed=seed,
        ) as campaign:
            assert campaign.outlook(48).outlook.error_after < 0.9 * campaign.outlook(48).outlook.error_now
            now, promised = outlook.expect_errors(
                campaign.state, campaign.posterior(progress=False), [Entries(i, j)]
            )
            campaign.tell(at | {"value": second}, again=True)
            after = fits.expected_error(campaign.state, campaign.posterior(progress=False))
        ratios.append((now - after) / (now - promised))
    assert 0.8 < np.median(ratios) < 1.25, ratios
