"""The page needs nothing else, says where choosing does not help, and keeps names from becoming code."""

import os
import platform
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.pages import Reader
from tests.studies.made_runs import REAL, SIMULATED, made, many

from maxentry.studies import page

EVIL = "<script>alert('x')</script> & \"co\".csv"


def suite(case: str = "jester"):
    runs = []
    for name, kind, end in ((case, REAL, 0.8), ("sim30", SIMULATED, 0.6)):
        runs += [
            *many("uniform", 0.8, case=name, identity=kind),
            *many("maxent", end, case=name, identity=kind),
        ]
        runs += many("predictive_variance", end, case=name, identity=kind, coverage=0.7)
    return runs


@pytest.fixture(scope="module")
def text() -> str:
    return page.html(suite(), raw="runs.parquet", lead="What was found.", claims=True)


@pytest.fixture(scope="module")
def read(text: str) -> Reader:
    return Reader(text)


def test_the_page_is_whole_and_needs_nothing_else(read: Reader) -> None:
    assert read.open == []
    assert "script" not in read.tags
    outside = [ref for ref in read.references if not ref.startswith("#")]
    assert outside == ["runs.parquet"]


def test_what_figures_refer_to_is_there_once(read: Reader) -> None:
    assert len(read.ids) == len(set(read.ids))
    assert {ref.lstrip("#") for ref in read.references if ref.startswith("#")} <= set(read.ids)


def test_figures_are_well_formed_and_scale(text: str) -> None:
    figures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(figures) == 4 + 6  # two matrices, error and coverage; three lines in each legend
    for figure in figures:
        root = ElementTree.fromstring(figure)
        assert "viewBox" in root.attrib
        assert root.attrib["role"] == "img"
    cards = re.findall(r"</figcaption>(<svg.*?)>", text)
    assert len(cards) == 4
    assert not any(re.search(r'\b(width|height)="', card) for card in cards)


def test_colours_come_from_the_style_sheet_in_the_dark(text: str) -> None:
    assert "var(--c-1a1a1a, #1a1a1a)" in text
    assert "--c-1a1a1a:" in text[: text.index("</style>")]
    bare = re.findall(r'style="[^"]*(?<!, )#[0-9a-f]{6}', text)
    assert bare == []


def test_where_active_sampling_does_not_help_is_named(read: Reader) -> None:
    assert "Where active sampling does not help" in read.text
    start = read.text.index("Where active sampling")
    section = read.text[start : read.text.index("The paper's claims")]
    assert "On 1 of 2 cases, predictive variance (default) is not shown" in section
    assert "jester" in section
    assert "sim30" not in section


def test_where_it_helps_everywhere_that_is_said() -> None:
    runs = [*many("uniform", 0.8), *many("predictive_variance", 0.6)]
    assert "Nowhere here: on the one case the error" in page.html(runs)


def test_coverage_below_eighty_per_cent_is_flagged(text: str) -> None:
    assert '<td class="bad">✗ 70% <small>(70%)</small></td>' in text


def test_rows_of_the_same_name_share_it(text: str) -> None:
    claims = text[text.index("The paper's claims".replace("'", "&#x27;")) :]
    claims = claims[: claims.index("</table>")]
    assert claims.count("a balanced start beats a uniform start") == 1
    assert '<th scope="row" rowspan="6">a balanced start' in claims  # two ways to choose, two figures and all


def test_settings_and_versions_are_there_and_nothing_of_the_machine(read: Reader) -> None:
    for said in ("numpy", "maxentry", "Python", "abc (60 runs)", "Raw results", '"kind": "simulated"'):
        assert said in read.text
    for machine in (str(Path.home()), platform.node(), os.getcwd(), platform.platform()):
        assert machine not in read.text


def test_a_users_names_are_text() -> None:
    text = page.html(suite(EVIL), heading=EVIL, lead=EVIL, raw=EVIL)
    read = Reader(text)
    assert "script" not in read.tags
    assert read.open == []
    assert EVIL in read.text
    for figure in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ElementTree.fromstring(figure)


def test_the_page_is_written_where_it_is_wanted(tmp_path) -> None:
    text = page.html([made([1.0, 0.5], n=(1, 2))])
    path = page.write(text, tmp_path / "new" / "index.html")
    assert path.read_text(encoding="utf-8") == text
    assert text.startswith("<!DOCTYPE html>")
    assert "1 run: 1 matrix, 1 strategy." in text


def test_curves_by_cost_are_not_called_curves_by_entries() -> None:
    dear = many("uniform", 0.8, case="dear", identity=REAL | {"spend": 5.0}, cost=(1, 2, 3, 4, 5, 6))
    headings = [found.split("<")[0] for found in page.html([*suite(), *dear]).split("<h2>")[1:]]
    assert [h for h in headings if h.startswith("Error by")] == [
        "Error by entries measured", "Error by the share of the money spent",
    ]  # fmt: skip
    alone = Reader(page.html(dear))
    assert "Error by entries measured" not in alone.text
    both = Reader(page.html([*suite(), *dear]))
    assert len(both.ids) == len(set(both.ids))


def test_nothing_is_warned_of() -> None:
    spend = REAL | {"spend": 5.0}
    runs = [*suite(), *many("uniform", 0.8, case="c", identity=spend, cost=(1, 2, 3, 4, 5, 6))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page.html(runs, claims=True)


def test_a_page_of_nothing_is_a_page() -> None:
    assert Reader(page.html([])).open == []
