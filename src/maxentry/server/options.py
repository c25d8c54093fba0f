"""How a server is run: where it listens, who may use it, and how much of it. Needs none of the server's packages."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal

from maxentry.errors import DataError, ParameterError
from maxentry.tables import read_bytes

LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 20  # characters; `secrets.token_urlsafe(16)` has 22
TOKEN_HINT = "make one by: python -c 'import secrets; print(secrets.token_urlsafe(32))'"

Access = Literal["none", "read", "write"]


@dataclass(frozen=True)
class Tokens:
    """The token for reading and the one for reading and writing; without either, everybody may do everything."""

    read: str | None = field(default=None, repr=False)
    write: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, token in (("reading", self.read), ("writing", self.write)):
            if token is not None:
                _check_token(token, name)
        if self.read is not None and self.write is None:
            raise ParameterError("expected a token for writing beside the one for reading, got none.")
        if self.read is not None and self.read == self.write:
            raise ParameterError("expected different tokens for reading and for writing, got the same twice.")

    @property
    def needed(self) -> bool:
        """Whether requests need a token."""
        return self.write is not None

    def access(self, token: str | None) -> Access:
        """What a request with this token may do."""
        if not self.needed:
            return "write"
        digest = _digest(token or "")
        # Both are compared whatever the first one says, so that the time taken reveals nothing.
        reads = hmac.compare_digest(digest, _digest(self.read or ""))
        writes = hmac.compare_digest(digest, _digest(self.write or ""))
        if not token:
            return "none"
        return "write" if writes else "read" if reads and self.read is not None else "none"


def read_token(path: str) -> str:
    """Read the token in a file; blanks around it do not count."""
    try:
        return read_bytes(path).decode().strip()
    except DataError as error:
        raise ParameterError(f"expected a token in {path}, got: {error}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"expected a token in {path}, got a file that is not text.") from None


def _check_token(token: str, name: str) -> None:
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError(
            f"expected a token for {name} of at least {SHORTEST_TOKEN} printable ASCII characters without blanks, "
            f"got another; {TOKEN_HINT}."
        )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True)
class ServerLimits:
    """What one request, one client and the whole server may use.

    body: bytes of a request. body_seconds: time for them to arrive. rate: requests a second of one client (0: any
    number), after a burst of so many at once. workers: fits and choices at the same time. waiting: how many more may
    wait. entries: of the largest matrix. labels: its rows and columns together. tile: cells on a side of a map.
    streams: open streams of events. client_streams, client_connections and client_jobs: those of one client, jobs that
    run or wait. head_seconds: time for the head of a request, or a TLS handshake, to arrive.
    """

    body: int = 16 * 2**20
    body_seconds: float = 60.0
    rate: float = 50.0
    burst: int = 200
    workers: int = 2
    waiting: int = 32
    entries: int = 25_000_000
    labels: int = 1_000_000
    tile: int = 500
    streams: int = 256
    client_streams: int = 32
    client_connections: int = 100
    client_jobs: int = 16
    head_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 0 if name in ("rate", "waiting") else 1
            if not value >= least:
                raise ParameterError(f"expected a limit of {name} from {least} on, got {value}.")


@dataclass(frozen=True)
class Options:
    """Where the server listens, who may use it, and its limits.

    hosts: further names of this machine. certificate: the files of a TLS certificate and of its key. proxies: addresses
    (or networks) of reverse proxies; only what they say of a client's address (X-Forwarded-For) is believed.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    tokens: Tokens = field(default_factory=Tokens)
    limits: ServerLimits = field(default_factory=ServerLimits)
    hosts: tuple[str, ...] = ()
    certificate: tuple[str, str] | None = None
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            _parse_network(proxy)
        if not self.local and not self.tokens.needed:
            raise ParameterError(
                f"expected a token for writing to listen on {self.host}, where others can reach it, got none: "
                "give --write-token-file or MAXENTRY_WRITE_TOKEN, or listen on 127.0.0.1."
            )
        if any("*" in name for name in self.hosts):
            raise ParameterError("expected whole names of this machine, got one with a '*'.")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOCAL_HOSTS

    def is_proxy(self, address: str) -> bool:
        """Whether this is the address of a reverse proxy that was named."""
        return bool(self.proxies) and any(
            ip_address(address) in _parse_network(proxy) for proxy in self.proxies
        )


def _parse_network(proxy: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(proxy)
    except ValueError:
        raise ParameterError(
            f"expected the IP address of a reverse proxy, like 10.0.0.2 or 10.0.0.0/24, got {proxy!r:.60}."
        ) from None
