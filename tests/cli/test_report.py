"""`maxentry report`: one file, whole, and refusals before any work."""

from pathlib import Path

import pytest
from tests.cli.run import answer, good, refused, run


@pytest.fixture(autouse=True)
def campaign() -> None:
    lines = [",".join(["x", *(f"c{j}" for j in range(5))])]
    lines += [
        f"r{i}," + ",".join("" if (i + j) % 4 == 0 else str(i * j + 0.5) for j in range(5)) for i in range(6)
    ]
    Path("yields.csv").write_text("\n".join(lines))
    good("new", "lab", "--from", "yields.csv", "--rank", 1, "--seed", 1)


def test_a_page_is_written_and_nothing_is_asked() -> None:
    before = answer("status", "--fast")["events"]
    shown = good("report", "-o", "page.html", "--points", 1, "--next", 3, "--unit", "mmol")
    text = Path("page.html").read_text(encoding="utf-8")
    assert shown.stdout == ""
    assert "Wrote page.html" in shown.stderr
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")
    assert "posterior mean (mmol)" in text
    assert "Next batch" in text
    assert answer("status", "--fast")["events"] == before


@pytest.mark.usefixtures("undrawn")
def test_the_name_of_the_page_goes_without_saying() -> None:
    found = answer("report", "--points", 0)
    assert found == {"campaign": "lab", "output": "report.html", "bytes": Path("report.html").stat().st_size}


def test_a_dash_is_stdout() -> None:
    good("new", "empty", "--shape", "3x3", "--seed", 1)
    piped = good("report", "-c", "empty", "-o", "-").stdout
    assert piped.startswith("<!DOCTYPE html>")
    assert piped.rstrip().endswith("</html>")


def test_what_is_no_page_is_not_written_over() -> None:
    Path("plate.csv").write_text("id,value\n1,2\n")
    assert "ends in .html" in refused("report", "-o", "plate.csv", code=2)
    assert Path("plate.csv").read_text() == "id,value\n1,2\n"
    assert "does not exist" in refused("report", "-o", "nowhere/page.html")
    assert "Name a file with -o" in run("report", "-o", "-", "--json").stdout


def test_an_interactive_page_brings_plotly_with_it() -> None:
    good("new", "empty", "--shape", "3x3", "--seed", 1)
    good("report", "-c", "empty", "-o", "page.html", "--interactive")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert len(text) > 3_000_000
