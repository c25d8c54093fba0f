"""The look of every figure and page: colours, figures as inline SVG, the style sheet and the page templates.

Colours are those of Okabe and Ito, which the colour-blind can tell apart. Maps of values are viridis, maps of
uncertainty go from light orange (certain) to dark, so that nobody takes one for the other. Both survive a print
without colours.
"""

from __future__ import annotations

import io
import platform
import re
from contextlib import suppress
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from maxentry.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GRID, GREY = "#1a1a1a", "#b0b0b0", "#767676"
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, ORANGE = "#56b4e9", "#e69f00"
# The same on a dark page, with as much contrast.
DARK = {
    INK: "#ececec", GRID: "#6a6a6a", GREY: "#a0a0a0", BLUE: "#4aa8e0", VERMILLION: "#ff8a3d", GREEN: "#2fc79a",
    PURPLE: "#e59ac4", SKY: "#8fd0f7", ORANGE: "#ffbf3f",
}  # fmt: skip
MARK, MARK_BLUE = "#101010", "#0060a0"  # on a map, whose colours are the same on a dark page
MARK_SIZES = {"measured": 0.35, "pending": 0.7, "next": 0.7, "failed": 0.5}  # of a cell

Dashes = Literal["solid", "dashed", "dotted", "long", "dashdot"]
Scale = Literal["value", "uncertainty", "share"]
MATPLOTLIB: dict[Scale, str] = {"value": "viridis", "uncertainty": "Oranges", "share": "Blues"}
PLOTLY: dict[Scale, str] = {"value": "Viridis", "uncertainty": "Oranges", "share": "Blues"}

LIBRARIES = ("maxentry", "numpy", "scipy", "numba")
TEMPLATES = Path(__file__).parent / "templates"


# Pages


def check_installed(*names: str) -> None:
    """Refuse where a library that a report needs is missing: before the fits, not after them."""
    for name in names:
        if find_spec(name) is None:
            raise MissingDependencyError(
                f"expected {name} for reports, but it is not installed: pip install 'maxentry[plots]'."
            )


def render_page(template: str, folder: Path = TEMPLATES, **context: Any) -> str:
    """A page that needs no other file, from a template of this folder; templates can extend our `page.html`."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingDependencyError(
            "expected Jinja2 for pages, but it is not installed: pip install 'maxentry[plots]'."
        ) from None
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(template).render(style=style_sheet(), **context)


def style_sheet() -> str:
    """The style sheet of all pages: light and dark, on phones and on paper."""
    text = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    dark = " ".join(f"--c-{light.lstrip('#')}: {color};" for light, color in DARK.items())
    return text.replace("/* dark colours of figures */", dark)


def library_versions() -> str:
    """The versions of Python, maxentry and what results depend on."""
    versions = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # a checkout that was not installed has none
            versions.append(f"{name} {version(name)}")
    return ", ".join(versions)


# Figures inside pages


def inline_svg(fig: Figure, prefix: str, label: str) -> str:
    """A figure as an <svg> element: text stays text, and ids begin with `prefix`, so that figures do not clash.

    Colours are `var(--c-1a1a1a, #1a1a1a)`, so that the style sheet can change them on a dark page.
    """
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix, "font.family": "sans-serif"}):
        fig.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    for style in set(re.findall(r'style="[^"]*"', text)):
        text = text.replace(style, re.sub(r"#([0-9a-f]{6})\b", r"var(--c-\1, #\1)", style))
    text = re.sub(
        r'\b(?:width|height)="[\d.]+pt" ', "", text, count=2
    )  # of the whole, which then fits its place
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
