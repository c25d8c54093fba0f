"""How a server is run: what it lets in, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from maxentry.errors import ParameterError
from maxentry.server.tokens import Tokens

LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Limits:
    """What one request, one client and the server as a whole may use.

    body: bytes of a request. body_seconds: until it has come. rate: requests a second of one client (0: any number),
    after a burst of so many at once. workers: fits and choices at the same time. waiting: how many more may wait.
    entries: of the largest matrix that a request may begin. page: lines of an answer. tile: cells of a map, a side.
    streams: open streams of events.
    """

    body: int = 16 * 2**20
    body_seconds: float = 60.0
    rate: float = 50.0
    burst: int = 200
    workers: int = 2
    waiting: int = 32
    entries: int = 25_000_000
    page: int = 1000
    tile: int = 500
    streams: int = 64

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value >= (0 if name in ("rate", "waiting") else 1):
                raise ParameterError(
                    f"expected a limit of {name} that lets something pass, but {value} came."
                )


@dataclass(frozen=True)
class Options:
    """Where the server listens, who may use it, and its limits.

    hosts: further names by which it is called. certificate: the files of a TLS certificate and of its key.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)
    hosts: tuple[str, ...] = ()
    certificate: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.local and self.tokens.write is None:
            raise ParameterError(
                f"expected a token for writing to listen on {self.host}, where others can reach it, but none came: "
                "give --write-token-file or MAXENTRY_WRITE_TOKEN, or listen on 127.0.0.1."
            )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL
