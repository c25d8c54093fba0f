"""A frame that is plainly long is read as long, and a warning says so; a matrix of numbers stays a matrix."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tests.frames.test_numbered_rows import both, read

import maxentry
from maxentry import complete, transform, wording
from maxentry.cells import YES_NO
from maxentry.errors import DataError
from maxentry.estimators import BayesianCompleter
from maxentry.tables import layout


def ratings(users: str = "user", items: str = "item", value: str = "rating") -> dict[str, Any]:
    rng = np.random.default_rng(1)
    at = np.argwhere(rng.random((12, 9)) < 0.5)
    return {users: at[:, 0] + 1, items: at[:, 1] + 1, value: rng.integers(1, 6, len(at))}


@both
@pytest.mark.parametrize(
    "names", [("user", "item", "rating"), ("userId", "movieId", "rating"), ("user_id", "Item ID", "y")]
)
def test_numbers_under_names_of_labels_are_a_long_table(frame: Any, names: tuple[str, str, str]) -> None:
    data = ratings(*names)
    found, said = read(frame(data))
    asked = {"row": names[0], "col": names[1], "value": names[2]}
    named, silence = read(frame(data), **asked)
    assert (found.shape, found.n) == ((12, 9), len(data[names[0]])) == (named.shape, named.n)
    assert silence == []
    (sentence,) = said
    assert ", ".join(f"{role}={name!r}" for role, name in asked.items()) in sentence


@both
def test_further_columns_are_named_and_lines_of_any_order_will_do(frame: Any) -> None:
    data = frame({**ratings(), "timestamp": range(len(ratings()["user"]))})
    mixed = (
        data.sample(frac=0.9, random_state=1) if frame is pd.DataFrame else data.sample(fraction=0.9, seed=1)
    )
    found, said = read(mixed)
    assert found.shape == (12, 9)
    assert ["timestamp" in sentence for sentence in said] == [False, True]


@both
def test_words_in_two_columns_are_labels(frame: Any) -> None:
    found, _ = read(frame({"ligand": ["A", "A", "B"], "base": ["x", "y", "x"], "yield": [1.5, 2.0, 3.0]}))
    assert (found.row_labels, found.col_labels, found.n) == (("A", "B"), ("x", "y"), 3)


@both
@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1, 2, 2, 5], "b": [4, 2, 2, 1], "c": [1, 2, 3, 4]},
        {"user": [1, 2, 3, 5], "item": [4, 2, 2, 1], "rating": [1, 2, 3, 4]},  # no user twice
        {"user": [1.5, 1.5, 3, 5], "item": [4, 2, 2, 1], "rating": [1, 2, 3, 4]},  # a fraction is no label
        {"user": [1, 1, None, 5], "item": [4, 2, 2, 1], "rating": [1, 2, 3, 4]},  # nor is a hole
        {name: np.random.default_rng(k).integers(0, 30, 100) for k, name in enumerate("abc")},  # pairs repeat
        {name: np.random.default_rng(k).normal(size=100) for k, name in enumerate("abc")},
    ],
    ids=["names", "distinct", "fractions", "holes", "counts", "numbers"],
)
def test_a_matrix_stays_a_matrix(frame: Any, columns: dict[str, Any]) -> None:
    found, said = read(frame(columns))
    assert found.shape == (len(columns[next(iter(columns))]), 3)
    assert not any("long table" in sentence or "look like labels" in sentence for sentence in said)


def test_a_frame_with_labels_of_its_own_stays_a_matrix() -> None:
    data = pd.DataFrame(ratings())
    assert read(data.set_axis([f"r{i}" for i in data.index]))[0].shape == (len(data), 3)


@both
def test_where_two_columns_may_be_values_nothing_is_guessed(frame: Any) -> None:
    lines = len(ratings()["user"])
    found, (sentence,) = read(frame({**ratings(value="age"), "rating": np.arange(lines) % 5}))
    assert found.shape[1] == 4
    assert "was read as a matrix" in sentence
    words = {
        "ligand": ["A", "A", "B"],
        "base": ["x", "y", "x"],
        "temperature": [20, 30, 20],
        "yield": [1.5, 2, 3],
    }
    with pytest.raises(DataError, match="give row=, col= and value="):
        read(frame(words))


@both
def test_a_pattern_of_numbers_alone_is_warned_of(frame: Any) -> None:
    found, (sentence,) = read(frame(ratings("judge", "wine", "points")))
    assert found.shape[1] == 3
    assert "say row='judge', col='wine', value='points'." in sentence


def test_complete_takes_true_and_false_of_a_long_frame_for_yes_and_no() -> None:
    data = pd.DataFrame(ratings()).assign(rating=lambda frame: frame["rating"] > 2)
    with pytest.warns(UserWarning, match="read as a long table"):
        found = complete(data, rank=0, seed=1, progress=False)
    assert found.mean.shape == (12, 9)
    assert found.likelihood.kind == "yes/no"


@both
def test_words_for_yes_and_no_and_counts_are_values_of_a_long_table(frame: Any) -> None:
    names = {"model": ["a", "a", "b"], "task": ["x", "y", "x"]}
    found, _ = read(frame({**names, "solved": ["True", "wrong", None]}), words=YES_NO)
    assert (found.shape, found.values.tolist()) == ((2, 2), [1.0, 0.0])
    counted, (sentence,) = read(frame({**names, "successes": [1, 2, 0], "trials": [2, 2, 1]}), words=YES_NO)
    assert (counted.shape, counted.n, counted.values.sum()) == ((2, 2), 5, 3)
    assert "row='model', col='task'. With" in sentence
    ends, _ = read(frame({**names, "low": [1.0, 2.0, 3.0], "high": [2.0, 2.0, 4.0]}))
    assert (ends.low.tolist(), ends.high.tolist()) == ([1.0, 2.0, 3.0], [2.0, 2.0, 4.0])
    grades, _ = read(frame({**names, "mark": [1.0, 2.0, 3.0], "judge": ["True", "no", "perhaps"]}))
    assert grades.values.tolist() == [1.0, 2.0, 3.0]


def test_imputers_refuse_counts_without_the_advice_to_pivot_them() -> None:
    data = pd.DataFrame(ratings()).rename(columns={"rating": "successes"}).assign(trials=9)
    with pytest.raises(DataError, match=r"Use maxentry\.complete for it\.$"):
        BayesianCompleter(rank=0, random_state=1).fit(data)


def test_imputers_refuse_a_long_frame_and_say_what_to_do() -> None:
    data, imputer = pd.DataFrame(ratings()), BayesianCompleter(rank=0, random_state=1)
    with pytest.raises(DataError, match=r"pivot\(index='user', columns='item', values='rating'\)"):
        imputer.fit(data)
    with pytest.raises(NotFittedError):
        imputer.transform(data)
    imputer.fit(data.pivot(index="user", columns="item", values="rating"))


def test_the_page_knows_the_same_names_of_columns() -> None:
    script = (Path(maxentry.__file__).parent / "server" / "static" / "js" / "sheet.js").read_text(
        encoding="utf-8"
    )
    known = script.split("const WORDS = new Set([")[1].split("])")[0]
    assert {*json.loads(f"[{known}]")} == {*wording.YES_WORDS, *wording.NO_WORDS}
    assert f"const [MOST_GRADES, EACH] = [{transform.MOST_GRADES}, {transform.EACH}];" in script
    assert f"const ASIDE = /^({layout.ASIDE.pattern.removeprefix('(?i)')})$/i;" in script
