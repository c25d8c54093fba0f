"""Maps hold what the posterior says, in the order shown, and nothing of the size of a large matrix is formed."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.campaign.examples import begun
from tests.plots.examples import asked, small
from tests.posterior.examples import SHORT, low_rank

from maxentry import complete, plots
from maxentry.belief import Belief
from maxentry.errors import CampaignError, ParameterError
from maxentry.model.likelihood import NoiseLaw
from maxentry.plots import heatmaps
from maxentry.plots.heatmaps import colour_limits, side, similarity_order
from maxentry.plots.plot import Subject
from maxentry.plots.records import HeatMap
from maxentry.posterior.intervals import Answers
from maxentry.summary.maps import Bins
from maxentry.transform import NONE, ValueMap


def record(plot: plots.Plot) -> HeatMap:
    assert isinstance(plot.record, HeatMap)
    return plot.record


@pytest.mark.parametrize("transform", ["none", "log"])
def test_maps_of_a_small_matrix_are_the_posteriors(transform: str) -> None:
    posterior = small(transform=transform)
    low, high = posterior.interval(0.8)
    for plot, expected in (
        (plots.mean(posterior), posterior.mean),
        (plots.sd(posterior), posterior.sd),
        (plots.width(posterior, level=0.8), high - low),
    ):
        shown = record(plot)
        np.testing.assert_allclose(shown.values, expected, rtol=1e-9)
        assert shown.logarithmic == (transform == "log")
        assert not shown.rows.binned
        assert ("log scale" in shown.note) == (transform == "log")


def test_measured_entries_are_marked_and_shown() -> None:
    posterior = small()
    shown, marked = record(plots.observed(posterior)), record(plots.mean(posterior)).marks
    _, Y = low_rank((12, 9))
    np.testing.assert_allclose(shown.values, Y)
    assert [m.kind for m in marked] == ["measured"]
    assert set(zip(marked[0].rows, marked[0].cols, strict=True)) == set(
        zip(*np.nonzero(~np.isnan(Y)), strict=True)
    )


def test_replicates_are_shown_as_their_mean() -> None:
    data = ([0, 0, 1, 2, 2], [0, 0, 1, 0, 1], [1.0, 3.0, 5.0, 2.0, 2.0])
    shown = record(plots.observed(complete(data, 0, shape=(3, 2), seed=1, progress=False)))
    assert shown.values[0, 0] == 2.0
    assert shown.values[1, 1] == 5.0


def test_a_clustered_map_is_the_map_with_rows_and_columns_moved_together_with_their_names() -> None:
    posterior = small()
    plain, moved = record(plots.sd(posterior)), record(plots.sd(posterior, order="clustered"))
    rows, cols = ([a.names.index(name) for name in b.names] for a, b in
                  ((plain.rows, moved.rows), (plain.cols, moved.cols)))  # fmt: skip
    assert sorted(rows) == list(range(12))
    assert rows != list(range(12))
    np.testing.assert_allclose(moved.values, plain.values[np.ix_(rows, cols)])
    before, after = (set(zip(m.marks[0].rows, m.marks[0].cols, strict=True)) for m in (plain, moved))
    assert {(rows[i], cols[j]) for i, j in after} == before


@pytest.mark.parametrize("m", [60, 500, 2500])
def test_rows_of_a_kind_become_neighbours(m: int) -> None:
    rng = np.random.default_rng(m)
    kind = rng.integers(3, size=m)
    profiles = np.array([[0.0, 0, 0], [10, 0, 0], [30, 0, 5]])[kind] + 0.1 * rng.normal(size=(m, 3))
    found = kind[similarity_order(profiles)]
    assert (np.diff(found) != 0).sum() == 2
    assert sorted(similarity_order(profiles)) == list(range(m))


def test_large_maps_average_entries_of_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = small()
    split = Bins.split
    monkeypatch.setattr(Bins, "split", lambda order: split(order, 4))
    shown = record(plots.mean(posterior))
    assert shown.values.shape == (4, 4)
    assert shown.rows.binned
    edges = [9 * k // 4 for k in range(5)]
    for a in range(4):
        for b in range(4):
            rows, cols = slice(3 * a, 3 * a + 3), slice(edges[b], edges[b + 1])
            assert shown.values[a, b] == pytest.approx(posterior.mean[rows, cols].mean())
    share = record(plots.observed(posterior))
    count = (~np.isnan(low_rank((12, 9))[1]))[:3, :2].mean()
    assert share.scale == "share"
    assert share.values[0, 0] == pytest.approx(100 * count)


def test_nothing_of_the_size_of_a_large_matrix_is_formed() -> None:
    rng, (m1, m2), S = np.random.default_rng(0), (30_000, 20_000), 3
    belief = Belief(
        rng.normal(size=(S, m1, 1)), rng.normal(size=(S, m2, 1)), np.zeros((S, m1)), np.zeros((S, m2)),
        np.zeros(S), np.ones(S),
    )  # fmt: skip
    data = SimpleNamespace(
        row_labels=None, col_labels=None, row_name=None, col_name=None, rows=rng.integers(m1, size=50),
        cols=rng.integers(m2, size=50), values=np.ones(50),
    )  # fmt: skip
    posterior = SimpleNamespace(
        belief=belief, shape=(m1, m2), transform=NONE, value_map=ValueMap(), observations=data,
        answers=Answers(NoiseLaw(np.ones(S))),
    )  # fmt: skip
    subject = Subject.from_posterior(posterior)  # type: ignore[arg-type]
    tracemalloc.start()
    figures = heatmaps.observed, heatmaps.mean, heatmaps.sd, heatmaps.width
    shown = [record(figure(subject)) for figure in figures]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {each.values.shape for each in shown} == {(200, 200)}
    assert peak < 0.05 * 8 * m1 * m2
    assert shown[1].note == "each cell the mean of 150 x 100 entries"
    assert shown[2].note.startswith("each cell the root mean square of 150 x 100 entries, from a sample of ")
    first = belief.at(*(x.ravel() for x in np.mgrid[:150, :100]))  # the entries of the first cell
    assert shown[1].values[0, 0] == pytest.approx(first.mean())
    assert shown[2].values[0, 0] == pytest.approx(np.sqrt(first.var(0, ddof=1).mean()), rel=0.2)


def test_names_say_what_a_cell_stands_for() -> None:
    backwards = side(Bins.split(np.arange(5)[::-1], 2), "rows", ["a", "b", "c", "d", "  e\n f"])
    assert backwards.names == ("e f + 1", "c + 2")  # "c … a" would look like a range
    assert backwards.binned
    assert side(Bins.split(np.arange(5), 2), "rows", list("abcde")).names == ("a … b", "c … e")
    assert not side(Bins.split(np.arange(5)), "rows", None).binned
    assert side(Bins.split(np.arange(2)), "rows", ["", "x"]).names == ("''", "x")
    assert side(Bins.split(np.arange(2)), "rows", None).names == ("0", "1")


def test_colours_end_where_the_bulk_of_the_values_does() -> None:
    values = np.arange(1000.0).reshape(10, 100)
    assert colour_limits(values) == (0.0, 999.0)
    values[0, 0] = -1e6
    low, high = colour_limits(values)
    assert 0 < low < 20
    assert 980 < high < 999
    assert colour_limits(np.full((2, 2), np.nan)) == (0.0, 1.0)
    assert colour_limits(np.full((2, 2), 4.0)) == (2.0, 6.0)


def test_the_next_batch_is_what_ask_would_hand_out_and_asks_for_nothing() -> None:
    campaign = asked()
    version = campaign.state.version
    shown = record(plots.next_batch(campaign, 4))
    marks = {m.kind: list(zip(m.rows.tolist(), m.cols.tolist(), strict=True)) for m in shown.marks}
    assert campaign.state.version == version
    pending = campaign.pending(frame="columns")
    assert marks["pending"] == list(zip(pending["row"], pending["col"], strict=True))
    expected = Subject.check(campaign).next_batch(4)
    assert marks["next"] == list(zip(expected.rows.tolist(), expected.cols.tolist(), strict=True))
    assert not set(marks["next"]) & set(marks["measured"]) | set(marks["next"]) & set(marks["pending"])
    assert shown.note == "the next 4, 3 pending; chosen by predictive variance"


def test_what_failed_is_crossed_out() -> None:
    campaign = begun(acquisition="balanced")
    batch = campaign.ask(2, frame="columns", progress=False)
    campaign.fail(batch["id"][0])
    for plot in (plots.observed(campaign), plots.next_batch(campaign)):
        (failed,) = (m for m in record(plot).marks if m.kind == "failed")
        assert (failed.rows.tolist(), failed.cols.tolist()) == ([batch["row"][0]], [batch["col"][0]])
        assert failed.said == (f"{batch['row'][0]}, {batch['col'][0]}: failed",)


def test_before_anything_is_told_the_design_is_shown_without_a_posterior() -> None:
    campaign = begun()
    shown = record(plots.next_batch(campaign, 4))
    assert [m.kind for m in shown.marks] == ["next"]
    assert "initial design" in shown.note
    assert np.isnan(record(plots.observed(campaign)).values).all()
    with pytest.raises(CampaignError, match="at least one measurement"):
        plots.mean(campaign)


def test_what_cannot_be_drawn_is_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match="expected a Posterior or a Campaign, got a list"):
        plots.mean([1, 2])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'clustered', got 'sorted'"):
        plots.mean(small(), order="sorted")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="got a Posterior"):
        plots.next_batch(small())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="got a Posterior"):
        plots.history(small())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="whole number of entries from 1 on, got 0"):
        plots.next_batch(asked(), 0)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        plots.width(small(), level=90)


def test_axes_are_called_as_the_frame_called_its_rows_and_columns() -> None:
    Y = low_rank((6, 5))[1]
    frame = pd.DataFrame(Y, index=pd.Index(list("abcdef"), name="ligand <i>"), columns=list("vwxyz"))
    shown = plots.mean(complete(frame, 1, sampling=SHORT, seed=1, progress=False))
    titles = record(shown)
    assert (titles.rows.title, titles.cols.title) == ("ligand <i>", "columns")
    assert shown.plotly().layout.yaxis.title.text == "ligand &lt;i&gt;"
    assert shown.matplotlib().axes[0].get_ylabel() == "ligand <i>"
