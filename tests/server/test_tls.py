"""HTTPS for real: a certificate of our own, a server that speaks it, and a client that trusts it and no other."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from tests.cli.run import refused
from tests.server.live import READ, TOKENS, WRITE, running
from tests.server.test_clients import is_closed
from tests.server.test_serve import folder, served  # noqa: F401

import maxentry
from maxentry.client import session
from maxentry.errors import ParameterError, StorageError
from maxentry.server.options import ServerLimits

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")


def certified(where: Path, name: str) -> tuple[str, str]:
    """A certificate for 127.0.0.1, signed by itself, and its key."""
    certificate, key = where / f"{name}.pem", where / f"{name}.key"
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-subj /CN={name} -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    )
    subprocess.run(words.split(), check=True, capture_output=True, timeout=250)
    return str(certificate), str(key)


@pytest.fixture
def ours(tmp_path: Path) -> tuple[str, str]:
    return certified(tmp_path, "lab")


@pytest.mark.process
def test_a_campaign_over_https(ours: tuple[str, str], tmp_path: Path) -> None:
    with running(str(tmp_path / "lab.db"), certificate=ours, tokens=TOKENS) as (url, _):
        assert url.startswith("https://127.0.0.1:")
        with maxentry.connect(url, WRITE, certificate=ours[0]) as remote:
            campaign = remote.create("yields", 4, 5, seed=1, acquisition="balanced")
            campaign.tell(campaign.ask(2, frame="columns")["id"], [0.5, 0.25])
            assert campaign.status().told == 2


@pytest.mark.process
def test_a_certificate_that_nobody_vouches_for_is_not_trusted(
    ours: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by default nor for another's; and no token goes out then."""
    monkeypatch.setattr(session.time, "sleep", lambda _: None)
    other, _ = certified(tmp_path, "other")
    with running(certificate=ours, tokens=TOKENS) as (url, _):
        for trusted in (None, other):
            with pytest.raises(StorageError, match=r"(?i)certificate verify failed"):
                maxentry.connect(url, READ, certificate=trusted).list()
        with maxentry.connect(url, READ, certificate=ours[0]) as remote:
            assert remote.list() == []


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_only_tls_of_today_is_spoken(ours: tuple[str, str]) -> None:
    with running(certificate=ours) as (url, _):
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http"))
        host, port = url.removeprefix("https://").split(":")
        for version, spoken in ((ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_1, False)):
            context = ssl.create_default_context(cafile=ours[0])
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
            with socket.create_connection((host, int(port)), timeout=30) as line:
                try:
                    with context.wrap_socket(line, server_hostname=host) as wrapped:
                        assert (wrapped.version(), spoken) == ("TLSv1.3", True)
                except (ssl.SSLError, ConnectionError):
                    assert not spoken


@pytest.mark.process
def test_it_is_served_so_from_the_command_line(ours: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "write").write_text(WRITE)
    words = (
        "--host",
        "0.0.0.0",
        "--write-token-file",
        "write",
        "--tls-certificate",
        ours[0],
        "--tls-key",
        ours[1],
    )
    with served(*words) as (url, _, said):
        assert url.startswith("https://0.0.0.0:")
        local = url.replace("0.0.0.0", "127.0.0.1")
        with maxentry.connect(local, WRITE, certificate=ours[0]) as remote:
            assert remote.list() == []
    assert "over the network as they are" not in "".join(said)
    assert "Traceback" not in "".join(said)


@pytest.mark.process
def test_certificates_that_will_not_do_are_one_sentence(ours: tuple[str, str], tmp_path: Path) -> None:
    _, key = certified(tmp_path, "other")
    (tmp_path / "no.pem").write_text("no certificate")
    for certificate, its_key in (
        (ours[0], key),
        ("missing.pem", ours[1]),
        ("no.pem", ours[1]),
        (ours[0], "no.pem"),
    ):
        said = refused("serve", "--port", 0, "--tls-certificate", certificate, "--tls-key", its_key)
        assert "xpected a TLS certificate in" in said.replace("\n", " ")
        assert not Path("maxentry.db").exists()
    for certificate in ("missing.pem", "no.pem"):
        with pytest.raises(ParameterError, match="expected a certificate in"):
            maxentry.connect("https://127.0.0.1:9", certificate=certificate)


@pytest.mark.process
def test_silent_handshakes_of_one_client_leave_room_for_others(ours: tuple[str, str]) -> None:
    """Counted before TLS begins; each that is left ends with the time for a head."""
    limits = ServerLimits(rate=0, client_connections=5, head_seconds=5)
    with running(certificate=ours, tokens=TOKENS, limits=limits) as (url, _), ExitStack() as sockets:
        host, port = url.removeprefix("https://").split(":")
        silent = [sockets.enter_context(socket.create_connection((host, int(port)))) for _ in range(60)]
        context = ssl.create_default_context(cafile=ours[0])
        transport = httpx.HTTPTransport(local_address="127.0.0.2", verify=context)
        with httpx.Client(transport=transport, timeout=60) as other:
            answer = other.get(f"{url}/api/v1/campaigns", headers={"Authorization": f"Bearer {READ}"})
            assert answer.status_code == 200
        for connection in silent[::-1]:
            assert is_closed(connection)
        with maxentry.connect(url, READ, certificate=ours[0]) as remote:  # there is room again
            assert remote.list() == []


@pytest.mark.process
def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(ours: tuple[str, str]) -> None:
    """Both in one packet, as clients in a hurry send them."""
    context = ssl.create_default_context(cafile=ours[0])
    with running(certificate=ours, tokens=TOKENS) as (url, _):
        host, port = url.removeprefix("https://").split(":")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname=host)
        with socket.create_connection((host, int(port)), timeout=60) as line:
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    line.sendall(outgoing.read())
                    incoming.write(line.recv(65536))
            tls.write(b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            line.sendall(outgoing.read())  # the end of the handshake and the request
            answer = b""
            while b"\r\n\r\n" not in answer:
                data = line.recv(65536)
                assert data
                incoming.write(data)
                with suppress(ssl.SSLWantReadError):
                    answer += tls.read(65536)
    assert answer.startswith(b"HTTP/1.1 200")
