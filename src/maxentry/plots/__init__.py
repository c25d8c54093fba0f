"""Figures of a posterior or a campaign, each one call; matplotlib for print, plotly for the screen.

    plots.mean(posterior)                      # shows itself in a notebook
    plots.sd(campaign).save("sd.png")          # .png, .pdf, .svg by matplotlib, .html by plotly
    figure = plots.history(campaign).plotly()  # to go on with; or .matplotlib()

`pip install 'maxentry[plots]'` installs both. Neither is loaded before it draws.
"""

from maxentry.plots.charts import best, calibration, coherence, history, ranking, rhat, singular_values, trace
from maxentry.plots.heatmaps import mean, next_batch, observed, sd, width
from maxentry.plots.plot import Plot

__all__ = [
    "Plot", "best", "calibration", "coherence", "history", "mean", "next_batch", "observed", "ranking", "rhat", "sd",
    "singular_values", "trace", "width",
]  # fmt: skip
