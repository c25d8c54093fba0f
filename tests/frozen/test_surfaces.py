"""Nothing of the REST interface, of the commands and of the public names is lost; things may be added."""

import copy

import pytest
from tests.frozen import records, surfaces
from tests.frozen.records import check_kept, lost, read
from typer.testing import CliRunner

from maxentry.cli.main import app


def test_openapi():
    check_kept(read("openapi"), surfaces.openapi())


def test_commands():
    check_kept(read("commands"), surfaces.commands())


def test_commands_that_rerun_the_evidence():
    check_kept(read("evidence_commands"), surfaces.evidence_commands())


@pytest.mark.parametrize("name", read("commands"))
def test_help(name):
    words = [] if name == "maxentry" else name.split()
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_names():
    check_kept(read("names"), surfaces.names())


@pytest.mark.parametrize("name", ["openapi", "commands", "evidence_commands", "names"])
def test_whatever_is_gone_is_found(name):
    """Leaves from all over a record, changed or taken out."""
    recorded, other = read(name), read(name)
    assert lost(recorded, other) == []
    places = list(_places(recorded))
    for place in places[:: 1 + len(places) // 30]:
        holder, kept = _at(other, place[:-1]), _at(recorded, place)
        holder[place[-1]] = "something else"
        assert lost(recorded, other), place
        del holder[place[-1]]
        assert lost(recorded, other), place
        holder[place[-1]] = copy.deepcopy(kept)


def test_what_is_added_is_no_loss_unless_it_must_be_given():
    recorded = {"--seed": {"required": False, "choices": ["a"]}}
    assert (
        lost(recorded, {"--seed": {"required": False, "choices": ["a", "b"]}, "--new": {"required": False}})
        == []
    )
    assert lost(recorded, recorded | {"--new": {"required": True}}) == [" > --new: new and required"]
    with pytest.raises(AssertionError, match="CHANGELOG"):
        records.check_kept(recorded, {})


def _places(record, before=()):
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from _places(value, (*before, key))
        else:
            yield (*before, key)


def _at(record, place):
    for key in place:
        record = record[key]
    return record
