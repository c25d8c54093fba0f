"""Limits and standard errors in events, digests, snapshots and cached fits."""

import datetime as dt
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from maxentry.campaign import events, fits
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import Corrected, Created, Record, Told
from maxentry.campaign.ledger import snapshots
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import replay
from maxentry.campaign.storage import Storage
from maxentry.errors import CampaignError, DataError, ParameterError, StorageError
from maxentry.posterior.intervals import cut_normal

inf = math.inf
PLAIN = Told((None,), (0,), (1,), (2.0,))
LIMITED = Told((None, 1), (0, 1), (1, 0), (0.5, 2.0), (-inf, 2.0), (0.5, 2.0), (0.0, 0.1))


def test_events_of_plain_values_are_written_as_ever():
    assert events.write(PLAIN) == '{"ids":[null],"rows":[0],"cols":[1],"values":[2.0]}'
    assert events.write(Corrected(1, 2.0)) == '{"number":1,"value":2.0,"reason":""}'


@pytest.mark.parametrize(
    "event",
    [
        LIMITED,
        Told((None,), (0,), (1,), (100.0,), (100.0,), (inf,)),
        Told((None,), (0,), (1,), (2.0,), se=(0.1,)),
        Corrected(1, 0.5, "", -inf, 0.5),
        Corrected(1, 0.6, "why", 0.5, 0.7, 0.1),
        Corrected(1, 100.0, "", 100.0, inf, 0.0),
        Corrected(1, 2.0, "", se=0.1),
    ],
)
def test_events_survive_being_written_and_read(event):
    text = events.write(event)
    assert "Infinity" not in text
    assert events.read(event.kind, text) == event


@pytest.mark.parametrize("part", ["low", "high", "se"])
def test_a_damaged_event_is_refused(part):
    payload = json.loads(events.write(LIMITED)) | {part: [0.0, "x"]}
    with pytest.raises(StorageError):
        events.read("told", json.dumps(payload))


def test_a_transform_takes_limits_that_say_something(tmp_path):
    with Campaign.create(tmp_path / "lab.db", "c", 3, 3, seed=1, transform="log") as campaign:
        campaign.tell(row=0, col=0, value="0..5")
        with pytest.raises(
            DataError, match="got >0 at row 0, column 1: all values are there, so leave it empty"
        ):
            campaign.tell(row=0, col=1, value=">0")
        with pytest.raises(
            DataError,
            match="got <0 at row 0, column 1: the scale has no values there, so leave the transform out",
        ):
            campaign.tell(row=0, col=1, value="<0")


def test_booleans_and_ordered_categories_say_the_kind_of_a_campaign(tmp_path):
    entries, storage = {"row": [0, 1, 2], "col": [0, 1, 2]}, tmp_path / "lab.db"
    flags = pd.DataFrame(entries | {"value": [True, False, None]})
    with Campaign.create(storage, "flags", 3, 3, values=flags) as campaign:
        assert campaign.settings.kind == "yes/no"
        assert campaign.export(frame="columns")["value"] == ["yes", "no"]
    with Campaign.create(storage, "numbers", 3, 3, values=flags, kind="numbers") as campaign:
        assert campaign.settings.kind == "numbers"
    grades = pd.Categorical(["poor", "good", None], ["poor", "fair", "good"], ordered=True)
    with Campaign.create(
        storage, "grades", 3, 3, kind="grades", values=pd.DataFrame(entries | {"value": grades})
    ) as campaign:
        assert campaign.settings.levels == ("poor", "fair", "good")
        assert campaign.export(frame="columns")["value"] == ["poor", "good"]


@pytest.mark.parametrize("value", [True, np.False_])
def test_booleans_among_numbers_are_refused(campaign, value):
    before = campaign.state.measurements
    said = "is not a number. Values that are yes or no need kind='yes/no'"
    frame = pd.DataFrame({"row": [1], "col": [2], "value": [value]})
    for report in (((), {"row": 1, "col": 2, "value": value}), ((frame,), {})):
        with pytest.raises(DataError, match=said):
            campaign.tell(*report[0], **report[1])
    with pytest.raises(DataError, match=said):
        campaign.correct(number=4, value=value)
    assert campaign.state.measurements == before


