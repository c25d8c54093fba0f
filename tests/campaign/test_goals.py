"""Goals of campaigns: batches keep to masks, costs, limits, plates and pending entries, whatever the values are."""

from typing import Any

import numpy as np
import pytest
from tests.campaign.examples import ask, begun, places, truth, until_over

from maxentry.acquisition import Problem
from maxentry.acquisition.targets import GoalCriterion
from maxentry.campaign import policy
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.outlook import Outlook, can_stop, describe_goal
from maxentry.errors import NothingToAskError, ParameterError
from maxentry.plots.report import render_report
from maxentry.posterior.decisions import Prospect

WORDS = [
    "best 4",
    "smallest per row",
    "best 2 per column",
    "rank rows",
    "rank columns smallest",
    "threshold 0.3",
]
# What is told, as settings and as a function of the truth; and what the lines of an answer lie between.
KINDS: dict[str, tuple[dict[str, Any], Any, tuple[float, float]]] = {
    "numbers": ({}, lambda x: x, (-np.inf, np.inf)),
    "log": ({"transform": "log"}, np.exp, (0, np.inf)),
    "yes/no": ({"kind": "yes/no"}, lambda x: np.where(x > 0, "yes", "no"), (0, 1)),
    "grades": (
        {"kind": "grades", "levels": (1, 2, 3)},
        lambda x: 2 + np.sign(np.round(x)).astype(int),
        (1, 3),
    ),
    "limits": (
        {},
        lambda x: np.where(x < -0.5, "<-0.5", np.char.mod("%.3f", np.maximum(x, -0.5))),
        (-np.inf, np.inf),
    ),
}


def told(**settings: Any) -> Campaign:
    """A campaign with half of its entries told."""
    X, rng = truth(), np.random.default_rng(1)
    i, j = np.nonzero(rng.random(X.shape) < 0.4)
    campaign = begun(**settings)
    campaign.tell(row=i.tolist(), col=j.tolist(), value=X[i, j].tolist())
    return campaign


@pytest.fixture(scope="module")
def masked() -> Campaign:
    rng = np.random.default_rng(2)
    costs = {"col": np.where(np.arange(9) < 4, 1.0, 3.0)}
    return told(mask=rng.random((12, 9)) < 0.7, costs=costs, budget=70)


def batch(campaign: Campaign, n: int, **limits: Any) -> policy.Batch:
    state = campaign.state
    return policy.next_batch(state, n, campaign.now(state), **limits, cache=campaign.cache, progress=False)


@pytest.mark.parametrize("words", WORDS)
def test_a_batch_keeps_to_masks_costs_budgets_and_limits(masked: Campaign, words: str) -> None:
    masked.set(goal=words)
    state = masked.state
    left = policy.budget_left(state, masked.now(state))
    assert left is not None
    found = batch(masked, 100, per_row=2)
    assert state.mask is not None
    assert state.mask[found.rows, found.cols].all()
    keys = found.rows * 9 + found.cols
    assert len(set(keys.tolist())) == len(keys) > 8
    assert not set(keys.tolist()) & set(state.told_keys.tolist())
    assert np.bincount(found.rows).max() <= 2
    np.testing.assert_array_equal(found.cost, np.where(found.cols < 4, 1.0, 3.0))
    assert found.cost.sum() <= left
    assert found.why == words + policy.say_idle(found.gain)
    assert not ((found.gain != 0) & (found.gain <= policy.ROUNDING * found.gain.max())).any()
    plate = batch(masked, 1, plates="cols")
    (col,) = set(plate.cols.tolist())
    free = state.mask[:, col] & ~np.isin(np.arange(12) * 9 + col, state.told_keys)
    assert sorted(plate.rows.tolist()) == np.flatnonzero(free).tolist()


@pytest.mark.parametrize("words", WORDS)
def test_two_batches_are_one_since_pending_entries_count_as_measured(words: str) -> None:
    campaign = told(goal=words)
    at_once = batch(campaign, 6)
    first, second = places(ask(campaign, 3)), places(ask(campaign, 3))
    together = [(int(i), int(j)) for i, j in zip(at_once.rows, at_once.cols, strict=True)]
    assert [*first, *second] == together
    assert len(set(together)) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_value_has_answers_and_batches(kind: str) -> None:
    settings, tell, (low, high) = KINDS[kind]
    X, rng = truth(), np.random.default_rng(1)
    i, j = np.nonzero(rng.random(X.shape) < 0.5)
    campaign = begun(**settings)
    campaign.tell(row=i.tolist(), col=j.tolist(), value=tell(X[i, j]).tolist())
    for words in WORDS:
        campaign.set(goal=words)
        found = campaign.answer()
        estimates = np.asarray(found.table["estimate"])
        assert ((estimates >= low) & (estimates <= high)).all()
        shares = np.asarray(found.table["probability"])
        assert ((shares >= 0) & (shares <= 1)).all()
        ahead = campaign.outlook(3)
        assert ahead.at_stake is not None
        assert ahead.at_stake.now == pytest.approx(found.at_stake, rel=1e-6, abs=1e-9)
        assert len(set(places(ask(campaign, 3)))) == 3


