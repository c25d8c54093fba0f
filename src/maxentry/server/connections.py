"""Connections: not too many, and none that takes its time with a request's head (slow loris)."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 20.0  # from the first byte, or from the beginning, to the end of the head
MOST = 500  # connections at the same time, below what a process may open by default


class Connection(H11Protocol):
    """A connection as uvicorn has it, which waits for bodies, but not for heads."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """One more, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
            return
        self._late = self.loop.call_later(HEAD_SECONDS, self._end)

    def data_received(self, data: bytes) -> None:
        """More of a request; the time for its head begins with its first byte."""
        if self._late is None and self.conn.their_state is h11.IDLE:
            self._late = self.loop.call_later(HEAD_SECONDS, self._end)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._in_time()

    def on_response_complete(self) -> None:
        """An answer is out; what came of the next request by then must go on in time, too."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._in_time()
            self._late = self.loop.call_later(HEAD_SECONDS, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of it."""
        self._in_time()
        super().connection_lost(exc)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.abort()