@pytest.fixture
def campaign(tmp_path):
    with Campaign.create(tmp_path / "lab.db", "c", 3, 3, seed=1, cache=tmp_path / "cache") as opened:
        values = ["<1", 2.0, "3..4", 5.0]
        opened.tell({"row": [0, 0, 1, 2], "col": [0, 1, 1, 2], "value": values, "se": [0, None, 0, 0.5]})
        opened.correct(number=2, value=">2")
        yield opened


def test_another_process_finds_the_same_state(campaign, tmp_path):
    with Campaign.open(tmp_path / "lab.db") as again:
        assert again.state.measurements == campaign.state.measurements
        assert again.state.observations().low.tolist() == [-inf, 2.0, 3.0, 5.0]


def test_standard_errors_are_replayed():
    at = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
    settings = Settings(name="c", rows=3, cols=3, seed=1)
    told = Told((None, None), (0, 1), (0, 1), (1.0, 2.0), se=(0.0, 0.5))
    happened = [Created(settings), told, Corrected(1, 1.5, se=0.25), Corrected(2, 3.0)]
    state = replay([Record(k, at, None, event) for k, event in enumerate(happened, 1)])
    assert state.observations().se.tolist() == [0.25, 0.5]
    assert [m.se for m in state.measurements] == [0.25, 0.5]


def test_snapshots_keep_limits(campaign, tmp_path):
    file = Path(tmp_path / "snapshot.npz")
    snapshots.save(campaign.state, file, "mark")
    restored = snapshots.load(file, "mark")
    assert restored.measurements == campaign.state.measurements
    assert restored.after([]).observations().high.tolist() == [1.0, inf, 4.0, 5.0]
    assert restored.after([]).observations().se.tolist() == [0.0, 0.0, 0.0, 0.5]


def test_a_snapshot_with_limits_is_not_read_as_one_without(campaign, tmp_path):
    with np.load(_saved(campaign, tmp_path)) as arrays:
        assert json.loads(arrays["about"].tobytes())["format"] == snapshots.WITH_READINGS > snapshots.FORMAT


def _saved(campaign, folder):
    snapshots.save(campaign.state, folder / "s.npz", "mark")
    return folder / "s.npz"


def test_fits_of_other_limits_have_other_names(campaign):
    before = campaign.state
    campaign.correct(number=1, value="0.5..1.5")  # the same number stands for it
    after = campaign.state
    assert before.values.tolist() == after.values.tolist()
    assert fits.digest_fit(before, 4, "anchor") != fits.digest_fit(after, 4, "anchor")


def test_fits_of_plain_values_are_named_as_ever(tmp_path):
    with Campaign.create(tmp_path / "plain.db", "c", 3, 3, seed=1) as one:
        one.tell({"row": [0, 0], "col": [0, 1], "value": [1.0, 2.0]})
        plain = fits.digest_fit(one.state, 1, "anchor")
        one.tell(row=1, col=1, value="<3")
        assert fits.digest_fit(one.state, 1, "anchor") == plain
        assert fits.digest_fit(one.state, 3, "anchor") != plain


def test_values_known_already_may_be_limits(tmp_path):
    values = {"row": [0], "col": [1], "value": ["<1"]}
    with Campaign.create(tmp_path / "new.db", "c", 3, 3, values=values) as created:
        assert created.state.measurements[0].limits == (None, 1.0)
    with pytest.raises(DataError, match="is not a number"):
        Campaign.create(tmp_path / "none.db", "c", 3, 3, values=values | {"value": ["1-2"]})
    assert not (tmp_path / "none.db").exists() or Storage(tmp_path / "none.db").names() == []


def test_values_at_the_ends_of_the_scale_are_no_values():
    with Campaign.create("sqlite://", "c", 3, 3, seed=1, limits=(0, 100)) as campaign:
        campaign.tell({"row": [0, 1, 2, 2], "col": [0, 1, 2, 0], "value": [0, 100, 50, "20..30"]})
        low, high = campaign.state.ends
        assert (low.tolist(), high.tolist()) == ([-inf, 100.0, 50.0, 20.0], [0.0, inf, 50.0, 30.0])
        assert fits.error_parts(campaign.state, campaign.posterior()).error > 0


