"""Limits and standard errors in events, digests, snapshots and cached fits."""

import datetime as dt
import json
import math
from pathlib import Path

import numpy as np
import pytest

from maxentry.campaign import events, fits
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import Corrected, Created, Record, Told
from maxentry.campaign.ledger import snapshots
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import replay
from maxentry.campaign.storage import Storage
from maxentry.errors import DataError, StorageError

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


@pytest.fixture
def campaign(tmp_path):
    with Campaign.create(tmp_path / "lab.db", "c", 3, 3, seed=1, cache=tmp_path / "cache") as opened:
        opened.tell({"row": [0, 0, 1, 2], "col": [0, 1, 1, 2], "value": ["<1", 2.0, "3..4", 5.0]})
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
        posterior = campaign.posterior()
        values = fits.shown_values(campaign.state, posterior)
        mean = np.asarray(posterior.mean)
        expected = [min(mean[0, 0], 0), max(mean[1, 1], 100), 50, np.clip(mean[2, 0], 20, 30)]
        np.testing.assert_allclose(values, expected)
        assert fits.error_parts(campaign.state, posterior).error > 0
