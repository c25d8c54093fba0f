"""Whatever comes out is a frame if a frame went in, with its labels; an array if an array went in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.frames.examples import COLS, KINDS, ROW_LABELS, SHAPE, check_map, check_table, row_column, wide

import maxentry
from maxentry import Campaign, Observations, Posterior, Sampling, acquisition, completion, design
from maxentry.belief import Entries
from maxentry.errors import LabelError, ParameterError

TINY = Sampling(chains=2, anneal=4, settle=4, draws=3, thin=1)
LABELS = tuple(ROW_LABELS)
every_form = pytest.mark.parametrize(("kind", "labels"), [(k, name) for k in KINDS for name in LABELS])
frame_forms = pytest.mark.parametrize(("kind", "labels"), [(k, name) for k in KINDS[:2] for name in LABELS])


@cache
def fitted(kind: str, labels: str) -> Posterior:
    return maxentry.complete(wide(kind, labels), 1, sampling=TINY, seed=1, **row_column(kind))


# Posterior

MAPS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda p: p.mean,
    "sd": lambda p: p.sd,
    "low": lambda p: p.interval(0.8)[0],
    "high": lambda p: p.interval(0.8)[1],
    "new_low": lambda p: p.predictive_interval(0.8)[0],
    "new_high": lambda p: p.predictive_interval(0.8)[1],
}


@every_form
@pytest.mark.parametrize("name", MAPS)
def test_maps_have_the_form_of_the_data(kind: str, labels: str, name: str) -> None:
    posterior = fitted(kind, labels)
    check_map(MAPS[name](posterior), MAPS[name](posterior.arrays), wide(kind, labels))


@every_form
def test_samples_have_the_form_of_the_data(kind: str, labels: str) -> None:
    posterior, came = fitted(kind, labels), wide(kind, labels)
    found, expected = posterior.sample(3, seed=2), posterior.arrays.sample(3, seed=2)
    assert expected.shape == (3, *SHAPE)
    if kind == "arrays":
        np.testing.assert_array_equal(found, expected)
    elif kind == "pandas":
        assert found.index.names == ["draw", "ligand"]
        for s in range(3):
            check_map(found.loc[s], expected[s], came)
    else:
        assert found.columns == ["draw", *came.columns]
        for s in range(3):
            check_map(found.filter(pl.col("draw") == s).drop("draw"), expected[s], came)


TABLES: dict[str, Callable[[Posterior], Any]] = {
    "long": lambda p: p.to_frame(),
    "predict": lambda p: p.predict(_row(p, 2), _col(p, 1)).to_frame(),
}


def _row(posterior: Posterior, i: int) -> Any:
    labels = posterior.observations.row_labels
    return i if labels is None else labels[i]


def _col(posterior: Posterior, j: int) -> Any:
    labels = posterior.observations.col_labels
    return j if labels is None else labels[j]


@every_form
@pytest.mark.parametrize("name", TABLES)
def test_tables_of_a_posterior(kind: str, labels: str, name: str) -> None:
    check_table(TABLES[name](fitted(kind, labels)), wide(kind, labels), kind, "row", "col")


@every_form
def test_the_table_of_diagnostics(kind: str, labels: str) -> None:
    posterior = fitted(kind, labels)
    found = posterior.diagnostics.to_frame()
    check_table(found, wide(kind, labels), kind)
    assert list(found["quantity"]) == list(posterior.diagnostics.names)
    np.testing.assert_array_equal(found["rhat"].to_numpy(), posterior.diagnostics.rhat)


@every_form
def test_a_wide_frame_of_a_map_is_labelled_whatever_came(kind: str, labels: str) -> None:
    posterior, came = fitted(kind, labels), wide(kind, labels)
    found = posterior.to_frame("wide", "sd")
    if kind == "arrays":
        assert isinstance(found, pd.DataFrame)
        came, found = came, found.to_numpy()
    check_map(found, posterior.arrays.sd, came)


@frame_forms
def test_a_posterior_keeps_its_form_when_it_is_kept(kind: str, labels: str, tmp_path: Path) -> None:
    fitted(kind, labels).save(tmp_path / "fit.npz")
    loaded = Posterior.load(tmp_path / "fit.npz")
    check_map(loaded.mean, fitted(kind, labels).arrays.mean, wide(kind, labels))


@every_form
def test_a_posterior_can_be_had_in_any_form(kind: str, labels: str) -> None:
    for other in KINDS[:2]:
        assert type(fitted(kind, labels).framed(other).mean) is type(wide(other, labels))
        assert type(fitted(kind, labels).framed(other).diagnostics.to_frame()) is type(wide(other, labels))
    assert isinstance(fitted(kind, labels).framed(None).mean, np.ndarray)
    with pytest.raises(ParameterError, match="'excel'"):
        fitted(kind, labels).framed("excel")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_long_frames_give_wide_maps_named_as_their_columns(kind: str) -> None:
    long = wide("pandas", "text").stack().rename("yield").reset_index()
    data = long if kind == "pandas" else pl.from_pandas(long)
    names = {"row": "ligand", "col": "substrate", "value": "yield"}
    posterior = maxentry.complete(data, 1, sampling=TINY, seed=1, **names)
    if kind == "pandas":
        assert (posterior.mean.index.name, posterior.mean.columns.name) == ("ligand", "substrate")
    else:
        assert posterior.mean.columns[0] == "ligand"
    check_table(posterior.to_frame(), wide(kind, "text"), kind, "row", "col")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_without_labels_come_back_without(kind: str) -> None:
    plain = pd.DataFrame(wide("arrays", "text"), columns=COLS)
    came = plain if kind == "pandas" else pl.from_pandas(plain)
    found = maxentry.complete(came, 1, sampling=TINY, seed=1).mean
    assert (type(found), found.shape, list(found.columns)) == (type(came), SHAPE, COLS)


def test_a_lazy_frame_is_polars() -> None:
    posterior = maxentry.complete(wide("polars", "text").lazy(), 1, sampling=TINY, seed=1)
    assert isinstance(posterior.mean, pl.DataFrame)


# Point estimates


@every_form
def test_nuclear_norm_estimates(kind: str, labels: str) -> None:
    came = wide(kind, labels)
    data = Observations.of(came, **row_column(kind))
    estimate = completion.nuclear_norm(data, 1.0)
    plain = completion.nuclear_norm(Observations.of(wide("arrays", labels)), 1.0)
    check_map(estimate.matrix(), plain.matrix(), came)
    (last,) = completion.nuclear_norm_path(data, [1.0])
    check_map(last.matrix(), plain.matrix(), came)


# Designs and criteria


@every_form
@pytest.mark.parametrize("name", ["balanced", "uniform"])
def test_designs_answer_a_mask_as_it_came(kind: str, labels: str, name: str) -> None:
    flags = np.random.default_rng(1).random(SHAPE) < 0.6
    choose = getattr(design, name)
    mask = wide(kind, labels, flags)
    if labels == "numbers" and kind == "polars":
        mask = mask.rename({"ligand": "row"})  # else numbers would be flags
    found, plain = choose(SHAPE, 7, mask=mask, seed=3), choose(SHAPE, 7, mask=flags, seed=3)
    assert isinstance(plain, Entries)
    if kind == "arrays":
        np.testing.assert_array_equal(found, plain)
        return
    check_table(found, wide(kind, labels), kind, "row", "col")
    came = [x.date() if isinstance(x, pd.Timestamp) else x for x in found["row"].to_list()]
    assert came == [ROW_LABELS[labels][i] for i in plain.rows]
    assert found["col"].to_list() == [COLS[j] for j in plain.cols]


@every_form
@pytest.mark.parametrize("criterion", ["balanced", "predictive_variance"])
def test_criteria_answer_a_question_as_it_came(kind: str, labels: str, criterion: str) -> None:
    flags, cost = np.random.default_rng(1).random(SHAPE) < 0.6, 1.0 + np.arange(30.0).reshape(SHAPE)

    def asked(kind: str) -> Any:
        mask, entry = wide(kind, labels, flags), wide(kind, labels, cost)
        if kind == "polars":
            mask, entry = (x.rename({"ligand": "row"}) for x in (mask, entry))
        question = acquisition.Problem(SHAPE, mask=mask, costs=acquisition.Costs(entry))
        belief = fitted("arrays", labels).belief
        return acquisition.choose(criterion, belief, question, 5, rng=np.random.default_rng(0))

    found, plain = asked(kind), asked("arrays")
    assert isinstance(plain, acquisition.Selection)
    if kind == "arrays":
        np.testing.assert_array_equal(found.rows, plain.rows)
        return
    check_table(found, wide(kind, labels), kind, "row", "col")
    assert found["col"].to_list() == [COLS[j] for j in plain.cols]
    np.testing.assert_array_equal(found["cost"].to_numpy(), plain.cost)
    np.testing.assert_array_equal(found["gain"].to_numpy(), plain.gain)


def test_a_mask_and_costs_of_other_labels_are_refused() -> None:
    mask, cost = wide("pandas", "text", np.ones(SHAPE, bool)), wide("pandas", "text", np.ones(SHAPE))
    with pytest.raises(ParameterError, match="the same labels"):
        acquisition.Problem(SHAPE, mask=mask, costs=acquisition.Costs(cost.iloc[::-1]))


# Estimators


@every_form
def test_estimators(kind: str, labels: str) -> None:
    estimators = pytest.importorskip("maxentry.estimators")
    came = wide(kind, labels)
    data = came.drop("ligand") if kind == "polars" else came  # scikit-learn knows no labels beside an index
    completer = estimators.BayesianCompleter(rank=1, sampling=TINY, random_state=0).fit(data)
    point = estimators.NuclearNormCompleter(penalty=1.0)
    for found in (completer.transform(data), completer.predict_sd(data), point.fit_transform(data)):
        assert type(found) is type(came)
        assert found.shape == SHAPE
        if kind == "pandas":
            pd.testing.assert_index_equal(found.index, came.index)
        if kind != "arrays":
            assert list(found.columns) == COLS
    check = completer.posterior_.mean
    assert type(check) is type(came)
    if kind == "pandas":
        pd.testing.assert_index_equal(check.index, came.index)
    assert isinstance(completer.set_output(transform="default").transform(data), np.ndarray)


# Campaigns, at hand and on a server


@contextmanager
def campaign_of(where: str, kind: str, labels: str) -> Iterator[Any]:
    """A campaign begun with a wide table's labels and a long table of values, both in this form."""
    Y = wide("arrays", labels)
    i, j = np.nonzero(~np.isnan(Y))
    rows, cols = ROW_LABELS[labels], COLS
    columns = {"row": [rows[k] for k in i], "col": [cols[k] for k in j], "value": Y[i, j]}
    if kind == "pandas":
        came = wide(kind, labels)
        rows, cols = came.index, came.columns
        columns["row"] = rows.take(i)
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrays": dict}[kind](columns)
    given = {"values": table, "seed": 1, "acquisition": "balanced", "rank": 1}
    if where == "at hand":
        yield Campaign.create("sqlite://", "yields", rows, cols, **given)
        return
    live = pytest.importorskip("tests.server.live", reason="needs maxentry[server]")
    with live.running(tokens=live.TOKENS) as (url, _), maxentry.connect(url, live.WRITE) as remote:
        yield remote.create("yields", rows, cols, **given)


