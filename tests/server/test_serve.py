"""`maxentry serve` as a user runs it: starts, refuses, ends in good order, and says no secret."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.cli.run import COMMAND, good, refused
from tests.server.live import READ, WRITE, get, post

import maxentry


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("MAXENTRY_STORAGE", "MAXENTRY_READ_TOKEN", "MAXENTRY_WRITE_TOKEN", "MAXENTRY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_help_tells_of_the_dashboard() -> None:
    said = " ".join(good("serve", "--help").stdout.split())
    assert "a dashboard for browsers" in said
    assert "http://127.0.0.1:8765" in said


@contextmanager
def served(*words: str, **env: str) -> Iterator[tuple[str, subprocess.Popen[str], list[str]]]:
    """A server in a process of its own: its address, the process, and what it says."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env},
    )  # fmt: skip
    said: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: said.extend(process.stdout))  # type: ignore[arg-type]
    reader.start()
    try:
        end = time.monotonic() + 120
        while (
            not (found := re.search(r"maxentry at (https?://\S+);", "".join(said))) and time.monotonic() < end
        ):
            assert process.poll() is None, "".join(said)
            time.sleep(0.02)
        assert found, "".join(said)
        yield found[1], process, said
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(120)
        reader.join(120)


def ready(url: str, **headers: str) -> httpx.Response:
    end = time.monotonic() + 120
    while True:
        try:
            return httpx.get(f"{url}/api/v1/campaigns", headers=headers, timeout=30)
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.process
def test_it_serves_and_ends_in_good_order(folder: Path) -> None:
    with served("--storage", "lab.db") as (url, process, said):
        assert url.startswith("http://127.0.0.1:")
        assert ready(url).json()["total"] == 0
        with maxentry.connect(url) as remote:
            campaign = remote.create("yields", 4, 5, seed=1, acquisition="balanced")
            campaign.tell(campaign.ask(2, frame="columns")["id"], [0.5, 0.25])
        with httpx.stream("GET", f"{url}/api/v1/campaigns/yields/changes?seconds=600", timeout=120) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("event: changed")
            process.send_signal(signal.SIGTERM)
            list(lines)  # ends although it was to last for ten minutes
        assert process.wait(120) in (0, -signal.SIGTERM)
    assert "Traceback" not in "".join(said)
    assert good("status", "--storage", "lab.db", "--json").exit_code == 0
    assert json.loads(good("export", "--storage", "lab.db", "--json").stdout)["n"] == 2


@pytest.mark.process
def test_the_command_line_and_the_server_share_a_campaign() -> None:
    good("new", "yields", "--shape", "4x5", "--storage", "lab.db", "--acquisition", "balanced")
    with served("--storage", "lab.db") as (url, _, _said):
        ready(url)
        good("ask", "3", "--storage", "lab.db")
        assert get(f"{url}/api/v1/campaigns/yields").json()["pending"] == 3


@pytest.mark.process
def test_tokens_from_files_and_from_the_environment(folder: Path) -> None:
    (folder / "read").write_text(f"{READ}\n")
    words = ("--host", "0.0.0.0", "--read-token-file", "read")
    with served(*words, MAXENTRY_WRITE_TOKEN=WRITE) as (url, _, said):
        local = url.replace("0.0.0.0", "127.0.0.1")
        assert ready(local).status_code == 401
        assert ready(local, Authorization=f"Bearer {READ}").status_code == 200
        body = {"name": "x", "rows": 2, "cols": 2}
        for token, status in ((READ, 403), (WRITE, 201)):
            answer = post(
                f"{local}/api/v1/campaigns", json=body, headers={"Authorization": f"Bearer {token}"}
            )
            assert answer.status_code == status
        get(f"{local}/api/v1/campaigns?token={WRITE}")  # somebody's mistake
    shown = "".join(said)
    assert READ not in shown
    assert WRITE not in shown
    assert "go over the network as they are" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "a token for writing to listen on 0.0.0.0"),
        (("--host", "::"), "a token for writing"),
        (("--read-token-file", "missing"), "a token in missing"),
        (("--tls-key", "key.pem"), "together with its key"),
        (("--storage", "no/such/folder/lab.db"), "the folder no/such/folder"),
    ],
)
def test_what_it_will_not_start_with(words: tuple[str, ...], said: str) -> None:
    assert said in refused("serve", "--port", 0, *words)
    assert not Path("maxentry.db").exists()


def test_a_token_too_short_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXENTRY_WRITE_TOKEN", "hunter2")
    assert "hunter2" not in refused("serve", "--host", "0.0.0.0")


def test_a_port_in_use_is_one_sentence() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"to listen on 127.0.0.1:{port}" in refused("serve", "--port", str(port)).replace("\n", " ")


def test_small_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY where a socket names its protocol; otherwise each answer waits 40 ms."""
    import socket

    from maxentry.server.app import listen
    from maxentry.server.options import Options

    with listen(Options(port=0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP
