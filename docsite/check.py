"""`python -m docsite.check build/site`: nothing on the pages is fetched from elsewhere, every formula is drawn."""

from __future__ import annotations

import re
import sys
from pathlib import Path

# What a browser fetches by itself; links that somebody may follow are no matter.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b[^>]*?\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(|@import\s+)["']?((?:https?:)?//[^"')\s]+)"""
)


def wrong(text: str) -> list[str]:
    """What is fetched from elsewhere, and formulas that are shown as they were written."""
    found = ["".join(groups) for groups in FETCHED.findall(text)]
    return found + [f"formula {left[:40]}" for left in re.findall(r'class="arithmatex">(.*?)<', text)]


def main(site: Path) -> int:
    """How many pages and style sheets have something wrong, each of which is named."""
    texts = {
        path: path.read_text(encoding="utf-8")
        for kind in ("*.html", "*.css")
        for path in sorted(site.rglob(kind))
    }
    bad = {path: found for path, text in texts.items() if (found := wrong(text))}
    for path, found in bad.items():
        print(f"{path.relative_to(site)}: {', '.join(found)}")
    print(f"{len(texts)} pages and style sheets looked at, {len(bad)} with something wrong")
    return len(bad)


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