CAMPAIGN_TABLES: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "ask": (lambda c: c.ask(2), ("row", "col")),
    "pending": (lambda c: c.pending(), ("row", "col")),
    "asked": (lambda c: c.asked(), ("row", "col")),
    "history": (lambda c: c.history(), ()),
    "export": (lambda c: c.export(), ("row", "col")),
}


@every_form
@pytest.mark.parametrize("where", ["at hand", "on a server"])
def test_campaigns(where: str, kind: str, labels: str) -> None:
    came = wide(kind, labels)
    with campaign_of(where, kind, labels) as campaign:
        for table, sides in CAMPAIGN_TABLES.values():
            check_table(table(campaign), came, kind, *sides)
        exported = campaign.export(wide=True)
        if kind == "polars":
            exported = exported.rename({"row": "ligand"})
        elif kind == "pandas":
            exported = exported.rename_axis(index="ligand", columns="substrate")
        else:
            exported = exported.to_numpy()
        check_map(exported, wide("arrays", labels), came)
        for other, library in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("columns", dict)):
            assert isinstance(campaign.export(frame=other), library)


@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_of_a_campaign(kind: str) -> None:
    with campaign_of("at hand", kind, "text") as campaign:
        posterior = campaign.posterior(progress=False)
    assert type(posterior.mean) is type(wide(kind, "text"))
    check_table(posterior.to_frame(), wide(kind, "text"), kind, "row", "col")


