"""Asking about one row: the entries that tell most about it, whatever the kinds, masks, costs and pending entries."""

from typing import Any

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, places, truth
from tests.campaign.test_goals import KINDS, told

from maxentry.campaign import events
from maxentry.campaign.campaign import Campaign
from maxentry.errors import LabelError, NothingToAskError, ParameterError

pytestmark = pytest.mark.usefixtures("short_fits")
NEW = "new"


def with_newcomer(**settings: Any) -> Campaign:
    """A campaign with a row of which nothing is known."""
    campaign = told(**settings)
    campaign.add_rows([NEW])
    return campaign


def slow_gains(campaign: Campaign, i: int, about: str) -> np.ndarray:
    """The gain of every entry of row i from dense covariances, conditioned on what is pending of it."""
    belief, state = campaign.posterior(progress=False).belief, campaign.state
    x = np.array([belief.draw(s)[i] for s in range(belief.n_draws)])
    cov = np.cov(x.T, bias=True)
    noise = np.full(x.shape[1], np.mean(belief.noise_var))
    pending = state.pending(campaign.now(state))
    for j in pending.cols[pending.rows == i]:
        cov = cov - np.outer(cov[j], cov[j]) / (cov[j, j] + noise[j])
    total = cov.mean(0) ** 2 if about == "average" else (cov**2).mean(0)
    return np.asarray(total / (np.diag(cov) + noise))


@pytest.mark.parametrize("about", ["row", "average"])
def test_asks_for_what_tells_most_about_the_row(about: str) -> None:
    campaign = with_newcomer()
    twin, given = with_newcomer(), {"row": NEW, "about": about}
    first = ask(campaign, 2, **given)
    assert first["row"] == [NEW, NEW]
    gains = slow_gains(twin, 12, about)
    assert first["col"][0] == gains.argmax()
    assert first["gain"][0] == pytest.approx(gains.max(), rel=1e-6)
    assert ask(twin, 2, **given) == first  # the same seed and events
    gains = slow_gains(campaign, 12, about)
    gains[first["col"]] = -1
    second = ask(campaign, 3, **given)
    assert second["col"][0] == gains.argmax()
    assert second["gain"][0] == pytest.approx(gains.max(), rel=1e-6)
    answer(campaign, first | {"row": [0, 0]}, truth())  # by id, as any other batch
    assert campaign.status().told == twin.status().told + 2
    kind = {"row": "integrated variance", "average": "its average"}[about]
    assert f"row 'new': {kind}" in campaign.history(frame="columns")["what"][-2]


def test_an_old_row_is_asked_about_by_its_label() -> None:
    campaign = told()
    known = {j for i, j in zip(*campaign.state.told, strict=True) if i == 5}
    asked = ask(campaign, 20, row=5)
    assert set(places(asked)) == {(5, j) for j in range(9) if j not in known}
    with pytest.raises(NothingToAskError, match="no entry of row 5 is left"):
        ask(campaign, 1, row="5")  # text, as on the command line


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_measurement(kind: str) -> None:
    settings, tell, _ = KINDS[kind]
    X, rng = truth(), np.random.default_rng(1)
    i, j = np.nonzero(rng.random(X.shape) < 0.5)
    campaign = begun(**settings)
    campaign.tell(row=i.tolist(), col=j.tolist(), value=tell(X[i, j]).tolist())
    campaign.add_rows([NEW])
    for about in ("row", "average"):
        asked = ask(campaign, 3, row=NEW, about=about)
        assert len(set(asked["col"])) == 3
        assert min(asked["gain"]) > 0
    assert len(campaign.pending(frame="columns")["id"]) == 6