def test_once_it_is_good_enough_the_campaign_says_so_and_asks_no_more() -> None:
    campaign = told(goal="best per column", enough=0.005)
    advice = campaign.outlook(4).advice
    assert advice.endswith("0.005 was asked for.")
    assert "4 more measurements should lower it by" in advice
    over = until_over(campaign, 8, truth())
    assert over.startswith("the goal is reached: Expected regret: 0")
    assert campaign.answer().at_stake <= 0.005
    with pytest.raises(NothingToAskError):
        ask(campaign, 1)
    campaign.set(goal="rank rows", enough=None)
    assert len(ask(campaign, 1)["id"]) == 1


@pytest.mark.parametrize(
    ("words", "now", "changes", "advice"),
    [
        (
            "best per row",
            3.2,
            1.4,
            "go on: Expected regret: 3.2; 8 more measurements should lower it by 50% to 1.6",
        ),
        (
            "best per row",
            0.15,
            0.01,
            "Expected regret: 0.15; 8 more measurements should lower it by 50% to 0.075",
        ),
        ("best per row", 0.15, 0.2, "go on: Expected regret: 0.15; 8 more"),
        ("best per row", 3.2, 0.01, "go on: Expected regret: 3.2; 8 more"),
        (
            "rank rows",
            0.008,
            0.0,
            "Pairs in the wrong order: 0.8% expected; 8 more measurements should lower it by",
        ),
        (
            "threshold 1",
            0.2,
            3.0,
            "go on: Entries on the wrong side: 20% expected; 8 more measurements should lower",
        ),
        ("best", 0.0, 0.0, "Expected regret: 0. You can stop here."),
    ],
)
def test_advice_by_what_one_more_batch_would_change(
    words: str, now: float, changes: float, advice: str
) -> None:
    settings = begun(goal=words).settings
    ahead = Outlook(5.0, 5.0, 4.0, 8, 8.0, error_at_start=20.0, entries_left=40)
    said = describe_goal(settings, None, Prospect(now, now / 2, changes, 12), ahead)  # type: ignore[arg-type]
    assert said.startswith(advice)
    if now:
        what = {"b": "choices", "r": "pairs", "t": "entries"}[words[0]]
        number = f"{changes:.1f}" if changes >= 0.05 else "none"
        assert f" and change {number} of 12 {what}." in said
    assert said.endswith("You can stop here.") is not advice.startswith("go on")
    prospect = Prospect(now, now / 2, changes, 12)
    assert can_stop(settings, ahead, prospect) is said.endswith("You can stop here.")
    assert can_stop(settings, ahead, None) is False
    assert can_stop(settings, ahead, Prospect(now, now, 0.0, 12))  # all that is left would lower nothing
    reached = begun(goal=words, enough=0.001).settings
    if now:
        assert describe_goal(reached, None, Prospect(now, now / 2, 0.0, 12), ahead).endswith(  # type: ignore[arg-type]
            "0.001 was asked for." if words.startswith("best") else "0.1% was asked for."
        )
        assert not can_stop(reached, ahead, Prospect(now, now / 2, 0.0, 12))


def test_nothing_is_gained_beyond_the_end_of_a_scale_and_that_is_said() -> None:
    """The first two rows are beyond 100, and the first was measured everywhere: the second cannot be better."""
    values = 50 + 10 * truth()
    values[:2] += 60
    known = np.random.default_rng(1).random(values.shape) < 0.5
    known[0] = True
    (i, j), (m1, m2) = np.nonzero(known), values.shape
    campaign = begun(goal="best per column", limits=(0, 100))
    campaign.tell(row=i.tolist(), col=j.tolist(), value=np.clip(values[i, j], 0, 100).tolist())
    found = batch(campaign, 6)
    assert found.gain.max() < 0.05  # measured with noise, so the first may be below 100 after all
    assert "promise nothing more for it and are what is known least" in found.why
    again = batch(campaign, 6)
    assert (again.rows.tolist(), again.cols.tolist()) == (found.rows.tolist(), found.cols.tolist())
    posterior = campaign.posterior(progress=False)
    beyond = posterior.goal_answers._replace(ends=None)  # the control: the order beyond the end counts
    criterion = GoalCriterion(campaign.settings.wanted, None, beyond.convert)
    problem = Problem((m1, m2), observed=campaign.state.told)
    other = criterion.choose(posterior.belief, problem, 6, np.random.default_rng(0))
    assert other.gain.max() > 0.5
    campaign.set(goal="threshold 60")
    assert batch(campaign, 6).why == "threshold 60"


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        ([0.3, 0.1], ""),
        ([0.3, 0.0, 0.0], "; 2 of these 3 promise nothing more for it and are what is known least"),
        ([0.0], "; these promise nothing more for it and are what is known least"),
        ([], ""),
    ],
)
def test_entries_of_no_gain_are_counted(gain: list[float], said: str) -> None:
    assert policy.say_idle(np.array(gain)) == said