def test_what_a_campaign_gives_when_it_is_opened_again(tmp_path: Path) -> None:
    where, given = tmp_path / "lab.db", {"seed": 1, "acquisition": "balanced", "rank": 1}
    long = pl.DataFrame({"row": ["a", "b"], "col": ["x", "y"], "value": [1.0, 2.0]})
    with Campaign.create(where, "yields", ["a", "b"], ["x", "y"], values=long, **given) as campaign:
        assert isinstance(campaign.export(), pl.DataFrame)
    with Campaign.open(where) as campaign:
        assert isinstance(campaign.export(), pd.DataFrame)  # whichever is installed, pandas first
        campaign.tell(pl.DataFrame({"row": ["a"], "col": ["y"], "value": [3.0]}))
        assert isinstance(campaign.export(), pd.DataFrame)  # what was told does not turn tables into others
    with Campaign.open(where, frame="polars") as campaign:
        assert isinstance(campaign.export(), pl.DataFrame)
        assert isinstance(campaign.export(frame="pandas"), pd.DataFrame)
    with pytest.raises(ParameterError, match="'excel'"):
        Campaign.open(where, frame="excel")
    with pytest.raises(ParameterError, match="'excel'"):
        Campaign.create(tmp_path / "other.db", "yields", 2, 2, frame="excel")
    assert not (tmp_path / "other.db").exists()


