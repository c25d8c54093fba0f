"""A figure as SVG to be put into a page: colours from the page's style sheet, text as text, names that do not clash."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def inlined(fig: Figure, prefix: str, label: str) -> str:
    """An <svg> element. Colours are `var(--c-1a1a1a, #1a1a1a)`, so that the page can change them in the dark."""
    from matplotlib import rc_context

    made = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix, "font.family": "sans-serif"}):
        fig.savefig(made, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = made.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    text = re.sub(r'style="[^"]*"', lambda found: _with_variables(found.group()), text)
    size = (
        r'<svg (.*?)width="[\d.]+pt"(.*?)height="[\d.]+pt"|<svg (.*?)height="[\d.]+pt"(.*?)width="[\d.]+pt"'
    )
    opened = f'<svg role="img" aria-label="{escape(label)}" '
    return re.sub(size, lambda m: opened + "".join(g or "" for g in m.groups()), text, count=1)


def variable(color: str) -> str:
    """The style sheet's name of a colour."""
    return f"--c-{color.lstrip('#').lower()}"


def _with_variables(style: str) -> str:
    return re.sub(r"#([0-9a-f]{6})\b", r"var(--c-\1, #\1)", style)