def test_a_batch_that_should_lower_nothing_is_not_said_to_lower_it_by_0_percent() -> None:
    said = Prospect(0.175, 0.175, 2.8, 6).say(begun(goal="best per column").settings.wanted, 8)
    assert said == "8 more measurements should not lower it but change 2.8 of 6 choices"


def test_a_ranking_measures_more_in_columns_that_count() -> None:
    campaign = told(goal="rank rows", weights=[1, 1, 1, 0, 0, 0, 0, 0, 0])
    weighted = batch(campaign, 12)
    campaign.set(weights=None)
    alike = batch(campaign, 12)
    assert (weighted.cols < 3).sum() > (alike.cols < 3).sum() + 3


def with_units(factor: float = 1.0, shift: float = 0.0, **settings: Any) -> Campaign:
    """Shares of twelve rows in four columns; the last column is `factor` times as large, and `shift` larger."""
    X = np.random.default_rng(3).uniform(0.3, 0.9, (12, 4))
    X[:, 3] = shift + factor * X[:, 3]
    labels = [f"m{i}" for i in range(12)], ["a", "b", "c", "ms"]
    campaign = Campaign.create("sqlite://", "x", *labels, seed=1, rank=1, **settings)
    i, j = np.nonzero(np.random.default_rng(4).random(X.shape) < 0.9)
    campaign.tell(
        {"row": [labels[0][k] for k in i], "col": [labels[1][k] for k in j], "value": X[i, j].tolist()}
    )
    return campaign


def test_enough_is_a_share_of_pairs_or_entries_and_goes_with_its_goal() -> None:
    campaign = told(goal="best per column", enough=1.0)  # a regret, in the units of the values
    for words in ("rank rows", "threshold 2", "fill"):
        with pytest.raises(
            ParameterError, match=r"enough \(1\) was asked for another goal \(best\)\. Set it anew"
        ):
            campaign.set(goal=words)
    for share in (1.0, 5.0):
        with pytest.raises(ParameterError, match="share of pairs in the wrong order, below 1"):
            campaign.set(goal="rank rows", enough=share)
    assert (campaign.settings.goal, campaign.settings.enough) == ("best per column", 1.0)
    with pytest.raises(ParameterError, match=r"below 1, got 5; for 5% say 0\.05"):
        begun(goal="threshold 2", enough=5)
    campaign.set(goal="best 3", enough=None)
    campaign.set(goal="rank rows", enough=0.99)
    assert campaign.outlook().advice.endswith("99% was asked for.")
    campaign.set(enough=0.0001)
    assert "0.01% was asked for" in campaign.outlook().advice


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("rank rows", "adds up values as they are"),
        ("best", "compares values as they are"),
        ("best per row", "compares values as they are"),
        ("threshold 0.5", "compares values as they are"),
        ("rank columns", ""),
        ("best per column", ""),
        ("fill", ""),
    ],
)
def test_a_goal_that_mixes_units_is_said_in_the_status(goal: str, said: str) -> None:
    notes = with_units(400, goal=goal).status().notes
    assert len(notes) == bool(said)
    assert not said or (
        said in notes[0]
        and notes[0].startswith("Some columns lie far from the rest, or vary far more or less: 'ms'")
    )
    assert not said or ("--weights" in notes[0]) == goal.startswith("rank")
    assert not said or "'ms' (location only)" in with_units(shift=1000, goal=goal).status().notes[0]
    assert not with_units(goal=goal).status().notes
    assert not with_units(400, goal=goal, transform="log").status().notes  # values may vary by factors there


def test_the_answer_says_that_it_mixes_units_until_weights_are_given() -> None:
    campaign = with_units(400, goal="rank rows")
    found = campaign.answer()
    (note,) = campaign.status().notes
    assert found.note == note == found.to_dict()["note"]
    assert str(found).endswith(note)
    assert found.summary[-1].startswith("Pairs in the wrong order")
    assert campaign.answer("best per column").note == ""
    page = render_report(campaign, points=0)
    assert page.count("Some columns lie far from the rest") == 1
    campaign.set(weights={"ms": 0})
    assert campaign.answer().note == ""
    assert campaign.status().notes == []
    assert with_units(goal="rank rows").answer().note == ""