# Masks and costs of a campaign are read by label


@frame_forms
def test_masks_and_costs_are_read_by_label(kind: str, labels: str) -> None:
    flags = np.random.default_rng(1).random(SHAPE) < 0.6
    cost = 1.0 + np.arange(30.0).reshape(SHAPE)
    rows = wide("pandas", labels).index if kind == "pandas" else ROW_LABELS[labels]

    def begun(mask: Any, cost: Any) -> Campaign:
        return Campaign.create("sqlite://", "yields", rows, COLS, seed=1, mask=mask, costs=cost)

    def shuffled(cells: Any) -> Any:
        frame = wide(kind, labels, cells)
        if kind == "pandas":
            return frame.iloc[::-1, ::-1]
        return frame.rename({"ligand": "row"}).reverse().select(["row", *COLS[::-1]])

    found, plain = begun(shuffled(flags), shuffled(cost)), begun(flags, cost)
    np.testing.assert_array_equal(found.settings.mask, plain.settings.mask)
    np.testing.assert_array_equal(found.settings.costs.entry, plain.settings.costs.entry)
    by_position = begun(shuffled(flags).to_numpy(), cost) if kind == "pandas" else None  # the control
    assert by_position is None or not np.array_equal(by_position.settings.mask, plain.settings.mask)


def test_series_of_costs_are_read_by_label_and_odd_ones_refused() -> None:
    def begun(**given: Any) -> Campaign:
        return Campaign.create("sqlite://", "yields", ["a", "b"], ["x", "y"], seed=1, **given)

    row = pd.Series([5.0, 1.0], index=["b", "a"])
    assert begun(costs={"row": row}).settings.costs.row.tolist() == [1.0, 5.0]
    with pytest.raises(LabelError, match="'c'"):
        begun(costs={"row": pd.Series([5.0, 1.0], index=["b", "c"])})
    mask = pd.DataFrame([[True, False], [True, True]], index=["b", "a"], columns=["x", "y"])
    with pytest.raises(ParameterError, match="got none for 'b'"):
        begun(mask=mask.loc[["a"]])
    with pytest.raises(ParameterError, match=r"True and False, got .*2"):
        begun(mask=mask.astype(int) * 2)
    with pytest.raises(ParameterError, match=r"2 columns, .*3"):
        begun(mask=pd.DataFrame(np.ones((2, 3), bool), index=["a", "b"]))
