"""How strategies are drawn, in every figure alike.

Lines differ in colour (of Okabe and Ito, told apart by the colour-blind), in dashes and in markers, so that they can be
told apart in a print without colours too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from maxentry.plots.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION


class Style(NamedTuple):
    """Of one strategy's line."""

    color: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str


SOLID, DASHED, DOTTED = "-", (0, (5.0, 2.0)), (0, (1.0, 1.2))
LONG, DASHDOT = (0, (10.0, 1.5)), (0, (6.0, 1.5, 1.0, 1.5))
STYLES = {
    "uniform": Style(INK, DASHED, ""),
    "predictive_variance": Style(BLUE, SOLID, "o"),
    "maxent": Style(VERMILLION, LONG, "s"),
    "integrated_variance": Style(GREEN, DASHDOT, "^"),
    "balanced_uniform": Style(SKY, DASHED, "v"),
    "balanced": Style(SKY, DOTTED, "P"),
    "maxent_nearest": Style(ORANGE, DOTTED, "D"),
    "top_variance": Style(PURPLE, SOLID, "X"),
    "leverage": Style(ORANGE, DASHED, ">"),
    "means": Style(GREY, DOTTED, "x"),
    "cheapest": Style(GREY, SOLID, "P"),
    "oboe": Style(GREEN, SOLID, "*"),
    "oboe_own": Style(GREEN, DOTTED, "*"),
    "smurff_variance": Style(PURPLE, DASHED, "h"),
    "papers_maxent": Style(VERMILLION, DASHDOT, "D"),
    "papers_uniform": Style(GREY, DASHED, "d"),
    "papers_balanced": Style(PURPLE, DOTTED, "d"),
}
OTHERS = tuple(
    Style(color, dashes, marker)
    for dashes, marker in ((SOLID, "<"), (DASHED, "p"), (DOTTED, "1"))
    for color in (PURPLE, SKY, ORANGE, GREEN)
)


def style(strategy: str, among: Sequence[str]) -> Style:
    """A known strategy has its own; others have those left, in their order."""
    if strategy in STYLES:
        return STYLES[strategy]
    rest = [name for name in among if name not in STYLES]
    return OTHERS[rest.index(strategy) % len(OTHERS)]