def test_masks_costs_and_budgets_are_kept() -> None:
    mask = np.ones((12, 9), dtype=bool)
    mask[4, ::2] = False
    dear = {"col": np.where(np.arange(9) < 4, 1.0, 30.0)}
    campaign = told(mask=mask, costs=dear, budget=42.0)
    asked = ask(campaign, 9, row=4)
    free = [j for j in (1, 3, 5, 7) if (4, j) not in set(zip(*campaign.state.told, strict=True))]
    assert set(asked["col"]) <= set(free)
    assert sum(asked["cost"]) <= 42
    assert asked["col"][0] in (1, 3)  # cheap ones first: gains are for a unit of cost


def test_before_there_is_a_posterior_columns_are_levelled() -> None:
    campaign = begun()
    campaign.tell(row=[0, 1, 2, 3], col=[0, 0, 1, 2], value=[1.0, 2.0, 3.0, 4.0])
    asked = ask(campaign, 6, row=7)
    assert set(asked["row"]) == {7}
    assert set(asked["col"]) == set(range(3, 9))  # of which nothing is known yet
    assert np.isnan(np.array(asked["mean"], dtype=float)).all()
    plain = begun(acquisition="uniform")
    assert set(ask(plain, 9, row=7)["col"]) == set(range(9))


def test_weights_of_a_ranking_count_in_the_average() -> None:
    weighted = told(goal="rank rows", weights={8: 100.0})
    plain = told(goal="rank rows")
    row = next(i for i in range(12) if (i, 8) not in set(zip(*plain.state.told, strict=True)))
    assert ask(weighted, 1, row=row, about="average")["col"] == [8]
    gains = slow_gains(plain, row, "average")
    assert ask(plain, 1, row=row, about="average")["gain"][0] == pytest.approx(gains.max(), rel=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"row": "nobody"}, LabelError, r"'nobody'. Add it first \(add_rows"),
        (
            {"row": 3, "plates": "rows"},
            ParameterError,
            "either a row or limits of the batch, got row and plates",
        ),
        ({"row": 3, "per_col": 1}, ParameterError, "got row and per_col"),
        ({"about": "average"}, ParameterError, "a row with about='average', got none"),
        ({"row": 3, "about": "all"}, ParameterError, "'row' or 'average', got 'all'"),
    ],
)
def test_refusals_store_nothing(given: dict[str, Any], error: type[Exception], message: str) -> None:
    campaign = told()
    before = campaign.state.version
    with pytest.raises(error, match=message):
        ask(campaign, 2, **given)
    assert campaign.state.version == before


def test_a_new_row_costs_what_each_column_does_and_rows_of_earlier_events_keep_their_costs() -> None:
    costs = np.array([[1.0, 2.0, 9.0], [3.0, 4.0, 11.0]])
    campaign = begun((2, 3), rank=1, costs=costs)
    campaign.add_rows([NEW])
    campaign.add_cols(["more"])
    state, every = campaign.state, np.arange(4)
    np.testing.assert_allclose(state.costs.at(np.full(4, 2), every), [2, 3, 10, 5])
    np.testing.assert_allclose(state.costs.at(np.arange(3), np.full(3, 3)), [4, 6, 5])

    event = events.RowsAdded((NEW,), None, None, True)
    assert event.payload()["by_line"] is True
    earlier = {key: x for key, x in event.payload().items() if key != "by_line"}
    known = events.RowsAdded.read(dict(earlier))
    assert known.payload() == earlier
    settings = begun((2, 3), rank=1, costs=costs).settings
    plain = settings.extended("row", known.labels, known.cost, known.features, known.by_line)
    np.testing.assert_allclose(plain.costs.at(np.full(3, 2), np.arange(3)), 5)


def test_events_of_campaigns_without_entry_costs_are_as_they_were() -> None:
    campaign = begun((2, 3), rank=1, costs={"col": [1.0, 2.0, 3.0]})
    campaign.add_rows([NEW])
    (record,) = campaign.records(since=1)
    assert "by_line" not in record.event.payload()
    np.testing.assert_allclose(campaign.state.costs.at(np.full(3, 2), np.arange(3)), [1, 2, 3])
