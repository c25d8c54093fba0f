"""Tables on a terminal: nothing that is read as one thing goes over two lines."""

import io

import pytest
from rich.console import Console

from maxentry.cli import output
from maxentry.tables import Table

ROWS = [f"Wirkstoff {i} Müller grün" for i in range(5)]


def printed(table: Table, width: int) -> tuple[list[str], str]:
    stream = io.StringIO()
    left = output.print_table(table, "", Console(file=stream, width=width, highlight=False))
    return [line for line in stream.getvalue().splitlines() if line.strip(" ─")], left


def matrix(n: int) -> Table:
    names = [f"Assay {j} Zürich" for j in range(n)]
    return Table(["row", *names], [ROWS, *([9.2841 + i + 10 * j for i in range(5)] for j in range(n))])


@pytest.mark.parametrize("width", [60, 80, 100, 140, 400])
def test_no_number_and_no_label_is_broken(width: int) -> None:
    lines, left = printed(matrix(12), width)
    assert len(lines) == 1 + 5  # one line a row
    assert all(len(line) <= width for line in lines)
    n = lines[0].count("Assay")
    for i, (line, label) in enumerate(zip(lines[1:], ROWS, strict=True)):
        figures = [f"{9.2841 + i + 10 * j:.4g}" for j in range(n)]
        assert line.split(label)[1].split() == figures
    assert left == ("" if n == 12 else f"… {12 - n} more columns; -o FILE has all.")
    assert (n == 12) == (width == 400)
    assert n >= min(12, (width - 30) // 20)  # as many as fit


def test_a_label_wider_than_the_terminal_is_cut_and_not_folded() -> None:
    lines, left = printed(Table(["row", "x"], [["A" * 90, "B"], [1.25, 2.5]]), 40)
    assert len(lines) == 3
    assert "…" in lines[1]
    assert lines[1].split()[-1] == "1.25"
    assert left == ""


def test_words_may_go_on_in_the_next_line() -> None:
    words = "told 3 values of the second plate as they came from the reader"
    lines, left = printed(Table(["event", "what"], [[1], [words]]), 40)
    assert " ".join(" ".join(line.split()) for line in lines[1:]).removeprefix("1 ") == words
    assert left == ""


def test_more_lines_than_are_shown() -> None:
    _, left = printed(Table(["row", "x"], [list(range(45)), [0.5] * 45]), 80)
    assert left == "… 5 more lines; -o FILE has all."


def test_a_label_that_looks_like_markup_stands_as_it_is() -> None:
    lines, _ = printed(Table(["row", "[red]x"], [["[bold]a[/bold]"], [1.0]]), 80)
    assert "[red]x" in lines[0]
    assert "[bold]a[/bold]" in lines[1]
