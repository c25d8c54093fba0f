"""Expected error now, with pending, after the next batch: against dense covariances, and against what comes true."""

import datetime as dt

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, truth

from maxentry.acquisition import Costs, Limits, Problem
from maxentry.belief import Entries
from maxentry.campaign import fits, outlook, policy

NOW = dt.datetime.now(dt.UTC)


def dense_errors(belief, pending: Entries, batch: Entries) -> list[float]:
    """The same by covariances of all entries, conditioned one after the other."""
    S = belief.n_draws
    D = np.stack([belief.draw(s).ravel() for s in range(S)])
    C, m2 = np.cov(D.T), belief.shape[1]
    eta2 = belief.noise_var.mean() * S / (S - 1)  # the criterion's covariances have the divisor S
    errors = [np.sqrt(np.trace(C) / len(C))]
    for entries in (pending, batch):
        for k in entries.keys(m2):
            C = C - np.outer(C[k], C[k]) / (C[k, k] + eta2)
        errors.append(np.sqrt(np.trace(C) / len(C)))
    return errors


def test_the_outlook_is_that_of_dense_covariances() -> None:
    campaign = begun()
    answer(campaign, ask(campaign, 14), truth())
    pending = ask(campaign, 2)
    state, posterior = campaign.state, campaign.posterior(progress=False)
    batch = policy.next_batch(state, 5, NOW)
    found = outlook.compute_outlook(state, posterior, batch, NOW)
    expected = dense_errors(
        posterior.belief, Entries.from_lists(pending["row"], pending["col"]), Entries(*batch[:2])
    )
    assert np.allclose([found.error_now, found.error_with_pending, found.error_after], expected, rtol=1e-8)
    assert found.error_now > found.error_with_pending > found.error_after > 0
    assert found.gain_per_cost == pytest.approx((expected[1] - expected[2]) / 5)
    assert fits.expected_error(state, posterior) == pytest.approx(np.sqrt(np.mean(posterior.sd**2)))
    assert "after 5 more" in str(found)


def test_on_another_scale_the_error_is_in_the_users_units() -> None:
    campaign = begun(transform="log", rank=1)
    answer(campaign, ask(campaign, 60), np.exp(truth()))
    posterior = campaign.posterior(progress=False)
    batch = policy.next_batch(campaign.state, 3, NOW)
    found = outlook.compute_outlook(campaign.state, posterior, batch, NOW)
    assert found.error_now == pytest.approx(np.sqrt(np.mean(posterior.sd**2)))
    assert found.error_after < found.error_now


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
    """Over 40 matrices from the prior, squared error over expected squared error is 1 within its Monte Carlo error."""
    ratios = []
    for seed in range(40):
        X = truth(seed=seed)
        Y = X + 1e-2 * np.random.default_rng([seed, 1]).standard_normal(X.shape)
        campaign = begun(effects=False, priors="paper", seed=seed)
        answer(campaign, ask(campaign, 50), Y)
        posterior = campaign.posterior(progress=False)
        expected = fits.expected_error(campaign.state, posterior)
        ratios.append(np.mean((posterior.mean - X) ** 2) / expected**2)
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
    assert campaign.outlook().advice == "ask: initial design, nothing told yet."
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


@pytest.mark.slow
@pytest.mark.usefixtures("full_fits")
def test_with_few_values_the_expected_error_is_not_far_too_small() -> None:
    """With 12 of 108 values told nothing speaks for a rank: several are allowed for, and the spread says so."""
    ratios = []
    for seed in range(6):
        X = truth(seed=seed)
        campaign = begun(rank="auto", seed=seed)
        answer(campaign, ask(campaign, 12), X)
        posterior = campaign.posterior(progress=False)
        error = np.sqrt(np.mean((posterior.mean - X) ** 2))
        ratios.append(error / fits.expected_error(campaign.state, posterior))
    assert np.median(ratios) < 1.3


def test_nothing_is_unseen_where_the_rank_is_given() -> None:
    campaign = begun(rank=0)
    answer(campaign, ask(campaign, 12), truth())
    assert fits.unseen_variance(campaign.posterior(progress=False)) == 0


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
