"""Formulas as MathML, which browsers draw by themselves: no script, no font, nothing to fetch."""

from __future__ import annotations

import re
from html import unescape

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves of $…$ and $$…$$.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', flags=re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', flags=re.DOTALL)


def drawn(html: str) -> str:
    """The page with every formula written out."""
    html = BLOCK.sub(lambda found: f'<div class="formula">{_mathml(found[1], "block")}</div>', html)
    return INLINE.sub(lambda found: _mathml(found[1], "inline"), html)


def _mathml(formula: str, display: str) -> str:
    return convert(unescape(formula).strip(), display=display)
