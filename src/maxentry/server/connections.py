"""uvicorn as we run it: connections that are not too many and not too slow, and an end in good order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from types import FrameType

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from maxentry.server.options import Options

GRACE = 10  # seconds for what is under way when the server is told to end
HEAD_SECONDS = 20.0  # from the beginning of a connection or of a further request to the end of its head
MOST = 500  # connections at the same time, below what a process may open by default


def configured(app: FastAPI, options: Options) -> uvicorn.Config:
    """How uvicorn runs the application."""
    certificate, key = options.certificate or (None, None)
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_level="info",
        access_log=False,  # addresses hold labels; the application says what matters
        server_header=False,
        date_header=True,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=64 * 1024,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


class Connection(H11Protocol):
    """A connection as uvicorn has it, which waits for bodies (`bodies.py`), but not for heads (slow loris)."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """One more, unless there are too many."""
        super().connection_made(transport)
        self.access_log = False  # whatever a process has made of uvicorn's loggers
        if len(self.connections) > MOST:
            transport.abort()
            return
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """More of a request; the time for a further one's head begins with its first byte."""
        if self._late is None and self.conn.their_state is h11.IDLE:
            self._wait_for_head()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._has_head()

    def on_response_complete(self) -> None:
        """An answer is out; the rest of a head of which some came by then must come in time, too."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of it."""
        self._has_head()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._has_head()
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _has_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """A server that says when it answers, and lets nobody wait for it when it ends."""

    def __init__(self, app: FastAPI, options: Options, began: Callable[[], None] | None = None) -> None:
        super().__init__(configured(app, options))
        self._jobs, self._began = app.state.lab.jobs, began

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that it answers."""
        await super().startup(sockets=sockets)
        if self._began is not None and self.started:
            self._began()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Streams of events end at once, rather than keep the server alive."""
        self._jobs.closing = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Whoever waits for work in the background hears at once that it is called off."""
        self._jobs.call_off()
        await super().shutdown(sockets=sockets)
