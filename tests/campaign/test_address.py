from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import make_url, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable
from tests.campaign.stand_ins import campaign

from maxentry import Posterior
from maxentry.campaign import address, schema
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import CampaignError, DataError, MissingDependencyError, StorageError


@pytest.mark.parametrize(
    ("written", "file"),
    [
        ("lab.db", "lab.db"),
        ("folder/lab.db", "folder/lab.db"),
        (Path("lab.db"), "lab.db"),
        ("sqlite:///lab.db", "lab.db"),
        ("sqlite:////tmp/lab.db", "/tmp/lab.db"),
        ("a file & 100%?.db", "a file & 100%?.db"),
    ],
)
def test_paths_and_urls_name_the_same_files(written: str | Path, file: str) -> None:
    assert address.sqlite_file(address.parse_address(written)) == Path(file)


def test_memory_and_postgresql() -> None:
    assert address.is_in_memory(address.parse_address("sqlite://"))
    assert address.is_in_memory(address.parse_address("sqlite:///:memory:"))
    for scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        assert address.parse_address(f"{scheme}://ann@host/lab").drivername == "postgresql+psycopg"


def test_the_tables_can_be_made_on_a_server() -> None:
    """Without one: the statements are those of PostgreSQL, with its types."""
    statements = [
        str(CreateTable(table).compile(dialect=postgresql.dialect()))
        for table in schema.METADATA.sorted_tables
    ]
    assert len(statements) == 3
    assert "BIGSERIAL" in "".join(statements) or "SERIAL" in "".join(statements)
    statement = select(schema.EVENTS).where(schema.EVENTS.c.number > 3).limit(2)
    assert "maxentry_events.number > " in str(statement.compile(dialect=postgresql.dialect()))


def test_a_password_is_never_shown() -> None:
    assert "secret" not in address.display_name(make_url("postgresql://ann:secret@host/lab"))
    with pytest.raises(StorageError) as caught:
        Storage("postgresql://ann:secret@127.0.0.1:1/lab?connect_timeout=1")
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://ann:secret@host:port/lab",
        "postgresql://ann:secret@[::1/lab",
        "postgresql://ann:p@secret@host/lab",
        "postgresql://ann:p@/secret@host/lab",
        "postgresql:/ann:secret@host/lab",
        Path("postgresql://ann:secret@host/lab"),
        "ann:secret@host/lab",
        "host=127.0.0.1 password=secret dbname=lab",
        "mysql://ann:secret@host/lab",
        "sqlite://ann:secret@host/lab",
        "://ann:secret@host/lab",
        b"postgresql://ann:secret@host/lab",
    ],
)
def test_no_password_is_in_what_is_said_of_an_address_with_a_slip(wrong: object) -> None:
    with pytest.raises(StorageError, match="expected") as caught:
        Storage(wrong, create=True)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_a_password_in_the_query_is_not_shown_either() -> None:
    where = "postgresql://127.0.0.1:1/lab?user=ann&password=secret&sslpassword=secret&connect_timeout=1"
    with pytest.raises(StorageError) as caught:
        Storage(where)
    assert "secret" not in str(caught.value)
    assert "password=***" in str(caught.value).replace("%2A", "*")
    assert address.parse_address(where).query["password"] == "secret"


def test_a_file_that_is_there_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "postgres:a@b.db"
    path.touch()
    assert address.sqlite_file(address.parse_address(path)) == path


@pytest.mark.parametrize(
    "wrong", ["", "  ", "mysql://host/lab", "sqlite://lab.db", "://", "nonsense://", 3, None]
)
def test_what_is_no_storage_is_refused(wrong: object) -> None:
    with pytest.raises(StorageError, match="expected"):
        Storage(wrong)  # type: ignore[arg-type]


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"maxentry\[postgres\]"):
        Storage("postgresql://host/lab")


def test_files_that_are_something_else_are_left_alone(tmp_path: Path) -> None:
    text, other, empty = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "empty.db"
    text.write_text("measured on Monday, all fine\n")
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    before = {path: path.read_bytes() for path in (text, other)}
    for create in (False, True):
        with pytest.raises(StorageError, match="not SQLite"):
            Storage(text, create=create)
        with pytest.raises(StorageError, match="of something else"):
            Storage(other, create=create)
        with pytest.raises(StorageError, match="a folder"):
            Storage(tmp_path, create=create)
    assert {path: path.read_bytes() for path in (text, other)} == before
    with pytest.raises(StorageError, match="got none"):
        Storage(tmp_path / "missing.db")
    assert not (tmp_path / "missing.db").exists()
    with pytest.raises(StorageError, match="expected the folder"):
        Storage(tmp_path / "no" / "lab.db", create=True)
    empty.touch()
    with pytest.raises(StorageError, match="Begin one first"):
        Storage(empty)
    with Storage(empty, create=True) as storage:
        assert storage.names() == []


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(StorageError, match="cannot read or write"):
        Campaign.open(path)


def test_create_and_open_by_name(lasting: str) -> None:
    with campaign(lasting) as made, campaign(lasting, name="second", seed=5):
        assert Campaign.list(lasting) == ["kinase", "second"]
        with pytest.raises(CampaignError, match="'kinase', 'second'"):
            Campaign.open(lasting)
        with Campaign.open(lasting, "second") as again:
            assert again.settings.seed == 5
        with pytest.raises(CampaignError, match="is taken"):
            campaign(lasting)
        with campaign(lasting, exist_ok=True, seed=99) as same:
            assert same.settings == made.settings
        with pytest.raises(CampaignError, match="row labels"):
            campaign(lasting, rows=["a", "b"], exist_ok=True)
        made.add_rows(["new"])
        with campaign(lasting, exist_ok=True) as same:
            assert same.state.shape == (5, 5)


@pytest.mark.parametrize(
    "wrong", ["\0", "a\0b.db", "\ud800", "sqlite:///\0", "postgresql://ann:secret@host/x\0"]
)
def test_what_no_address_can_be_is_refused_without_showing_it(wrong: str) -> None:
    with pytest.raises(StorageError, match="characters that none can have") as refused:
        address.parse_address(wrong)
    assert "secret" not in str(refused.value)


def test_the_home_of_nobody_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="got none"):
        Campaign.open("~no such user/x.db")
    with pytest.raises(DataError, match="does not exist"):
        Posterior.load("~no such user/x.npz")
