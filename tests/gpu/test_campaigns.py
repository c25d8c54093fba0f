"""`engine` as a setting of a campaign and as an option: where fits run is a matter of events and data alone."""

import importlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.campaign.stand_ins import campaign
from tests.cli.run import answer, refused

from maxentry import Observations
from maxentry.campaign import fits
from maxentry.campaign.settings import Settings
from maxentry.errors import ParameterError
from maxentry.gpu import engine


def settings(shape=(40, 30), **given):
    rows, cols = (tuple(range(m)) for m in shape)
    return Settings("c", rows, cols, 1, **given)


def observations(shape=(40, 30), repeats=False):
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random(shape) < 0.5)
    if repeats:
        i, j = np.append(i, i[:2]), np.append(j, j[:2])
        order = np.lexsort((j, i))
        i, j = i[order], j[order]
    return Observations(shape, i, j, rng.standard_normal(i.size))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise": "columns"}, "noise='columns'"),
        ({"limits": (0.0, 1.0), "noise": "student"}, "noise='gaussian' with"),
        ({"noise_sd": 0.1}, "standard errors or deviations"),
        ({"row_features": pd.DataFrame({"size": range(5)}, index=list("abcde"))}, "no features"),
    ],
)
def test_what_a_gpu_lacks_is_refused_when_it_is_set(given, words):
    with pytest.raises(ParameterError, match=f"engine='gpu' .*{words}.*'auto' or 'cpu'"):
        campaign(rows=list("abcde"), cols=4, engine="gpu", **given)
    with campaign(rows=list("abcde"), cols=4, engine="auto", **given) as c:
        assert c.settings.engine == "auto"
        with pytest.raises(ParameterError, match="engine='gpu'"):
            c.set(engine="gpu")
        assert c.settings.engine == "auto"


def test_a_campaign_on_the_processor_is_stored_as_ever_and_another_by_its_name():
    assert "engine" not in settings().to_json()
    assert Settings.from_json(settings(engine="gpu").to_json()).engine == "gpu"
    with pytest.raises(ParameterError, match="'cpu', 'gpu', 'auto', got 'tpu'"):
        settings(engine="tpu")


def test_auto_looks_at_the_data_and_never_at_the_machine(monkeypatch):
    monkeypatch.setattr(engine, "_has_gpu", lambda: pytest.fail("looked at the machine"))
    plain, repeated = observations(), observations(repeats=True)
    for wish in ("cpu", "gpu"):
        assert fits.choose_engine_of(settings(engine=wish), plain) == wish
    assert fits.choose_engine_of(settings(engine="auto"), plain) == "cpu"  # too small
    monkeypatch.setattr(engine, "WORTH", 1e4)
    monkeypatch.setattr(engine, "WORTH_WHOLE", 1e4)
    assert fits.choose_engine_of(settings(engine="auto"), plain) == "gpu"
    assert fits.choose_engine_of(settings(engine="auto", noise="rows"), plain) == "cpu"
    assert fits.choose_engine_of(settings(engine="auto"), repeated) == "cpu"


def test_auto_goes_by_the_noise_of_the_fit_that_is_continued(monkeypatch):
    """Grades alone may say one noise for all, after the first of them had one for each row, which a GPU lacks."""
    monkeypatch.setattr(engine, "WORTH", 1e2)
    monkeypatch.setattr(engine, "WORTH_WHOLE", 1e2)
    taken = {}

    def complete(*_, **options):
        taken.update(options)
        return SimpleNamespace(interrupted=False)

    module = importlib.import_module("maxentry.posterior.complete")
    for name, stand_in in {"complete": complete, "same_magnitude": alike, "same_scales": alike}.items():
        monkeypatch.setattr(module, name, stand_in)
    start = SimpleNamespace(fit=SimpleNamespace(noise="gaussian"))
    with campaign(rows=6, cols=5, kind="grades", levels=[1, 2, 3], engine="auto") as c:
        c.tell(row=[0, 1, 2], col=[0, 1, 2], value=[1, 2, 3])
        for noise, where in (("gaussian", "gpu"), ("rows", "cpu")):
            start.fit.noise = noise
            fits._fit(c.state, 3, start, None, False)
            assert (taken["start"], taken["engine"]) == (start, where)


def alike(*_):
    return True


def test_fits_of_two_engines_have_two_names():
    with campaign(rows=6, cols=5) as c:
        c.tell(row=[0, 1, 2], col=[0, 1, 2], value=[1.0, 2.0, 3.0])
        names = [fits.digest_fit(c.state, 3, "anchor")]
        for name in ("gpu", "auto", "cpu"):
            c.set(engine=name)
            names.append(fits.digest_fit(c.state, 3, "anchor"))
    assert names[0] == names[3]
    assert len(set(names)) == 3


@pytest.mark.slow
def test_a_campaign_fits_on_the_engine_that_is_set():
    rng = np.random.default_rng(1)
    truth = np.add.outer(np.arange(6.0), np.arange(5.0)) + rng.standard_normal((6, 5))
    i, j = np.nonzero(rng.random(truth.shape) < 0.6)
    with campaign(rows=6, cols=5, rank=0, engine="gpu", effort="quick") as c:
        c.tell(row=i, col=j, value=truth[i, j])
        first = c.posterior().mean
    with campaign(rows=6, cols=5, rank=0, effort="quick") as other:
        other.tell(row=i, col=j, value=truth[i, j])
        assert not np.array_equal(other.posterior().mean, first)
        other.set(engine="gpu")
        np.testing.assert_array_equal(other.posterior().mean, first)


def test_the_command_line_names_the_engine(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("row,a,b,c\nx,1,2,3\ny,2,3,\nz,3,,5\n")
    text = refused("complete", table, "--engine", "gpu", "--limits", "0,9", "--noise", "student")
    assert "engine='gpu' takes noise='gaussian' with" in text
    storage = tmp_path / "lab.db"
    answer("new", "c", "--from", table, "-s", storage, "--engine", "auto")
    assert "engine='gpu'" in refused("set", "-s", storage, "--engine", "gpu", "--noise", "rows")
    answer("set", "-s", storage, "--engine", "gpu")
