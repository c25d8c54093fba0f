"""`maxentry study data`: the list needs nothing installed, and --get fetches what can be had."""

import json

import pytest
from tests.cli.run import answer, good, refused, run

from maxentry.errors import DataError, MissingDependencyError
from maxentry.studies import datasets
from maxentry.studies.datasets import places

NAMES = [about.name for about in datasets.catalogue()]


@pytest.fixture(autouse=True)
def no_data(folder, monkeypatch):
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", str(folder / "cache"))
    monkeypatch.delenv("MAXENTRY_DATA", raising=False)


@pytest.fixture
def fetched(monkeypatch):
    """Which sets are fetched, and how some of them fail."""
    asked: list[str] = []
    errors: dict[str, Exception] = {}

    def load(name):
        asked.append(name)
        if name in errors:
            raise errors[name]

    monkeypatch.setattr(datasets, "load", load)
    return asked, errors


def test_the_list_needs_no_pooch(monkeypatch):
    def without(name):
        raise ImportError(name)

    monkeypatch.delenv("MAXENTRY_DATA_CACHE")
    monkeypatch.setattr(places, "import_module", without)
    assert [line.split(",")[0] for line in good("study", "data").stdout.splitlines()[1:]] == NAMES
    assert {line["here"] for line in answer("study", "data")["sets"]} == {None}
    assert "MAXENTRY_DATA" in good("study", "data", "sat20").stderr


def test_all_are_fetched(fetched):
    asked, _ = fetched
    assert len(answer("study", "data", "--get")["sets"]) == len(NAMES)
    assert asked == NAMES


def test_sets_that_cannot_be_had_keep_no_other_from_being_fetched(fetched):
    asked, errors = fetched
    errors |= {"jester": DataError("expected jokes."), "davis": DataError("expected kinases.")}
    says = refused("study", "data", "--get").splitlines()
    assert says == [
        "Expected to fetch all data sets, but some could not be had.",
        "jester: expected jokes.",
        "davis: expected kinases.",
    ]
    assert asked == NAMES
    result = run("study", "data", "--get", "--json")
    assert result.exit_code == 1
    assert "davis: expected kinases." in json.loads(result.stdout)["error"]["message"]


def test_what_is_wrong_with_all_is_said_once(fetched):
    asked, errors = fetched
    errors |= {name: MissingDependencyError("expected pooch.") for name in NAMES}
    assert refused("study", "data", "--get") == "Expected pooch."
    assert asked == NAMES
