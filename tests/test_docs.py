"""What the documents name exists: paths, links, and functions said to live in a file."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.test_layers import LAYERS, modules

import maxentry
from maxentry.model.priors import HalfCauchy, Priors

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
# docs/paper_to_code.md writes paths below these folders.
BASES = [ROOT, ROOT / "src" / "maxentry", ROOT / "tests"]


def found(path: str) -> Path | None:
    return next((base / path for base in BASES if (base / path).exists()), None)


def missing_paths(text: str) -> list[str]:
    """Files and folders below the root, and anything in code style that ends in .py or .md after a slash."""
    named = re.findall(r"(?<![\w/.])(?:src|tests|benchmarks|docs)/[\w./-]*", text)
    named += re.findall(r"`([\w-]+/[\w./-]+\.(?:py|md))`", text)
    return [path for path in named if found(path.rstrip(".")) is None]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text: str, page: Path) -> list[str]:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target))):
            broken.append(link)
    return broken


def missing_names(text: str) -> list[str]:
    """Names that follow a file, as in `model/smg.py` `simulate`, `draw_smg`, and are not defined in it."""
    missing = []
    for path, names in re.findall(r"`([\w/]+\.py)`((?: `\w+`,?)+)", text):
        file = found(path)
        source = file.read_text(encoding="utf-8") if file else ""
        for name in re.findall(r"\w+", names):
            if not re.search(rf"^\s*(?:def |class ){name}\b|^{name}\b.*=", source, flags=re.MULTILINE):
                missing.append(f"{path} {name}")
    return missing


def missing_sections(text: str) -> list[str]:
    """Sections of mathematics.md that are referred to by number and are not there."""
    numbers = {a.split("-")[0] for a in anchors(ROOT / "docs" / "mathematics.md")}
    return [n for n in re.findall(r"mathematics\.md\)?,? section (\d+)", text) if n not in numbers]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert missing_paths(text) == []
    assert broken_links(text, page) == []
    assert missing_names(text) == []
    assert missing_sections(text) == []


def test_sections_that_the_code_refers_to_exist() -> None:
    files = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path != Path(__file__)}
    assert {path: wrong for path, text in texts.items() if (wrong := missing_sections(text))} == {}


def test_every_deviation_is_stated_once_and_used() -> None:
    text = (ROOT / "docs" / "paper_to_code.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\*\*\[(\d+)\]", text, flags=re.MULTILINE)
    assert stated == [str(k + 1) for k in range(len(stated))]
    tables = text.partition("## Deviations")[0]
    assert set(re.findall(r"\[(\d+)\]", tables)) == set(stated)


def test_the_default_priors_are_those_of_the_page() -> None:
    weak, table = Priors.weak((60, 40), 2), (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
    assert f"| η² | IG({weak.noise.shape:g}, {weak.noise.scale:g}) |" in table
    assert (weak.signal.shape, weak.signal.scale) == (2, 60 * 40 / (2 * 2**2))
    assert "| σ² | IG(2, m₁m₂/2R²) |" in table
    assert weak.rows == weak.cols
    assert isinstance(weak.rows, HalfCauchy)
    assert f"| τ_r, τ_c | half-Cauchy, width {weak.rows.width:g} |" in table
    assert f"| s_r | half-Cauchy, width {weak.rows.width:g} (m₁/R)^½ |" in table
    assert f"| μ | N(0, {weak.mu_var:g}) |" in table
    latent = Priors.weak((60, 40), 2, unit_noise=True)
    assert (latent.signal.shape, latent.signal.scale, latent.mu_var) == (2, 2 * 60 * 40 / 2**2, 4)
    assert latent.rows == latent.cols == HalfCauchy(0.3)
    assert "σ² ~ IG(2, 2m₁m₂/R²), μ ~ N(0, 4), and the effects have width 0.3" in table


def test_the_table_of_layers_is_the_one_that_is_checked() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (\d+) \| (.+?) \|", text, flags=re.MULTILINE)
    told = {name: int(layer) for layer, parts in lines for name in re.findall(r"`(\w+)(?:\.py|/)`", parts)}
    assert told == LAYERS
    assert {module.split(".")[0] for module in modules()} <= set(LAYERS)


def test_the_checks_can_fail() -> None:
    page = ROOT / "docs" / "notation.md"
    assert missing_paths("see src/maxentry/nowhere.py, `model/gone.py` and `model/smg.py`.") == [
        "src/maxentry/nowhere.py",
        "model/gone.py",
    ]
    assert broken_links("[a](gone.md) [b](notation.md#model) [c](notation.md#gone)", page) == [
        "gone.md",
        "notation.md#gone",
    ]
    assert missing_names("`model/smg.py` `SMG`, `gone`") == ["model/smg.py gone"]
    assert missing_sections("mathematics.md, section 6 and mathematics.md, section 99") == ["99"]


def test_one_version_everywhere() -> None:
    """The package, its metadata, the citation and the newest section of the changelog agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    (cited,) = re.findall(
        r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert maxentry.__version__ == project == cited == changes[0]
    assert changes == ["0.2.0", "0.1.0"]


def test_the_changelog_says_what_breaks() -> None:
    """Who upgrades finds what to expect of results, files and names, below one heading."""
    section = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("## 0.1.0")[0]
    breaks = section.split("### What changes for you when you upgrade")[1].split("\n### ")[0]
    for word in (
        "draws of a seed",
        "target_sd",
        "0.1 cannot open",
        "--force",
        "maxentry.compare",
        "[dask]",
        "code",
    ):
        assert word in breaks, word
    for line in section.splitlines():
        assert len(line) < 600, line