def floored(shape=(12, 8), seed=1, **settings):
    """A campaign of which half of what was told is at a floor, and what would have been measured without it."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(shape[0], 1)) @ rng.normal(size=(1, shape[1])) + 0.3 * rng.normal(size=shape)
    campaign = Campaign.create("sqlite://", "c", *shape, seed=seed, rank=1, limits=(0.0, None), **settings)
    i, j = np.nonzero(rng.random(shape) < 0.7)
    campaign.tell({"row": i, "col": j, "value": np.maximum(Y[i, j], 0.0)})
    return campaign, Y


def test_a_told_limit_leaves_the_entry_open_in_the_expected_error():
    campaign, Y = floored()
    posterior, state = campaign.posterior(progress=False), campaign.state
    told = np.zeros(state.shape, dtype=bool)
    told[tuple(state.told)] = True
    limited, valued = told & (Y <= 0), told & (Y > 0)
    x, mean = posterior.belief.at(*np.nonzero(limited)), posterior.arrays.mean
    missed = np.mean((mean - Y)[valued] ** 2)
    eta2 = posterior.belief.noise_var
    halfway = (eta2.mean() + missed) / 2
    sd = np.sqrt(eta2 * halfway / eta2.mean())[:, None]
    law = stats.truncnorm(-np.inf, -x / sd, x, sd)  # what would be measured, given that it is at most zero
    squares = (law.var() + (law.mean() - mean[limited]) ** 2).mean(0)
    outside = np.mean(posterior.arrays.sd[~told] ** 2) + halfway
    expected = (missed * valued.sum() + squares.sum() + outside * (~told).sum()) / told.size
    found = fits.error_parts(state, posterior)
    assert found.error**2 == pytest.approx(expected, rel=0.03)
    assert (
        found.pattern > np.sum(posterior.arrays.sd[~told] ** 2) / told.size
    )  # limited entries have some, too
    true = np.sqrt(np.mean((mean - Y) ** 2))
    assert 0.7 < true / found.error < 1.3
    as_if_known = np.sqrt((missed * valued.sum() + outside * (~told).sum()) / told.size)
    assert as_if_known < 0.9 * found.error
    campaign.close()


def test_repeated_limits_tell_no_noise():
    with Campaign.create("sqlite://", "c", 3, 3, seed=1, limits=(0.0, None)) as campaign:
        campaign.tell({"row": [0, 0, 0], "col": [0, 0, 0], "value": [0.0, 0.0, "<1"]}, again=True)
        assert fits.repeat_variance(campaign.state, campaign.state.values) == 0
        campaign.tell({"row": [1, 1], "col": [1, 1], "value": [1.0, 3.0]}, again=True)
        assert fits.repeat_variance(campaign.state, campaign.state.values) == pytest.approx(2 / (1 + 8))


def test_numbers_are_drawn_between_ends_however_far_out():
    a = np.array([-1.0, 20.0, -np.inf, -40.0, 3.0])
    b = np.array([2.0, np.inf, -8.0, -39.9, 3.1])
    z = cut_normal(np.tile(a, (2000, 1)), np.tile(b, (2000, 1)), np.random.default_rng(0).random((2000, 5)))
    assert ((z >= a) & (z <= b)).all()
    np.testing.assert_allclose(z.mean(0), stats.truncnorm(a, b).mean(), atol=0.05)


def test_snapshots_keep_what_limits_were_before(tmp_path):
    with Campaign.create(tmp_path / "lab.db", "c", 3, 3, seed=1) as campaign:
        campaign.tell(row=0, col=0, value="<1")
        campaign.correct(number=1, value=2.0)
        assert snapshots.load(_saved(campaign, tmp_path), "mark").measurements == campaign.state.measurements
        assert campaign.state.measurements[0].before != (1.0,)


def test_standard_errors_change_the_fit():
    values = {"row": [0, 0, 1, 1], "col": [0, 1, 0, 1], "value": [0.0, 0.0, 0.0, 10.0]}
    with Campaign.create("sqlite://", "c", 2, 2, seed=1, rank=0) as campaign:
        campaign.tell(values | {"se": [0.01, 0.01, 0.01, 100.0]})
        assert abs(campaign.posterior().mean[1, 1]) < 5
        assert "standard errors" in repr(campaign.posterior())


def test_standard_errors_do_not_go_with_other_noise():
    with Campaign.create("sqlite://", "c", 2, 2, seed=1, noise="student") as campaign:
        with pytest.raises(
            DataError, match=r"noise='student', got 1 \(se 0.1\) .*; leave them out, or set noise"
        ):
            campaign.tell(row=0, col=0, value=1.0, se=0.1)
        campaign.set(noise="gaussian")
        campaign.tell(row=0, col=0, value=1.0, se=0.1)
        with pytest.raises(ParameterError, match="got 1 with one; keep noise='gaussian'"):
            campaign.set(noise="columns")


def test_tables_of_replicates_are_measurements_each():
    values = {"row": [0, 0, 0, 1], "col": [0, 0, 0, 1], "value": [1.0, 1.0, 2.0, 3.0]}
    with Campaign.create("sqlite://", "c", 2, 2, seed=1, values=values) as campaign:
        assert campaign.state.values.tolist() == [1.0, 1.0, 2.0, 3.0]


def test_trials_are_told_in_one_line_and_told_again_harmlessly():
    with Campaign.create("sqlite://", "c", 2, 3, seed=1, kind="yes/no", n_initial=1) as campaign:
        asked = campaign.ask(1, frame="columns")
        campaign.tell({"row": [1], "col": [2], "successes": [1], "trials": [2], "value": [None]})
        by_id = {"id": asked["id"], "successes": [2], "trials": [3]}
        assert campaign.tell(by_id).told == 3
        assert campaign.tell(by_id).known == 3
        assert campaign.state.asked[1].status == "told"
        assert [m.id for m in campaign.state.measurements] == [None, None, 1, 1, 1]
        with pytest.raises(CampaignError, match=r"expected the value no recorded for .*, got 1 of 3"):
            campaign.tell(by_id | {"successes": [1]})
        assert campaign.tell(by_id | {"successes": [0], "trials": [1]}, again=True).told == 1
        told = campaign.export(frame="columns")
        assert told["value"] == ["yes", "no", "yes", "yes", "no", "no"]
        lines = {name: told[name] for name in ("row", "col", "value")}
        with Campaign.create("sqlite://", "d", 2, 3, seed=1, kind="yes/no", values=lines) as copy:
            assert copy.state.values.tolist() == campaign.state.values.tolist()


def test_what_was_measured_with_large_errors_is_asked_for_again():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(10, 1)) @ rng.normal(size=(1, 8))
    i, j = np.indices(X.shape).reshape(2, -1)
    asked = []
    for poor in (1, 6):
        se = np.where(i == poor, 5.0, 0.05)
        told = {"row": i, "col": j, "value": X[i, j] + se * rng.normal(size=i.size), "se": se}
        with Campaign.create(
            "sqlite://", "c", 10, 8, seed=1, rank=1, again=True, frame="columns"
        ) as campaign:
            campaign.tell(told)
            asked += campaign.ask(1, progress=False)["row"]
    assert asked == [1, 6]


def test_what_was_tried_once_is_asked_for_again_where_all_else_was_tried_often():
    rng = np.random.default_rng(2)
    p = 1 / (1 + np.exp(-1.5 * rng.normal(size=(10, 1)) @ rng.normal(size=(1, 8))))
    i, j = np.indices(p.shape).reshape(2, -1)
    asked = []
    for poor in (1, 6):
        trials = np.where(i == poor, 1, 15)
        told = {"row": i, "col": j, "successes": rng.binomial(trials, p[i, j]), "trials": trials}
        with Campaign.create(
            "sqlite://", "c", 10, 8, seed=1, rank=1, again=True, kind="yes/no", frame="columns"
        ) as campaign:
            campaign.tell(told)
            asked += campaign.ask(1, progress=False)["row"]
    assert asked == [1, 6]
