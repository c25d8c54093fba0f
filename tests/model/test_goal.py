"""Goals in words: read, written, refused."""

import math

import pytest

from maxentry.errors import ParameterError
from maxentry.labels import Axis
from maxentry.model.goal import OVERALL, Goal

WORDS = {
    "fill": Goal(),
    "best": Goal("best", k=OVERALL),
    "best 20": Goal("best", k=20),
    "best per row": Goal("best", per="row"),
    "best 3 per column": Goal("best", per="column", k=3),
    "smallest": Goal("best", -1, k=OVERALL),
    "smallest per column": Goal("best", -1, "column"),
    "rank rows": Goal("rank", per="row"),
    "rank columns": Goal("rank", per="column"),
    "rank rows smallest": Goal("rank", -1, "row"),
    "threshold 6.5": Goal("threshold", threshold=6.5),
    "threshold -1000": Goal("threshold", threshold=-1000.0),
}


@pytest.mark.parametrize("words", WORDS)
def test_goals_are_read_and_written_in_the_same_words(words: str) -> None:
    assert Goal.parse(words) == WORDS[words]
    assert str(WORDS[words]) == words


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("Best  per Row", "best per row"),
        ("largest, 5", "best 5"),
        ("best per col", "best per column"),
        ("rank cols largest", "rank columns"),
        ("above 1e-3", "threshold 0.001"),
        ("best-per-column", "best per column"),
        ("rank_rows", "rank rows"),
        ("smallest 2 per rows", "smallest 2 per row"),
        ("threshold -5", "threshold -5"),
    ],
)
def test_other_ways_to_say_it(words: str, meant: str) -> None:
    assert str(Goal.parse(words)) == meant


@pytest.mark.parametrize(
    "words",
    [
        *(
            "",
            "bes",
            "best per",
            "best per cell",
            "best -1",
            "best 0",
            "rank",
            "rank rows per row",
            "threshold",
        ),
        *("threshold x", "threshold e", "threshold nan", "threshold 1e999", None, 3, ["best"], b"best"),
    ],
)
def test_what_is_no_goal_is_refused_with_examples(words: object) -> None:
    with pytest.raises(ParameterError) as refused:
        Goal.parse(words)
    assert "got" in str(refused.value)


@pytest.mark.parametrize(
    "fields",
    [{"kind": "most"}, {"per": "cell"}, {"k": 0}, {"k": 1.5}, {"k": 10**9}, {"kind": "threshold"},
     {"kind": "threshold", "threshold": math.inf}, {"kind": "threshold", "threshold": True}],
    ids=str,
)  # fmt: skip
def test_wrong_parts_are_refused(fields: dict) -> None:
    with pytest.raises(ParameterError, match="got"):
        Goal(**fields)


def test_a_ranking_has_weights_of_what_it_averages_over() -> None:
    rows, cols = (Axis.from_labels(name, n, None) for name, n in (("row", 3), ("column", 2)))
    by_row = Goal.parse("rank rows").weighted([3, 1], rows, cols)
    assert (by_row.averaged, by_row.weights, str(by_row)) == ("column", (3.0, 1.0), "rank rows")
    assert by_row.shares(2).tolist() == [0.75, 0.25]
    assert by_row.shares(4).tolist() == [0.5, 1 / 6, 1 / 6, 1 / 6]  # columns added since count once
    assert by_row.shares(1).tolist() == [1.0]
    assert Goal.parse("rank columns").weighted({2: 0}, rows, cols).shares(3).tolist() == [0.5, 0.5, 0.0]
    assert Goal.parse("rank rows").weighted([0, 1], rows, cols).shares(1).tolist() == [1.0]
    with pytest.raises(ParameterError, match="got the goal 'best per row': drop them"):
        Goal.parse("best per row").weighted([1, 2], rows, cols)
    by_row.keep_weights("rank rows smallest")
    for words in ("rank columns", "best", "fill"):
        with pytest.raises(ParameterError, match=f"for the weights of columns, got '{words}'"):
            by_row.keep_weights(words)


@pytest.mark.parametrize("words", ["best per substrate", "smallest 3 per ligand", "rank ligands"])
def test_lines_by_another_name_are_refused_with_advice(words: str) -> None:
    with pytest.raises(ParameterError, match=f"got '{words}': write row or column, whatever they are called"):
        Goal.parse(words)


def test_who_looks_for_the_best_rows_is_told_of_rankings() -> None:
    with pytest.raises(ParameterError, match="got 'best rows': 'rank rows' orders them by their average"):
        Goal.parse("best rows")
