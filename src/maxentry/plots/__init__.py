"""Figures of a posterior or a campaign, each one call; matplotlib for print, plotly for the screen.

    plots.mean(posterior)                      # shows itself in a notebook
    plots.sd(campaign).save("sd.png")          # .png, .pdf, .svg by matplotlib, .html by plotly
    figure = plots.history(campaign).plotly()  # to go on with; or .matplotlib()

`pip install 'maxentry[plots]'` brings both. Neither is loaded before it draws.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxentry.plots.calls import calibration as calibration
    from maxentry.plots.calls import coherence as coherence
    from maxentry.plots.calls import history as history
    from maxentry.plots.calls import mean as mean
    from maxentry.plots.calls import next_batch as next_batch
    from maxentry.plots.calls import observed as observed
    from maxentry.plots.calls import rhat as rhat
    from maxentry.plots.calls import sd as sd
    from maxentry.plots.calls import singular_values as singular_values
    from maxentry.plots.calls import trace as trace
    from maxentry.plots.calls import width as width
    from maxentry.plots.plot import Plot as Plot
else:
    # Fetched when first used: colours and style sheets are wanted where nothing is drawn.
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        home = "plot" if name == "Plot" else "calls"
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


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
