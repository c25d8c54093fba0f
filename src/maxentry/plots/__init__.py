"""Figures of a posterior or a campaign, each one call; matplotlib for print, plotly for the screen.

    plots.mean(posterior)                      # shows itself in a notebook
    plots.sd(campaign).save("sd.png")          # .png, .pdf, .svg by matplotlib, .html by plotly
    figure = plots.history(campaign).plotly()  # to go on with; or .matplotlib()

`pip install 'maxentry[plots]'` installs both. Neither is loaded before it draws.
"""

from maxentry.plots.api import (
    Plot,
    calibration,
    coherence,
    history,
    mean,
    next_batch,
    observed,
    rhat,
    sd,
    singular_values,
    trace,
    width,
)

__all__ = [
    "Plot",
    "calibration",
    "coherence",
    "history",
    "mean",
    "next_batch",
    "observed",
    "rhat",
    "sd",
    "singular_values",
    "trace",
    "width",
]
