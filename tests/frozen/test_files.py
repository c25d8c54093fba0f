"""Files that version 0.1.0 wrote open and answer as they did; commands and requests over them have the same keys."""

import json

import pytest
from tests.frozen import files, records
from tests.frozen.records import check, check_kept, read

EVENTS = [
    json.loads(line) for line in (files.FILES / "events.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = {
    "created",
    "asked",
    "told",
    "corrected",
    "failed",
    "withdrawn",
    "rows_added",
    "cols_added",
    "changed",
}


def test_a_database_of_before(tmp_path):
    check(read("campaigns"), files.campaign_answers(files.copied("lab.db", tmp_path), tmp_path / "fits"))


def test_events_of_before(tmp_path):
    assert {event["kind"] for event in EVENTS} == KINDS
    files.from_events(EVENTS, tmp_path / "new.db")
    recorded = read("campaigns")
    for name in recorded["list"]:
        recorded[name] = {key: x for key, x in recorded[name].items() if key not in files.FITTED}
    check(recorded, files.campaign_answers(tmp_path / "new.db", tmp_path / "fits", fits=False))


def test_the_same_calls_write_the_same_events(tmp_path):
    """Entries are chosen with today's draws, so their record is of today; all else is as version 0.1.0 wrote it."""
    files.write_campaigns(tmp_path / "new.db")
    events = files.payloads(files.events_in(tmp_path / "new.db"))
    check(read("events"), events)
    assert [without_values(event) for event in events] == [
        without_values(event) for event in files.payloads(EVENTS)
    ]


def without_values(event):
    """An event with the keys of its payload in place of the payload."""
    return event | {"payload": sorted(event["payload"])}


def test_the_tables_of_a_new_database(tmp_path):
    check_kept(read("schema"), files.schema(tmp_path / "new.db"))


@pytest.mark.parametrize("name", files.POSTERIORS)
def test_a_posterior_of_before(name, tmp_path):
    record = read("posteriors")
    check(record["cases"][name], files.posterior_answers(files.copied(name, tmp_path)), record["machine"])


def test_what_commands_answer(tmp_path):
    check_kept(read("command_answers"), files.command_answers(tmp_path))


def test_what_requests_answer(tmp_path):
    check_kept(read("request_answers"), files.request_answers(tmp_path))


def test_another_answer_is_found():
    recorded = read("campaigns")
    other = json.loads(json.dumps(recorded))
    other["assay"]["posterior"]["mean"][2] += 1e-3
    other["assay"]["next"]["row"][0] = "compound 9"
    with pytest.raises(AssertionError, match=r"assay\.next\.row\[0\][\s\S]*assay\.posterior\.mean\[2\]"):
        check(recorded, other)
    answers = read("command_answers")
    other = json.loads(json.dumps(answers))
    del other["status -c assay"]["json"]["advice"]
    assert records.lost(answers, other)


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in files.FILES.rglob("*") if path.is_file()) < 300_000
