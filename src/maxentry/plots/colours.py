"""Colours of every figure and page: of Okabe and Ito, told apart by the colour-blind; and scales for maps.

Maps of values are viridis, maps of uncertainty orange from light (certain) to dark: nobody takes one for the other, and
both go from light to dark evenly, so that they survive a print without colours.
"""

from __future__ import annotations

from typing import Literal

INK, GRID, GREY = "#1a1a1a", "#b0b0b0", "#767676"
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, ORANGE = "#56b4e9", "#e69f00"
# The same on a dark page, as far from the background as they are from a light one.
DARK = {
    INK: "#ececec", GRID: "#6a6a6a", GREY: "#a0a0a0", BLUE: "#4aa8e0", VERMILLION: "#ff8a3d", GREEN: "#2fc79a",
    PURPLE: "#e59ac4", SKY: "#8fd0f7", ORANGE: "#ffbf3f",
}  # fmt: skip

# On a map, whose colours are the same on a dark page.
MARK, MARK_BLUE = "#101010", "#0060a0"

Scale = Literal["value", "uncertainty", "share"]
MATPLOTLIB: dict[Scale, str] = {"value": "viridis", "uncertainty": "Oranges", "share": "Blues"}
PLOTLY: dict[Scale, str] = {"value": "Viridis", "uncertainty": "Oranges", "share": "Blues"}
