"""Figures of yes and no, of grades and of limits: their labels, legends and numbers in words."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.posterior.examples import SHORT

from maxentry import complete, plots
from maxentry.campaign.campaign import Campaign
from maxentry.plots.report import render_report
from maxentry.posterior.posterior import Posterior

LEVELS = ["poor", "fair", "good"]
KINDS: dict[str, dict[str, Any]] = {"yes/no": {}, "grades": {"levels": LEVELS}}


@cache
def fit(kind: Any) -> Posterior:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, (8, 6)) if kind == "yes/no" else rng.integers(1, 4, (8, 6))
    told = np.where(rng.random((8, 6)) < 0.6, values, np.nan)
    return complete(told, 1, kind=kind, sampling=SHORT, seed=1, progress=False, **KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "mean", "ticks", "limits", "told"),
    [
        ("yes/no", "probability of yes", ["0%", "25%", "50%", "75%", "100%"], (0.0, 1.0), ["no", "yes"]),
        ("grades", "expected grade", LEVELS, (1.0, 3.0), LEVELS),
    ],
)
def test_maps_have_legends_in_words(
    kind: str, mean: str, ticks: list[str], limits: tuple[float, float], told: list[str]
) -> None:
    record = plots.mean(fit(kind)).record
    assert (record.unit, record.limits, record.named[1]) == (mean, limits, ticks)
    assert plots.sd(fit(kind)).record.unit == f"sd of the {mean}"
    measured = plots.observed(fit(kind)).record
    assert (measured.limits, measured.named[1]) == (limits, told)
    figure = plots.observed(fit(kind)).matplotlib()
    bar = figure.axes[-1]
    assert [label.get_text() for label in bar.get_yticklabels()] == told
    (heat, *_) = plots.observed(fit(kind)).plotly().data
    assert list(heat.colorbar.ticktext) == told
    assert {text for line in heat.text for text in line if text} <= set(told)


def test_figures_of_numbers_are_labelled_as_ever() -> None:
    values = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    posterior = complete(values, 0, sampling=SHORT, seed=1, progress=False)
    record = plots.mean(posterior).record
    assert (record.unit, record.ticks) == ("posterior mean", ())
    assert "latent" not in plots.trace(posterior).record.note


def test_traces_of_grades_are_of_latent_numbers() -> None:
    assert "of the latent numbers" in plots.trace(fit("grades")).record.note


def test_the_report_of_a_campaign_in_words() -> None:
    values = {
        "row": [0, 0, 1, 1, 2, 2],
        "col": [0, 1, 0, 2, 1, 2],
        "value": ["yes", "no", "yes", "no", "no", "yes"],
    }
    with Campaign.create("sqlite://", "c", 3, 3, seed=1, kind="yes/no", rank=0, values=values) as campaign:
        campaign.correct(number=1, value="no", reason="a slip")
        page = render_report(campaign, n=2, points=2)
        chart = plots.history(campaign, points=2).record
    assert "measurement 1 now no (row 0, column 0, was yes): a slip" in page
    assert "<dt>values</dt><dd>yes/no</dd>" in page
    assert "expected error now, of the probability of yes" in page
    assert "against measurements" not in page
    assert "3 x 3, seed 1, predictive_variance, yes/no" in page
    assert '<th scope="col">probability of yes</th>' in page
    assert chart.panels[0].y_label == "error of the probability of yes (root mean square)"
