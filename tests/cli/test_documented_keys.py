"""The keys of every JSON document are those that the command's help names."""

from pathlib import Path

import pytest
from tests.cli.run import answer, good

PREPARED = [
    ("new", "lab", "--from", "yields.csv", "--rank", 1, "--seed", 1, "--acquisition", "balanced"),
    ("ask", 3),
]
DOCUMENTS = {
    ("new", "lab2", "--shape", "3x3"): "campaign rows cols told available seed",
    ("ask", 1): "campaign n entries",
    ("ask", 1, "-o", "plate.csv"): "campaign n output",
    ("tell", "--id", 1, "--value", 2): "campaign told failed known awaited",
    ("fail", 1): "campaign failed",
    ("withdraw", 1): "campaign withdrawn",
    ("correct", 5, "--number", 1): "campaign value",
    ("add-rows", "new"): "campaign rows cols",
    ("add-cols", "new"): "campaign rows cols",
    ("set", "--budget", 99): "campaign changed",
    ("list",): "campaigns",
    ("status",): "name rows cols measurements told pending expired failed withdrawn available spent budget target_sd "
    "acquisition rank transform events created_at changed_at kind levels limits at_limit "
    "goal enough weights row_features col_features error_of notes outlook advice past at_stake",
    ("history",): "campaign n events",
    ("export",): "campaign n entries",
    ("export", "--asked", "-o", "asked.csv"): "campaign n output",
    ("posterior",): "campaign shape n_observed at_limit kind levels rank "
    "rank_weights noise noise_sd noise_sds transform scales features converged advice "
    "interrupted entries",
    ("report", "--points", 0): "campaign output bytes",
    ("complete", "yields.csv", "--rank", 1): "shape n_observed at_limit kind levels rank "
    "rank_weights noise noise_sd noise_sds transform scales features converged "
    "advice interrupted entries",
    ("complete", "yields.csv", "--rank", 1, "--check"): "n n_entries of error usual level inside low high "
    "said log_loss usual_log_loss limits kept side converged advice interrupted",
    ("design", "3x3", 3): "shape n entries",
    ("version",): "version packages",
}  # fmt: skip
LINES = {
    ("ask", 1): "id row col mean sd gain cost value",
    ("export",): "number id row col value told_at who corrected",
    ("export", "--pending"): "id row col mean sd gain cost value",
    ("export", "--asked"): "id row col mean sd gain cost status asked_at expires_at who reason",
    ("history",): "event at who kind what",
    ("posterior",): "row col mean sd low high new_low new_high observed",
    ("design", "3x3", 3): "row col value",
}


@pytest.fixture(autouse=True)
def campaign(undrawn: None) -> None:
    lines = [",".join(["x", *(f"c{j}" for j in range(5))])]
    lines += [
        f"r{i}," + ",".join("" if (i + j) % 4 == 0 else str(i * j + 0.5) for j in range(5)) for i in range(6)
    ]
    Path("yields.csv").write_text("\n".join(lines))
    for words in PREPARED:
        good(*words)


def documented(command: object) -> str:
    return " ".join(good(command, "--help").stdout.split("JSON:", 1)[1].replace("│", " ").split())


def words_of(text: str) -> set[str]:
    return {word.strip("(),.;:") for word in text.split()}


@pytest.mark.parametrize(
    ("words", "keys"), DOCUMENTS.items(), ids=lambda x: " ".join(map(str, x)) if isinstance(x, tuple) else ""
)
def test_documents(words: tuple[object, ...], keys: str) -> None:
    assert list(answer(*words)) == keys.split()
    assert set(keys.split()) <= words_of(documented(words[0]))


@pytest.mark.parametrize(
    ("words", "keys"), LINES.items(), ids=lambda x: " ".join(map(str, x)) if isinstance(x, tuple) else ""
)
def test_lines(words: tuple[object, ...], keys: str) -> None:
    found = answer(*words)
    assert list((found.get("entries") or found["events"])[0]) == keys.split()
    if words[-1] != "--pending":
        assert set(keys.split()) <= words_of(documented(words[0]))


def test_the_outlook() -> None:
    outlook = answer("status", "--next", 2)["outlook"]
    assert list(outlook) == [
        "error_now",
        "error_with_pending",
        "error_after",
        "entries",
        "cost",
        "error_at_start",
        "gain_per_cost_so_far",
        "entries_left",
        "gain_per_cost",
    ]
    assert set(outlook) <= words_of(documented("status"))
    shown = good("status", "--next", 2).stdout
    assert f"{outlook['gain_per_cost']:.3g} less expected error for a unit of cost" in shown
    assert f"{outlook['gain_per_cost_so_far']:.3g} so far" in shown
