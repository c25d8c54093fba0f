"""Campaigns keep what is known of rows and columns: in events, in step with labels, and in the fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.campaign.stand_ins import uniform

from maxentry.campaign import backup, events, fits, setting_values
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.ledger import snapshots
from maxentry.campaign.settings import Settings
from maxentry.errors import DataError, ParameterError
from maxentry.model import link

ROWS, COLS = ["a", "b", "c", "d"], ["x", "y", "z"]
DESCRIPTORS = pd.DataFrame(
    {"logp": [0.1, 1 / 3, 2.0, 3.5], "solvent": pd.Categorical(["THF", "DMF", "THF", "none"])}, index=ROWS
)


def create(where: str = "sqlite://", **settings: Any) -> Campaign:
    return Campaign.create(
        where, "lab", ROWS, COLS, seed=1, policy=uniform, **{"row_features": DESCRIPTORS, **settings}
    )


def logp(settings: Settings) -> list[float]:
    assert settings.row_features is not None
    return settings.row_features.cells[:, 0].tolist()  # type: ignore[no-any-return]


def test_features_are_an_event_and_read_again_to_the_last_bit(tmp_path: Path) -> None:
    with create(f"{tmp_path}/lab.db", col_features=np.eye(3)) as campaign:
        before = campaign.settings
    with Campaign.open(f"{tmp_path}/lab.db") as again:
        after = again.settings
    assert after == before
    assert before.row_features is not None
    assert after.row_features is not None
    np.testing.assert_array_equal(after.row_features.cells, before.row_features.cells)
    assert after.row_features.levels == (None, ("DMF", "THF", "none"))
    assert after.row_features.digest == before.row_features.digest


def test_a_campaign_without_features_is_stored_as_ever() -> None:
    plain = Settings("lab", ROWS, COLS, 1)  # type: ignore[arg-type]
    assert not {"row_features", "col_features"} & plain.to_json().keys()
    assert "features" not in events.RowsAdded(("e",)).payload()


def test_rows_that_are_added_bring_theirs_and_those_removed_take_theirs_along(tmp_path: Path) -> None:
    with create(f"{tmp_path}/lab.db") as campaign:
        more = pd.DataFrame({"logp": [9.0, 8.0], "solvent": ["toluene", "DMF"]}, index=["f", "e"])
        with pytest.warns(UserWarning, match="'solvent' has new levels: 'toluene'"):
            campaign.add_rows(["e", "f"], features=more)
        with pytest.warns(UserWarning, match="1 new row without features: 'g'"):
            campaign.add_rows(["g"])
        campaign.remove_rows(["b"])
        assert campaign.settings.rows == ("a", "c", "d", "e", "f", "g")
        np.testing.assert_array_equal(logp(campaign.settings), [0.1, 2.0, 3.5, 8.0, 9.0, np.nan])
        known = campaign.settings.row_features
        assert known is not None
        assert known.levels[1] == ("DMF", "THF", "none", "toluene")
        file = tmp_path / "snapshot.npz"
        snapshots.save(campaign.state, file, "mark")
        kept = snapshots.load(file, "mark")
    with Campaign.open(f"{tmp_path}/lab.db") as again:
        assert again.settings == campaign.settings
        assert kept is not None
        assert kept.settings == again.settings


def test_features_are_backed_up_with_the_rest(tmp_path: Path) -> None:
    with create(f"{tmp_path}/lab.db") as campaign:
        campaign.add_rows(["e"], features={"logp": [4.0], "solvent": ["THF"]})
        backup.back_up(campaign._storage, tmp_path / "other.db")
    with Campaign.open(f"{tmp_path}/other.db") as again:
        assert again.settings == campaign.settings


def test_features_may_come_later_change_and_go() -> None:
    with create(row_features=None) as campaign:
        with pytest.warns(
            UserWarning, match="row features: no other row has features; until others have some"
        ):
            campaign.add_rows(["e"], features={"logp": [4.0]})
        np.testing.assert_array_equal(logp(campaign.settings), [np.nan] * 4 + [4.0])
        with pytest.warns(UserWarning, match="1 row without features: 'e'"):
            campaign.set(row_features=DESCRIPTORS)
        campaign.set(budget=10)
        assert logp(campaign.settings)[:4] == DESCRIPTORS["logp"].tolist()
        campaign.set(row_features=None)
        assert campaign.settings.row_features is None
        told = campaign.history(frame="columns")["what"]
    assert "row_features: 2 features: logp, solvent" in told[-3]
    assert told[-1] == "row_features dropped"


def test_what_cannot_be_used_is_refused_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    with create() as campaign:
        version = campaign.state.version
        with pytest.raises(DataError, match="expected features among 'logp', 'solvent', got 'logP'"):
            campaign.add_rows(["e"], features={"logP": [1.0]})
        with pytest.raises(DataError, match="got the text 'high'"):
            campaign.add_rows(["e"], features={"logp": ["high"]})
        with pytest.raises(DataError, match="expected dense features in 2 columns"):
            campaign.add_rows(["e"], features=sparse.csr_array([[1.0, 0]]))
        with pytest.raises(ParameterError, match="paper's priors"):
            campaign.set(priors="paper")
        with pytest.raises(ParameterError, match="A campaign chooses what is measured"):
            campaign.set(row_features="observed")
        monkeypatch.setattr(setting_values, "MOST_FEATURES", 7)
        with pytest.raises(DataError, match="at most 7 numbers in the row features of a campaign, got 8"):
            campaign.set(row_features=DESCRIPTORS)
        assert campaign.state.version == version


def test_fingerprints_stay_sparse_and_small_in_the_event() -> None:
    bits = sparse.random_array((4, 20_000), density=0.005, rng=np.random.default_rng(0), format="csr")
    bits.data[:] = 1
    with create(row_features=bits) as campaign:
        campaign.add_rows(["e"], features=bits[[0]])
        known = campaign.settings.row_features
        assert known is not None
        assert known.is_sparse
        np.testing.assert_array_equal(known.cells.toarray()[[4]], bits[[0]].toarray())
        stored = events.write(campaign.records(0, 1)[0].event)
    assert len(stored) < 5_000  # 400 bits
    assert json.loads(stored)["row_features"]["width"] == 20_000


def test_a_fit_depends_on_the_features() -> None:
    with create() as campaign:
        campaign.tell(row=ROWS, col=["x", "y", "z", "x"], value=[1.0, 2.0, 3.0, 4.0])
        names = [fits.digest_fit(campaign.state, 4, "anchor")]
        campaign.set(row_features=DESCRIPTORS[["logp"]])
        names.append(fits.digest_fit(campaign.state, 4, "anchor"))
        campaign.set(row_features=None, col_features=np.eye(3))
        names.append(fits.digest_fit(campaign.state, 4, "anchor"))
    assert len({*names}) == 3


def test_a_fit_with_more_features_and_rows_than_singular_vectors_are_found_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "MOST", 2)
    wide = sparse.csr_array(np.random.default_rng(0).integers(1, 9, (4, 9)).astype(float))
    with create(row_features=wide, effort="quick", rank=1) as campaign:
        campaign.tell(row=ROWS, col=["x", "y", "z", "x"], value=[1.0, 2.0, 3.0, 4.0])
        campaign.add_rows(["e"], features=wide[[0]])
        posterior = campaign.posterior()
        assert posterior.mean.shape == (5, 3)
        assert np.isfinite(posterior.mean).all()


def test_features_are_left_out_at_first_and_used_once_the_data_show_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows, cols = [f"r{k}" for k in range(40)], [f"c{k}" for k in range(8)]
    F = rng.standard_normal((40, 2))
    truth = F @ rng.standard_normal((2, 8)) + 1.5 * rng.standard_normal((40, 8))
    places = rng.permutation(40 * 8)

    def tell(campaign: Campaign, first: int, last: int) -> None:
        i, j = np.divmod(places[first:last], 8)
        campaign.tell(row=[rows[k] for k in i], col=[cols[k] for k in j], value=truth[i, j].tolist())

    quick: Any
    features, quick = pd.DataFrame(F, rows, ["a", "b"]), {"rank": 1, "effort": "quick", "seed": 1}
    with (
        Campaign.create(f"{tmp_path}/a.db", "lab", rows, cols, row_features=features, **quick) as known,
        Campaign.create(f"{tmp_path}/b.db", "lab", rows, cols, **quick) as plain,
    ):
        for campaign in (known, plain):
            tell(campaign, 0, 20)
        first = known.posterior()
        assert first.fit.idle[0] is not None
        np.testing.assert_array_equal(first.arrays.mean, plain.posterior().arrays.mean)
        for campaign in (known, plain):
            tell(campaign, 20, 24)
        warm = known.posterior()
        assert warm.fit.idle[0] is not None  # it goes on from the first
        assert warm.fit.p_values == first.fit.p_values
        np.testing.assert_array_equal(warm.arrays.mean, plain.posterior().arrays.mean)
        tell(known, 24, 320)
        last = known.posterior()
        assert last.fit.features[0] is not None
        assert last.fit.idle == (None, None)
        np.testing.assert_array_equal(known.posterior().arrays.mean, last.arrays.mean)
