"""Formulas as MathML, which browsers draw by themselves: no script, nothing to fetch.

They need a font that knows of formulas, and not every machine has one. STIX Two Math (SIL Open Font License) comes with
the package ziamath; what the pages use of it goes into the site.
"""

from __future__ import annotations

import io
import re
from html import unescape
from importlib.resources import files

from fontTools import subset
from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves of $…$ and $$…$$.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', flags=re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', flags=re.DOTALL)

# Browsers know these as characters of their own, not as a style of others.
LETTERS = {r"\mathbb R": "ℝ", r"\mathcal N": "𝒩"}


def drawn(html: str) -> str:
    """The page with every formula written out."""
    html = BLOCK.sub(lambda found: f'<div class="formula">{_mathml(found[1], "block")}</div>', html)
    return INLINE.sub(lambda found: _mathml(found[1], "inline"), html)


def _mathml(formula: str, display: str) -> str:
    text = unescape(formula).strip()
    for command, letter in LETTERS.items():
        text = text.replace(command, letter)
    # "\\sim" is a relation, with room on both sides, which the converter takes for a name.
    return convert(text, display=display).replace("<mi>&#x0007E;</mi>", "<mo>∼</mo>")


def letters(html: str) -> set[str]:
    """The characters of a page's formulas."""
    return {
        letter
        for formula in re.findall(r"<math.*?</math>", html, flags=re.DOTALL)
        for letter in _text(formula)
    }


def _text(formula: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", formula))


def font(wanted: set[str]) -> bytes:
    """The part of the font with these characters, letters and digits, and all that it knows of formulas, as WOFF."""
    options = subset.Options(flavor="woff", layout_features=["*"], notdef_outline=True)
    made = subset.load_font(str(files("ziamath.fonts") / "STIXTwoMath-Regular.ttf"), options)
    chosen = subset.Subsetter(options)
    chosen.populate(text="".join(sorted(wanted | _italic(wanted))))
    chosen.subset(made)
    kept = io.BytesIO()
    subset.save_font(made, kept, options)
    return kept.getvalue()


def _italic(wanted: set[str]) -> set[str]:
    """The slanted forms in which a browser draws names of one letter."""
    slanted = {chr(0x1D434 + k): chr(ord("A") + k) for k in range(26)}
    slanted |= {chr(0x1D44E + k): chr(ord("a") + k) for k in range(26)} | {"\u210e": "h"}
    slanted |= {chr(0x1D6E2 + k): chr(0x391 + k) for k in range(25)} | {
        chr(0x1D6FC + k): chr(0x3B1 + k) for k in range(25)
    }
    return {form for form, plain in slanted.items() if plain in wanted}
