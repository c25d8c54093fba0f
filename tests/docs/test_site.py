"""What makes a site of the pages: formulas, docstrings, links, figures that are quoted, nothing from elsewhere."""

import re
from pathlib import Path

import pytest
from docsite import check, docstrings, formulas
from tests.docs.test_pages import TEXTS

import maxentry

ROOT = Path(__file__).parents[2]
RESULTS = TEXTS["results.md"]
SMURFF = (ROOT / "benchmarks" / "against_smurff.md").read_text(encoding="utf-8")


def test_what_browsers_would_fetch_is_found() -> None:
    assert check.wrong('<script src="https://cdn.example/x.js"></script>') == ["https://cdn.example/x.js"]
    assert check.wrong('<link rel="stylesheet" href="//fonts.example/css">') == ["//fonts.example/css"]
    assert check.wrong("@font-face { src: url(https://fonts.example/a.woff) }") == [
        "https://fonts.example/a.woff"
    ]
    assert check.wrong('<span class="arithmatex">\\(x\\)</span>') == ["formula \\(x\\)"]
    assert check.wrong('<a href="https://optuna.org">Optuna</a> <img src="pictures/a.png">') == []


def test_formulas_are_drawn() -> None:
    page = r'<div class="arithmatex">\[ \tfrac12 \log\det(I + \Sigma_B) \]</div>'
    page += r' <span class="arithmatex">\(v_a &lt; 1\)</span>'
    made = formulas.drawn(page)
    assert made.count("<math") == 2
    assert "arithmatex" not in made
    assert {"Σ", "B", "<", "1"} <= formulas.letters(made)


def test_the_font_has_what_is_wanted_and_little_else() -> None:
    some, more = (len(formulas.font(set(wanted))) for wanted in ("x", "xyzΣ∑√∫αβγδ"))
    assert 0 < some < more < 100_000
    assert formulas.font({"x"}).startswith(b"wOFF")


def test_lines_of_docstrings_become_lists() -> None:
    text = "Do it.\n\nrows, cols: the labels,\n    in order.\nseed: of the draws.\n\nMore: is said here."
    made = docstrings.listed(text)
    assert "- `rows`, `cols`: the labels,\n    in order.\n- `seed`: of the draws." in made
    assert "Do it." in made.splitlines()


def test_every_public_name_is_in_the_reference() -> None:
    page = TEXTS["api.md"]
    assert "::: maxentry.errors" in page  # MaxentryError and its kinds
    assert [name for name in maxentry.__all__ if f"::: maxentry.{name}\n" not in page] == ["MaxentryError"]


def quoted(text: str) -> dict[str, str]:
    """The column of the default in the table of ten matrices, by the matrix."""
    lines = re.findall(
        r"^\| ([^|]+?)(?: \([a-z]+\))? \|(?: 1 \|)? (\**[\d.]+ \([\d.]+ to [\d.]+\)\**) \|",
        text,
        flags=re.MULTILINE,
    )
    return dict(lines)


def test_the_ten_matrices_are_those_of_the_results() -> None:
    page, source = quoted(TEXTS["right_for_my_data.md"]), quoted(RESULTS)
    assert len(page) == 10
    assert page == {name: source[name] for name in page}
    assert quoted(TEXTS["right_for_my_data.md"].replace("0.73 (0.68", "0.72 (0.68")) != page


# (page, what it says, what the source says)
FROM_RESULTS = [
    ("right_for_my_data.md", "144 instead of 240", "144 entries instead of 240"),
    ("right_for_my_data.md", "280 instead of 500", "280 instead of 500"),
    ("right_for_my_data.md", "0.36 (0.26 to 0.51)", "predictive variance **0.36 (0.26 to 0.51)**"),
    ("right_for_my_data.md", "0.52 (0.45 to 0.60)", "the cheapest entries first 0.52 (0.45 to 0.60)"),
    ("automl.md", "0.36 of the error", "predictive variance **0.36"),
    ("automl.md", "first had 0.52", "cheapest entries first 0.52"),
    ("automl.md", "80 data sets", "30 new data sets (rows), 50 known"),
    ("diagnostics.md", "85% or more", "85% or more"),
    ("diagnostics.md", "90 to 95%", "90 to 95%"),
]


@pytest.mark.parametrize(("page", "said", "source"), FROM_RESULTS)
def test_what_pages_quote_is_in_the_results(page: str, said: str, source: str) -> None:
    assert said in TEXTS[page]
    assert source in RESULTS


def cell(line: str, column: str, table: int) -> float:
    """A number of the benchmark against SMURFF, by the first words of its line and the name of its column."""
    text = SMURFF.split("\n## ")[table]
    heads = re.search(r"^\| method \|.*$", text, flags=re.MULTILINE)
    found = re.search(rf"^\| {re.escape(line)} \|.*$", text, flags=re.MULTILINE)
    assert heads is not None
    assert found is not None
    place = [head.strip() for head in heads[0].split("|")].index(column)
    return float(found[0].split("|")[place].split("±")[0])


def test_what_is_said_of_smurff_is_in_the_benchmark() -> None:
    page = TEXTS["peers.md"]
    films = [
        cell(line, "RMSE", 2)
        for line in ("maxentry, rank 10", 'maxentry, rank "auto"', "SMURFF, k = 10", "SMURFF, k = 32")
    ]
    assert f"{min(films):.3f} to {max(films):.3f}" in page
    ours, theirs = cell("maxentry, rank 4", "RMSE", 1), cell("SMURFF, k = 4", "RMSE", 1)
    assert f"{ours:.3f} against {theirs:.3f}" in page
    ours, theirs = cell('maxentry, rank "auto"', "s a fit", 1), cell("SMURFF, k = 4", "s a fit", 1)
    assert f"{ours} s against {theirs} s" in page


def test_the_evidence_is_six_pages_and_all_tables_are_reached_from_one_of_them() -> None:
    nav = (
        (ROOT / "mkdocs.yml")
        .read_text(encoding="utf-8")
        .partition("  - Evidence:\n")[2]
        .partition("\n  - ")[0]
    )
    pages = re.findall(r": (\S+\.md)$", nav, flags=re.MULTILINE)
    assert len(pages) <= 6
    assert "tables.md" in pages
    listed = set(re.findall(r"\]\(\.\./benchmarks/(\w+\.md)\)", TEXTS["tables.md"]))
    named = {page.removeprefix("benchmarks/") for page in pages}
    assert {path.name for path in (ROOT / "benchmarks").glob("*.md")} <= listed | named


def test_results_and_benchmarks_open_with_what_was_found() -> None:
    first, *rest = RESULTS.partition("\n\n")[2].split("\n\n")
    assert first.startswith("**Verdict.**")
    assert [part.startswith("![") for part in rest[:4]] == [True] * 4
    benchmarks = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert benchmarks.split("\n\n")[2].startswith("| data | method | RMSE | seconds | MB |")
